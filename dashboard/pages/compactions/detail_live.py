"""Live panels of a compaction page: content and effect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.http import Http404

from dashboard.pages.compactions.panels import CONTENT, EFFECT
from dashboard.pages.compactions.queries import detail
from dashboard.web.query_params import whole_number

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
    from django.http import QueryDict

    from dashboard.live.viewer import DirtyPanels, LivePage
    from recorder.models import Project
    from recorder.pubsub.invalidation import Invalidation


@dataclass(frozen=True, slots=True)
class CompactionPage:
    """An open page of one compaction."""

    project: int
    session: int
    pk: int

    def dirty_panels(self, touched: Invalidation | None) -> DirtyPanels:
        if touched is not None and self.session not in touched.sessions:
            return []
        return [(CONTENT, [self.pk]), (EFFECT, [self.pk])]


def open_page(project: Project, _user: AbstractBaseUser | AnonymousUser, params: QueryDict) -> LivePage:
    """Return the page of a socket URL. Raises Http404 if the compaction is not in the session."""
    session, pk = (whole_number(params.get(name, "")) or 0 for name in ("session", "compaction"))
    if not detail.is_of(project.pk, session, pk):
        raise Http404
    return CompactionPage(project.pk, session, pk)
