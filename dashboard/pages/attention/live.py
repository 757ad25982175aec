"""Live panels of the attention page: its lists, each at the page that the query string selects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dashboard.live.panel import Panel
from dashboard.pages.attention.params import AttentionParams
from dashboard.pages.attention.queries.ended_sessions import FailuresOf, FinishedOf
from dashboard.pages.attention.queries.mentions import MentionsOf
from dashboard.pages.attention.queries.reasons import ReasonsOf
from dashboard.pages.attention.queries.waiting import WaitingOf
from dashboard.pages.attention.queries.wastes import AlarmsOf

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
    from django.http import QueryDict

    from dashboard.live.viewer import DirtyPanels, LivePage
    from recorder.models import Project
    from recorder.pubsub.invalidation import Invalidation

SOON_MS = 1_000


@dataclass(frozen=True, slots=True)
class AttentionPage:
    """An open attention page of one user."""

    project: int
    user: int
    params: AttentionParams

    def dirty_panels(self, touched: Invalidation | None) -> DirtyPanels:
        wanted: DirtyPanels = []
        is_marked = touched is None or self.user in touched.people
        if touched is None or touched.sessions:
            for part, query in (
                ("waiting", WaitingOf(self.params)),
                ("reasons", ReasonsOf(self.params.but())),
                ("finished", FinishedOf(self.params.but())),
            ):
                wanted.append((Panel(f"attention/{part}", query, min_interval_ms=SOON_MS), [self.project]))
        if is_marked or (touched and touched.sessions):
            failed = FailuresOf(self.project, self.params)
            wanted.append((Panel("attention/failed", failed, min_interval_ms=SOON_MS), [self.user]))
        if is_marked or (touched and (touched.sessions or touched.wastes)):
            alarms = AlarmsOf(self.project, self.params)
            wanted.append((Panel("attention/waste", alarms, min_interval_ms=SOON_MS), [self.user]))
        if is_marked or (touched and touched.noted):
            wanted.append((Panel("attention/mentions", MentionsOf(self.project)), [self.user]))
        return [(panel, pks) for panel, pks in wanted if self.params.shows(_kind(panel.name))]

    def draw(self) -> dict[str, str]:
        """Return the HTML of each panel, by the last part of its name."""
        drawn = [(panel.name, panel.draw(pks)) for panel, pks in self.dirty_panels(None)]
        return {name.partition("/")[2]: html for name, htmls in drawn for html in htmls.values()}


def _kind(panel: str) -> str:
    """Return the kind of entries that a panel lists."""
    name = panel.partition("/")[2]
    return "failed" if name == "reasons" else name


def open_page(project: Project, user: AbstractBaseUser | AnonymousUser, params: QueryDict) -> LivePage:
    """Return the page of a socket URL."""
    return AttentionPage(project.pk, user.pk or 0, AttentionParams.parse(params, user.pk))
