"""Live panel of the search: the number of hits that are newer than those of the page."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from django.utils import timezone

from dashboard.live import static_page
from dashboard.live.paged_list import Fresh
from dashboard.live.panel import Panel
from dashboard.pages.search_text import queries
from dashboard.pages.search_text.params import SearchParams
from dashboard.query_language.words import positive_words
from dashboard.web import links
from dashboard.web.query_params import whole_number

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
    from django.http import QueryDict

    from dashboard.live.viewer import DirtyPanels, LivePage
    from recorder.models import Project
    from recorder.pubsub.invalidation import Invalidation

NEW_MS = 2_000


@dataclass(frozen=True, slots=True)
class SearchPage:
    """An open page of results, and the newest document with its words when it was opened.

    The results stay as they are while they are read; a strip above them counts newer hits.
    """

    project: int
    params: SearchParams
    user: int
    newest: int

    @classmethod
    def opened(cls, project: Project, params: SearchParams, user: int) -> SearchPage:
        """Return the open page of a valid query."""
        return cls(project.pk, params.but(), user, queries.newest(project.pk, params))

    def socket(self, slug: str) -> str:
        """Return the socket's URL, so that a reconnect counts from the same hit on."""
        return links.live(slug, "search_text", **self.params.pairs(), newest=self.newest)

    def dirty_panels(self, touched: Invalidation | None) -> DirtyPanels:
        is_dirty = touched is None or touched.indexed or touched.sessions or touched.noted
        return [(self._strip, [self.newest])] if is_dirty else []

    def draw(self) -> str:
        """Render the strip as the socket does."""
        return self._strip.draw([self.newest])[self.newest]

    @property
    def _strip(self) -> Panel:
        return _strip(self.project, self.params, self.user if self.params.parsed.is_personal else 0)


def open_page(project: Project, user: AbstractBaseUser | AnonymousUser, params: QueryDict) -> LivePage:
    """Return the page of a socket URL; an invalid number is ignored."""
    address = SearchParams.parse(params).but()
    if address.parsed.node is None:
        return static_page.StaticPage(project.pk)
    return SearchPage(project.pk, address, user.pk or 0, whole_number(params.get("newest", "")) or 0)


@lru_cache(maxsize=256)
def _strip(project: int, params: SearchParams, user: int) -> Panel:
    """Return the strip of newer hits; its key is the newest hit when the page was opened."""
    return Panel("_shared/new-items", partial(_fresh, project, params, user), min_interval_ms=NEW_MS)


def _fresh(project: int, params: SearchParams, user: int, newest: Collection[int]) -> Mapping[int, Fresh]:
    what, now = "hit" if positive_words(params.parsed.node) else "session", timezone.now()
    return {pk: Fresh(queries.newer(project, params, now, user, pk), what, params.query) for pk in newest}
