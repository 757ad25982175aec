"""A request through a share link: the link authorizes it in place of a user, for one record.

`dashboard/pages/share` sets `request.shared_view` on the request that it passes to the view of a page, and
that request has no user. Invariant: nothing else sets it, so no header, cookie or parameter can.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from django.http import HttpRequest

from recorder.models import Project, ShareLink

_are_notes_hidden: ContextVar[bool] = ContextVar("are_notes_hidden", default=False)


@dataclass(frozen=True, slots=True)
class SharedView:
    """A link that is valid, and the secret with which it was opened."""

    link: ShareLink
    secret: str

    @property
    def project(self) -> Project:
        return self.link.project

    @property
    def address(self) -> str:
        """Return the path of the link, without a slash at its end."""
        return f"/s/{self.secret}"

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Within the context, pages show what the link includes: notes and scores only if it says so."""
        token = _are_notes_hidden.set(not self.link.has_notes)
        try:
            yield
        finally:
            _are_notes_hidden.reset(token)


def shared_view(request: HttpRequest) -> SharedView | None:
    """Return the link through which a request came, None for a request of a user."""
    found = getattr(request, "shared_view", None)
    return found if isinstance(found, SharedView) else None


def are_notes_hidden() -> bool:
    """Whether notes, scores and bookmarks are left out: within `SharedView.shown`."""
    return _are_notes_hidden.get()


def layout(request: HttpRequest) -> dict[str, object]:
    """Context processor: the share link, and the template around the pages that links show."""
    shared = shared_view(request)
    return {"shared": shared, "layout": "share/layout.html" if shared else "base.html"}
