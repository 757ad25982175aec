"""What an open evaluation is sent: its head, its lanes while it runs, its table, its judge."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.http import Http404

from dashboard.live.panel import Panel
from dashboard.live.streaming_text import BLOCK
from dashboard.pages.evaluations.detail_params import Params
from dashboard.pages.evaluations.queries import comparison, header, judge, lanes, lookup
from dashboard.web.query_params import whole_number

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
    from django.http import QueryDict

    from dashboard.live.viewer import Page, Wants
    from recorder.models import Project
    from recorder.pubsub.invalidation import Invalidation

SOON_MS = 300
LATER_MS = 2_000  # a table may be large, and while branches run it changes with every turn

HEAD = Panel("evaluations/head", header.heads)
HEAD_SOON = Panel("evaluations/head", header.heads, min_interval_ms=SOON_MS)
LANES = Panel("evaluations/lanes", lanes.all_lanes)
LANE = Panel("evaluations/lane", lanes.lanes, min_interval_ms=SOON_MS)
JUDGE = Panel("evaluations/judge", judge.judges)


def table_panel(asked: Params, min_interval_ms: int = 0) -> Panel:
    """Return the table that this address shows."""
    return Panel("evaluations/table", comparison.Tables(asked), min_interval_ms=min_interval_ms)


@dataclass(slots=True)
class EvaluationPage:
    """An open page."""

    project: int
    group: int
    asked: Params
    _session: int = 0
    _branches: frozenset[int] = frozenset()
    _judges: set[int] = field(default_factory=set)
    _judge_turns: set[int] = field(default_factory=set)

    def dirty_panels(self, touched: Invalidation | None) -> Wants:
        """Return the panels that a bell made dirty, or all of them."""
        if touched is None:
            return self._everything()
        self._judges.update(loop for loop, group in touched.judges.items() if group == self.group)
        self._judge_turns.update(turn for turn, loop in touched.turns.items() if loop in self._judges)
        wanted: Wants = []
        if self.group in touched.groups:  # a winner waits for nothing
            wanted += [(panel, [self.group]) for panel in self._panels]
        else:
            if touched.groups or self._session in touched.sessions:  # others come before and after it
                wanted.append((HEAD_SOON, [self.group]))
            wanted += self._moved(touched)
        blocks = [block for block, turn in touched.blocks.items() if turn in self._judge_turns]
        return [*wanted, (BLOCK, blocks)]

    def _moved(self, touched: Invalidation) -> Wants:
        branches, judges = self._branches & touched.loops.keys(), self._judges & touched.loops.keys()
        wanted: Wants = [(LANE, sorted(branches | judges))]
        if branches:
            wanted.append((table_panel(self.asked, LATER_MS), [self.group]))
        if judges:
            wanted.append((JUDGE, [self.group]))
        return wanted

    def _everything(self) -> Wants:
        place = lookup.place(self.group)
        self._session, self._branches = place.session, place.branches
        self._judges = {place.judge} if place.judge else set()
        self._judge_turns = set(place.judge_turns)
        return [(panel, [self.group]) for panel in self._panels]

    @property
    def _panels(self) -> tuple[Panel, ...]:
        return HEAD, LANES, table_panel(self.asked), JUDGE


def open_page(project: Project, _user: AbstractBaseUser | AnonymousUser, params: QueryDict) -> Page:
    """Return the page that a socket URL stands for. Raises Http404."""
    group = whole_number(params.get("group", "")) or 0
    if not lookup.is_of(project.pk, group):
        raise Http404
    return EvaluationPage(project.pk, group, Params.parse(params))
