"""Live panels of an evaluation: head, lanes while it runs, table, judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.http import Http404

from dashboard.live.panel import Panel
from dashboard.live.queries.streaming_text import BLOCK
from dashboard.notes.queries import entries as notes
from dashboard.pages.evaluations.detail_params import DetailParams
from dashboard.pages.evaluations.queries import comparison, header, judge, lanes, lookup
from dashboard.pages.evaluations.queries.groups import Group
from dashboard.web.query_params import whole_number

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
    from django.http import QueryDict

    from dashboard.live.viewer import DirtyPanels, LivePage
    from recorder.models import Project
    from recorder.pubsub.invalidation import Invalidation

SOON_MS = 300
LATER_MS = 2_000  # the table may be large, and changes with every turn of a running branch

HEAD = Panel("evaluations/header", header.heads)
HEAD_SOON = Panel("evaluations/header", header.heads, min_interval_ms=SOON_MS)
LANES = Panel("evaluations/lanes", lanes.all_lanes)
LANE = Panel("evaluations/lane", lanes.lanes, min_interval_ms=SOON_MS)
JUDGE = Panel("evaluations/judge", judge.judges)
NOTES = Panel("evaluations/notes", notes.of_groups)


def table_panel(params: DetailParams, min_interval_ms: int = 0) -> Panel:
    """Return the panel of the table with these parameters."""
    return Panel("evaluations/table", comparison.Tables(params), min_interval_ms=min_interval_ms)


@dataclass(slots=True)
class EvaluationPage:
    """An open evaluation page."""

    project: int
    group: int
    params: DetailParams
    _session: int = 0
    _is_stale: bool = False  # the session is, so that its next event changes the state of all branches
    _branches: frozenset[int] = frozenset()
    _judges: set[int] = field(default_factory=set)
    _judge_turns: set[int] = field(default_factory=set)

    def dirty_panels(self, touched: Invalidation | None) -> DirtyPanels:
        """Return the panels that an invalidation makes dirty; all of them for None."""
        if touched is None:
            return self._all_panels()
        self._judges.update(loop for loop, group in touched.judges.items() if group == self.group)
        self._judge_turns.update(turn for turn, loop in touched.turns.items() if loop in self._judges)
        wanted: DirtyPanels = []
        has_state_changed = self._has_state_changed(touched)
        if has_state_changed or self.group in touched.groups:  # changes of the group itself are not throttled
            wanted += [(panel, [self.group]) for panel in self._panels]
        else:
            if (
                touched.groups or self._session in touched.sessions
            ):  # the head links to neighbours and the session
                wanted.append((HEAD_SOON, [self.group]))
            wanted += self._loop_panels(touched)
        blocks = [block for block, turn in touched.blocks.items() if turn in self._judge_turns]
        return [*wanted, (BLOCK, blocks)]

    def _has_state_changed(self, touched: Invalidation) -> bool:
        """Return whether the session became stale, or is live again."""
        if self._session not in touched.sessions:
            return False
        was_stale, self._is_stale = self._is_stale, self._session in touched.stale
        return was_stale or self._is_stale

    def _loop_panels(self, touched: Invalidation) -> DirtyPanels:
        branches, judges = self._branches & touched.loops.keys(), self._judges & touched.loops.keys()
        wanted: DirtyPanels = [(LANE, sorted(branches | judges))]
        if branches:
            wanted.append((table_panel(self.params, LATER_MS), [self.group]))
        if judges:
            wanted.append((JUDGE, [self.group]))
        return wanted

    def _all_panels(self) -> DirtyPanels:
        place = lookup.place(self.group)
        self._session, self._branches = place.session, place.branches
        self._is_stale = place.is_stale
        self._judges = {place.judge} if place.judge else set()
        self._judge_turns = set(place.judge_turns)
        return [(panel, [self.group]) for panel in self._panels]

    @property
    def _panels(self) -> tuple[Panel, ...]:
        return HEAD, LANES, table_panel(self.params), JUDGE, NOTES


def fragments(group: Group, params: DetailParams) -> Mapping[str, str]:
    """Render the panels of a page from one reading of its group, by the last part of their name."""
    pk = group.record.pk
    values = {
        HEAD: header.head(group),
        LANES: lanes.lanes_of({pk: group})[pk],
        table_panel(params): comparison.comparison(group, params),
        JUDGE: judge.judge_of(group),
        NOTES: notes.of_groups([pk])[pk],
    }
    return {panel.name.partition("/")[2]: panel.fragment(pk, value) for panel, value in values.items()}


def open_page(project: Project, _user: AbstractBaseUser | AnonymousUser, params: QueryDict) -> LivePage:
    """Return the page of a socket URL. Raises Http404 if the group is not in the project."""
    group = whole_number(params.get("group", "")) or 0
    if not lookup.is_of(project.pk, group):
        raise Http404
    return EvaluationPage(project.pk, group, DetailParams.parse(params))
