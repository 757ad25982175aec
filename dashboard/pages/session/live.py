"""What an open session page is sent: its header, its tree, and the selected loop as its tab shows it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.http import Http404

from dashboard.live.streaming_text import BLOCK
from dashboard.pages.session import panels
from dashboard.pages.session.conversation import window
from dashboard.pages.session.events import queries as events_queries
from dashboard.pages.session.header import session as header_session
from dashboard.pages.session.params import Params, Tab
from dashboard.pages.session.timeline.queries import Timelines
from dashboard.pages.session.tree import queries as tree_queries
from dashboard.pages.session.tree.group_costs import branches_of
from dashboard.pages.session.tree.structure import Shape, ShapeOf
from dashboard.shared.costs import spawned_by
from dashboard.web.query_params import whole_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
    from django.http import QueryDict

    from dashboard.live.panel import Panel
    from dashboard.live.viewer import DirtyPanels, Page
    from recorder.models import Project
    from recorder.pubsub.invalidation import Invalidation

NEW_GROUPS = 20  # parallel groups that came while a page is open, and may still gain costs


@dataclass(slots=True)
class SessionPage:
    """An open page. `first` and `last` bound what it lists, turns by ordinal or events by id.

    Without `last` it also lists what comes.
    """

    project: int
    session: int
    loop: int
    tab: Tab
    scope: events_queries.Scope
    first: int = 0
    last: int | None = None
    at: int | None = None  # a loop around which the tree is shown
    is_past: bool = False  # drawn once, and never sent
    is_raw: bool = False  # texts as they were written
    line: Timelines = field(default_factory=lambda: Timelines(0))  # what a timeline shows
    shape: ShapeOf = Shape  # of a page that is drawn once: one that is read once
    _turns: set[int] = field(default_factory=set)  # that are shown: blocks name only their turn
    _related: set[int] = field(default_factory=set)  # sessions whose titles, states and costs are shown
    _is_nested: bool = True  # a loop's row may show what a sub-agent in another row costs
    _newest_block: int = 0  # that has come
    _branches: dict[int, int] = field(default_factory=dict)  # branch or judge: its parallel group
    _new_groups: set[int] = field(default_factory=set)  # that came since: a bell does not say whose they are

    def dirty_panels(self, touched: Invalidation | None) -> DirtyPanels:
        """Return the panels that a bell made dirty, or all of them."""
        if touched is None:
            self._is_nested = tree_queries.is_nested(self.session)
            self._related = tree_queries.related(self.session) | spawned_by(self.session)
            self._branches, self._new_groups = branches_of(self.session), set()
            return self.everything()
        wanted: DirtyPanels = []
        rows = [loop for loop, session in touched.loops.items() if session == self.session]
        is_moved, boxes = self._is_moved(touched), self._boxes(touched, rows)
        if is_moved or self.session in touched.sessions:
            wanted.append((panels.HEADER, [self.session]))
        if self.session in touched.sessions:
            wanted.append((panels.TRACK, [self.session]))
        has_orphans = not all(touched.events.values())
        if touched.quarantined or has_orphans or self.session in touched.sessions:
            wanted.append((panels.INTEGRITY, [self.session]))
        if is_moved or (rows and self._is_nested):
            wanted.append((panels.tree_panel(self.loop, self.at), [self.session]))
        else:
            wanted += [(panels.ROW, rows), (panels.BOX_COST, boxes)]
        if self.loop and rows:
            wanted.append((panels.head_panel(self.tab), [self.loop]))
        return wanted + self._of_tab(touched)

    def _of_tab(self, touched: Invalidation) -> DirtyPanels:
        if self.tab == "conversation" and self.loop:
            return self._conversation(touched)
        if self.tab == "events":
            return self._events(touched)
        if self.tab == "compactions" and self.loop and self.session in touched.sessions:
            return [(panels.PASSES, [self.loop])]
        if self.tab == "timeline" and not touched.sessions.isdisjoint({self.session, *self._related}):
            return [(panels.timeline_panel(self.line), [self.session])]
        return []

    def _is_moved(self, touched: Invalidation) -> bool:
        """Say whether the tree changed, or a session that spawned this one or was spawned by it.

        A bell does not say which sessions are related; those that rang when the tree changed may be.
        """
        is_reshaped = self.session in touched.reshaped
        self._is_nested = self._is_nested or is_reshaped  # a bell does not say by what
        if is_reshaped or not self._related.isdisjoint(touched.reshaped):
            self._related |= (touched.sessions | touched.reshaped) - {self.session}
        return is_reshaped or not self._related.isdisjoint(touched.sessions)

    def _boxes(self, touched: Invalidation, rows: Sequence[int]) -> list[int]:
        """Return the parallel groups of which these loops may be; one that is new may be of any new one."""
        self._branches |= touched.judges
        self._new_groups = set(sorted(self._new_groups | touched.groups)[-NEW_GROUPS:])
        is_new = any(loop not in self._branches for loop in rows)
        known = {self._branches[loop] for loop in rows if loop in self._branches}
        return sorted(known | self._new_groups if is_new else known)

    def everything(self) -> DirtyPanels:
        """Return all that the page shows. One query."""
        wanted: DirtyPanels = [
            (panels.HEADER, [self.session]),
            (panels.INTEGRITY, [self.session]),
            (panels.tree_panel(self.loop, self.at, self.shape), [self.session]),
        ]
        if self.loop:
            wanted.append((panels.head_panel(self.tab, self.shape), [self.loop]))
        if self.loop and self.tab == "conversation":
            shown = window.turns_between(self.loop, self.first, self.last)
            self._turns = set(shown)
            wanted += [(self._turn, shown), *self._tail()]
        elif self.loop and self.tab == "compactions":
            wanted.append((panels.PASSES, [self.loop]))
        elif self.tab == "timeline":
            wanted.append((panels.timeline_panel(self.line), [self.session]))
        elif self.tab == "events":
            wanted.append(
                (panels.event_panel(self.scope), events_queries.between(self.scope, self.first, self.last))
            )
        if not self.is_past:
            wanted.append((panels.TRACK, [self.session]))
        return wanted

    def _conversation(self, touched: Invalidation) -> DirtyPanels:
        turns = [turn for turn, loop in touched.turns.items() if loop == self.loop]
        if self.last is not None:
            turns = [turn for turn in turns if turn in self._turns]  # what comes is not on this page
        # With its first text a turn begins to stream, and says so in its head.
        begun = {turn for block, turn in touched.blocks.items() if block > self._newest_block}
        turns += begun & self._turns
        self._remember(turns)
        if self.session in touched.reshaped and len(touched.reshaped) > 1:
            turns = sorted(self._turns)  # a sub-agent was linked, and a bell does not say to which tool call
        mine = [block for block, turn in touched.blocks.items() if turn in self._turns]
        self._newest_block = max(self._newest_block, *mine, 0)
        tools = [tool for tool, turn in touched.tools.items() if turn in self._turns and turn not in turns]
        blocks = [
            block for block, turn in touched.blocks.items() if turn in self._turns and turn not in turns
        ]
        asked = [pk for pk, loop in touched.approvals.items() if loop == self.loop]
        wanted: DirtyPanels = [(self._turn, turns), (panels.TOOL, tools), (BLOCK, blocks)]
        wanted.append((panels.QUESTION, asked))
        if self.loop in touched.loops or self.loop in touched.events.values():
            wanted += self._tail()
        return wanted

    def _remember(self, turns: Iterable[int]) -> None:
        """Note turns as shown; of a page that has long been open those that it dropped are forgotten."""
        self._turns.update(turns)
        if len(self._turns) > window.HELD:
            self._turns = set(sorted(self._turns)[-window.HELD :])

    @property
    def _turn(self) -> Panel:
        return panels.RAW_TURN if self.is_raw else panels.TURN

    def _tail(self) -> DirtyPanels:
        tail = panels.RAW_TAIL if self.is_raw else panels.TAIL
        return [(tail, [self.loop])] if self.last is None else []

    def _events(self, touched: Invalidation) -> DirtyPanels:
        if self.last is not None:
            return []
        if self.scope.loop:
            shown = [pk for pk, loop in touched.events.items() if loop == self.loop]
        else:
            loops = {loop for loop, session in touched.loops.items() if session == self.session} | {
                self.loop,
                0,
            }
            shown = [pk for pk, loop in touched.events.items() if loop in loops]
        return [(panels.event_panel(self.scope), shown)]


@dataclass(frozen=True, slots=True)
class PastPage:
    """An open page of the past. Nothing on it changes but the line under it: that shows what came since."""

    project: int
    session: int

    def dirty_panels(self, touched: Invalidation | None) -> DirtyPanels:
        """Return the line, if there may be more of it."""
        is_longer = touched is None or self.session in touched.sessions
        return [(panels.TRACK, [self.session])] if is_longer else []


def open_page(project: Project, _user: AbstractBaseUser | AnonymousUser, params: QueryDict) -> Page:
    """Return the page that a socket URL stands for. Raises Http404."""
    session, loop = whole_number(params.get("session", "")) or 0, whole_number(params.get("loop", "")) or 0
    if not header_session.is_of(project.pk, session) or (loop and not header_session.has_loop(session, loop)):
        raise Http404
    asked = Params.parse(params)
    if asked.at is not None:
        return PastPage(project.pk, session)
    return SessionPage(
        project=project.pk,
        session=session,
        loop=loop,
        tab=asked.tab,
        scope=events_queries.Scope(session, 0 if asked.is_whole else loop, asked.kind),
        first=whole_number(params.get("first", "")) or 0,
        last=whole_number(params.get("last", "")),
        at=asked.tree,
        is_raw=asked.is_raw,
        line=Timelines(loop, asked.zoom, not asked.is_idle_shown),
    )
