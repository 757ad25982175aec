"""Translation of each URL in the HTML of a shared page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal
from urllib.parse import urlsplit

from django.conf import settings
from django.http import QueryDict
from django.urls import Resolver404, resolve

from dashboard.pages.share.scope import Scope
from dashboard.security.shared_view import SharedView

# own: the URL below the link; outside: no page of this server; text: the words stay without a link;
# other: another record, whose words are replaced; gone: the control is removed.
Fate = Literal["own", "outside", "text", "other", "gone"]


@dataclass(frozen=True, slots=True)
class Target:
    """The URL that takes the place of another one, "" without one, and what becomes of its link."""

    fate: Fate
    url: str = ""


@dataclass(frozen=True, slots=True)
class Addresses:
    """The URLs of one link. `host` is that of the server: absolute URLs with it are its own pages."""

    shared: SharedView
    host: str

    def target(self, url: str) -> Target:
        """Return what takes the place of a URL. No query of the database."""
        if url.startswith("?"):
            query = QueryDict(url[1:].partition("#")[0])
            return Target("own", url) if Scope(self.shared.link).shows(query) else Target("gone")
        if not url or url[0] == "#" or url.startswith((settings.STATIC_URL, f"{self.shared.address}/")):
            return Target("own", url)
        try:
            parts = urlsplit(url)
        except ValueError:
            return Target("gone")
        is_elsewhere = parts.scheme in ("http", "https", "mailto") and parts.netloc != self.host
        if is_elsewhere or (parts.scheme == "data" and parts.path.startswith("image/")):
            return Target("outside", url)
        is_of_project = parts.path.startswith(f"/p/{self.shared.project.slug}/")
        if not is_of_project or parts.netloc not in ("", self.host):
            return Target("text" if parts.netloc else "gone")
        tail = f"?{parts.query}" if parts.query else ""
        tail += f"#{parts.fragment}" if parts.fragment else ""
        return self._of_page(parts.path, QueryDict(parts.query), tail)

    def below(self, path: str) -> str:
        """Return the path of a page of the project below the link."""
        return f"{self.shared.address}/{path.removeprefix(f'/p/{self.shared.project.slug}/')}"

    def _of_page(self, path: str, query: QueryDict, tail: str) -> Target:
        link = self.shared.link
        if path.startswith(f"/p/{self.shared.project.slug}/live/"):
            is_own = path == f"/p/{self.shared.project.slug}/live/{Scope(link).socket}"
            return Target("own", self.below(path) + tail) if is_own else Target("gone")
        name, numbers = route(path)
        if Scope(link).reaches(name, numbers, query):
            return Target("own", self.below(path) + tail)
        if not numbers:
            return Target("text" if name else "gone")
        if name not in ("session", "loop") and (name, link.kind) != ("evaluation", "view"):
            return Target("gone")
        if link.kind != "session":
            return Target("text")
        return Target("gone" if numbers.get("pk") == link.target else "other")


@lru_cache(maxsize=4_000)
def route(path: str) -> tuple[str, Mapping[str, int]]:
    """Return the name of the route of a path and its numbers; "" without one."""
    try:
        match = resolve(path)
    except Resolver404:
        return "", {}
    numbers = {name: value for name, value in match.kwargs.items() if isinstance(value, int)}
    return match.url_name or "", numbers
