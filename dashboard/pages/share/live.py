"""The socket of a live share link: the panels of the record's own page, as the link shows them.

A shared panel is rendered for its link alone, because notes may be left out and its HTML goes through
`html_filter`. The link is looked up again every `RECHECK_S`, so a revoked one closes its sockets within that
time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser
from django.http import Http404, QueryDict

from dashboard.live.consumers import PageConsumer
from dashboard.live.panel import Panel
from dashboard.live.renderer import with_connection
from dashboard.live.viewer import DirtyPanels, LivePage
from dashboard.pages.share import opening
from dashboard.pages.share.addresses import Addresses
from dashboard.pages.share.html_filter import filtered
from dashboard.pages.share.mask import mask_of, masks_of
from dashboard.pages.share.scope import OF_SOCKET, Scope
from dashboard.rendering.shared_page import render_masked
from dashboard.security.authenticate import SignedOut
from dashboard.security.shared_view import SharedView
from recorder.access import share_links
from recorder.pubsub.invalidation import Invalidation

HIDDEN = ("session/replay/", "sessions/views")  # panels that a shared page does not have
OF_NOTES = ("session/notes/", "evaluations/notes")


@dataclass(frozen=True, slots=True)
class SharedPanel(Panel):
    """A panel as a link shows it; panels of two links are not equal, so each is rendered for its own."""

    addresses: Addresses | None = None

    def draw(self, pks: Collection[int], *, oob: bool = False) -> dict[int, str]:
        """Return the HTML by primary key, filtered."""
        if self.addresses is None:
            return {}
        shared = self.addresses.shared
        mask = mask_of(shared.link)
        with shared.shown(), render_masked(masks_of(shared.link, mask)):
            drawn = Panel.draw(self, pks, oob=oob)
        return {pk: filtered(html, self.addresses, mask) for pk, html in drawn.items()}


@dataclass(slots=True)
class SharedPage:
    """An open shared page: the record's own page, with shared panels."""

    page: LivePage
    addresses: Addresses

    @property
    def project(self) -> int:
        return self.page.project

    def dirty_panels(self, touched: Invalidation | None, /) -> DirtyPanels:
        """Return the panels that the record's own page returns. Raises PageGone."""
        hidden = HIDDEN if self.addresses.shared.link.has_notes else (*HIDDEN, *OF_NOTES)
        dirty = self.page.dirty_panels(touched)
        return [(self._shared(panel), pks) for panel, pks in dirty if not panel.name.startswith(hidden)]

    def _shared(self, panel: Panel) -> SharedPanel:
        return SharedPanel(
            panel.name, panel.query, panel.min_interval_ms, panel.is_needed, addresses=self.addresses
        )


class SharedPageConsumer(PageConsumer):
    """One socket of a shared page, `/s/<secret>/live/<page>`. Needs Channels' cookie middleware."""

    def _open_page(self) -> LivePage:
        return with_connection(self._shared_page)

    def _was_open(self) -> bool:
        return True  # a reader may have opened the link before the record ended

    def _access(self) -> Callable[[], bool]:
        return self._is_open

    def _is_open(self) -> bool:
        try:
            self._shared()
        except SignedOut:
            return False
        return True

    def _shared_page(self) -> LivePage:
        shared = self._shared()
        self._owner = -shared.link.pk  # the viewers of a link share a limit; keys of users are positive
        scope, params = Scope(shared.link), QueryDict(self.scope["query_string"])
        if not scope.reaches_socket(self._name, params):
            raise Http404
        allowed = scope.query(self._name, params, OF_SOCKET[shared.link.kind])
        page = self._pages[self._name](shared.project, AnonymousUser(), allowed)
        return SharedPage(page, Addresses(shared, self._host))

    def _shared(self) -> SharedView:
        """Return the link. Raises SignedOut if it has ended, or the browser has not given its password."""
        secret = str(self.scope["url_route"]["kwargs"]["secret"])
        link = share_links.find(secret)
        if link is None or (link.password and not opening.is_open(self.scope["cookies"], link)):
            raise SignedOut
        return SharedView(link, secret)

    @property
    def _host(self) -> str:
        hosts = [value.decode("latin-1") for name, value in self.scope["headers"] if name == b"host"]
        return hosts[0] if hosts else ""
