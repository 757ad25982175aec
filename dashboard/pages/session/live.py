"""Selects the panels that an open session page gets after a commit.

An invalidation names the rows that a commit touched; the page maps them to the panels it shows:

1. No invalidation, as on a reconnect: all panels. A deleted session: PageGone.
   One whose lines another session took: the panel that sends the page there.
2. The session itself: header, track and integrity, and the tabs that sum over it.
3. A loop of the session: its row, and the head if the loop is open; the whole tree if the shape of the tree
   changed, or if a row may include the cost of a sub-agent in another row.
4. A turn, tool call, block or approval of the open loop: its own panel, if the tab shows its turn.
5. Notes, waste and the ledger: the panels that mark them.

For example a commit ends turn 7 of loop 3, which the tab Conversation shows. The invalidation has the
session, the loop and the turn, so header, track, integrity, the row and the head of loop 3, turn 7 and the
end of the list are dirty; a page that shows loop 4 gets the first four of these only.

Invariant:
every panel whose content changed is selected, more panels than necessary are allowed. Where an invalidation
does not name a relation (which session is a sub-agent, which group a new branch belongs to), the page keeps
the related ids that it knows and refreshes all of them; it keeps at most HELD turns and NEW_GROUPS new
groups. Cost: O(touched rows) without a query, except the first call and reconnects, which read what the page
shows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from django.http import Http404
from django.utils import timezone

from dashboard.live.queries.stale_sessions import is_stale_now
from dashboard.live.queries.streaming_text import BLOCK
from dashboard.live.static_page import StaticPage
from dashboard.live.viewer import PageGone
from dashboard.pages.session import panels
from dashboard.pages.session.context.panel_view import Contexts
from dashboard.pages.session.context_filters import ContextParams
from dashboard.pages.session.conversation.queries import window
from dashboard.pages.session.events.queries import event_list
from dashboard.pages.session.header.queries import loop_address
from dashboard.pages.session.header.queries import session as header_session
from dashboard.pages.session.params import SessionParams, Tab
from dashboard.pages.session.recent import Recent
from dashboard.pages.session.timeline.queries.timeline import Timelines
from dashboard.pages.session.tree.queries import tree
from dashboard.pages.session.tree.queries.group_costs import branches_of
from dashboard.pages.session.tree.queries.structure import Shape, ShapeOf
from dashboard.shared.queries.costs import spawned_by
from dashboard.web.query_params import whole_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
    from django.http import QueryDict

    from dashboard.live.panel import Panel
    from dashboard.live.viewer import DirtyPanels, LivePage
    from recorder.models import Project
    from recorder.pubsub.invalidation import Invalidation

NEW_GROUPS = 20  # parallel groups started while a page is open, whose costs may still change


@dataclass(slots=True)
class SessionPage:
    """An open page. `first` and `last` bound its list, turns by ordinal or events by id.

    Without `last` the list also gets new entries.
    """

    project: int
    session: int
    loop: int
    tab: Tab
    scope: event_list.Scope
    first: int = 0
    last: int | None = None
    at: int | None = None  # the loop around which the tree is shown
    is_past: bool = False  # as of an event: rendered once, never updated
    is_raw: bool = False  # Markdown is not rendered
    notes: str = ""  # the filter of the rail, if it is open
    line: Timelines = field(default_factory=lambda: Timelines(0))  # the part that a timeline shows
    context: Contexts = field(default_factory=lambda: Contexts(0, ContextParams()))
    shape: ShapeOf = Shape  # a cached one while a page is rendered for the first time
    _turns: set[int] = field(default_factory=set)  # turns shown: a block names only its turn
    _related: set[int] = field(default_factory=set)  # sessions whose title, state or cost is shown
    _is_nested: bool = True  # the row of a loop may include the cost of a sub-agent in another row
    _newest_block: int = 0  # the newest block received
    _branches: dict[int, int] = field(default_factory=dict)  # parallel group by branch or judge
    _new_groups: set[int] = field(default_factory=set)  # groups started since, with unknown branches
    _unmarked: Recent = field(default_factory=Recent)  # loops and turns whose waste may not be shown yet
    _is_stale: bool = False  # the session is, so that its next event changes the state of all that is open

    def dirty_panels(self, touched: Invalidation | None) -> DirtyPanels:
        """Return the panels that an invalidation makes dirty, or all of them for None. Raises PageGone."""
        if touched is None:
            self._is_nested = tree.is_nested(self.session)
            self._related = tree.related(self.session) | spawned_by(self.session)
            self._branches, self._new_groups = branches_of(self.session), set()
            self._is_stale = is_stale_now(self.session, timezone.now())
            return self.all_panels()
        if self.session in touched.deleted:
            raise PageGone
        if self.session in touched.moved:
            return [(panels.REPLACED, [touched.moved[self.session]])]
        dirty = self._of_changed_state(touched)
        rows = [loop for loop, session in touched.loops.items() if session == self.session]
        is_tree_changed, changed_groups = self._has_tree_changed(touched), self._changed_groups(touched, rows)
        if is_tree_changed or self.session in touched.sessions:
            dirty.append((panels.HEADER, [self.session]))
        if self.session in touched.sessions:
            dirty.append((panels.TRACK, [self.session]))
        has_orphans = not all(touched.events.values())
        if touched.quarantined or has_orphans or self.session in touched.sessions:
            dirty.append((panels.INTEGRITY, [self.session]))
        if is_tree_changed or (rows and self._is_nested):
            dirty.append((panels.tree_panel(self.loop, self.at), [self.session]))
        else:
            dirty += [(panels.ROW, rows), (panels.GROUP_COST, changed_groups)]
        if self.loop and rows:
            dirty.append((panels.head_panel(self.tab), [self.loop]))
        return dirty + self._of_notes(touched) + self._of_waste(touched) + self._of_tab(touched)

    def _of_notes(self, touched: Invalidation) -> DirtyPanels:
        """Return what shows notes; those of a turn are in its panel, which the invalidation names."""
        if self.session not in touched.noted:
            return []
        dirty = [(panels.tree_panel(self.loop, self.at), [self.session]), *self._rail()]
        if self.tab == "timeline":
            dirty.append((panels.timeline_panel(self.line), [self.session]))
        return dirty

    def _of_waste(self, touched: Invalidation) -> DirtyPanels:
        """Return what marks waste: an invalidation does not say which loops and turns have it.

        It follows the lines that show it, so those that changed lately are refreshed, and all after a rerun.
        """
        self._unmarked.add(touched, self.session)
        if self.session not in touched.wastes:
            return []
        unmarked = self._unmarked.take()
        dirty: DirtyPanels = [(panels.ROW, sorted(unmarked.loops))]
        if unmarked.is_reshaped:
            dirty = [(panels.tree_panel(self.loop, self.at), [self.session])]
        if self.loop and self.tab == "conversation":
            turns = self._turns if unmarked.is_reshaped else self._turns & unmarked.turns
            dirty.append((self._turn, sorted(turns)))
        elif self.loop and self.tab == "context":
            dirty.append((panels.context_panel(self.context), [self.session]))
        elif self.tab == "timeline":
            dirty.append((panels.timeline_panel(self.line), [self.session]))
        return dirty

    def _rail(self) -> DirtyPanels:
        rail = [(panels.rail_panel(self.notes, self.loop), [self.session])] if self.notes else []
        return [(panels.NOTE_COUNT, [self.session]), *rail]

    def _of_changed_state(self, touched: Invalidation) -> DirtyPanels:
        """Return what shows the state of loops and turns if the session became stale or is live again."""
        was_stale, self._is_stale = self._is_stale, self.session in touched.stale
        if self.session not in touched.sessions:
            self._is_stale = was_stale
            return []
        if not (was_stale or self._is_stale):
            return []
        dirty: DirtyPanels = [(panels.tree_panel(self.loop, self.at), [self.session])]
        if self.loop:
            dirty.append((panels.head_panel(self.tab), [self.loop]))
        if self.loop and self.tab == "conversation":
            dirty += [(self._turn, sorted(self._turns)), *self._tail()]
        return dirty

    def _of_tab(self, touched: Invalidation) -> DirtyPanels:
        if self.tab == "conversation" and self.loop:
            return self._conversation(touched)
        if self.tab == "events":
            return self._events(touched)
        if self.tab == "compactions" and self.loop and self.session in touched.sessions:
            return [(panels.COMPACTIONS, [self.loop])]
        if self.tab == "context" and self.loop and self._has_ledger_changed(touched):
            return [(panels.context_panel(self.context), [self.session])]
        if self.tab == "timeline" and not touched.sessions.isdisjoint({self.session, *self._related}):
            return [(panels.timeline_panel(self.line), [self.session])]
        return []

    def _has_ledger_changed(self, touched: Invalidation) -> bool:
        """Return whether the block ledger changed, or a turn: it has ended, or its cost is another."""
        if self.session in touched.ledgers:
            return True
        return any(touched.loops.get(loop) == self.session for loop in touched.turns.values())

    def _has_tree_changed(self, touched: Invalidation) -> bool:
        """Return whether the tree changed, or a session that spawned this one or was spawned by it.

        An invalidation does not say which sessions are related, so those touched together with a changed tree
        are treated as related from then on.
        """
        is_reshaped = self.session in touched.reshaped
        self._is_nested = self._is_nested or is_reshaped  # an invalidation does not say how
        if is_reshaped or not self._related.isdisjoint(touched.reshaped):
            self._related |= (touched.sessions | touched.reshaped) - {self.session}
        return is_reshaped or not self._related.isdisjoint(touched.sessions)

    def _changed_groups(self, touched: Invalidation, rows: Sequence[int]) -> list[int]:
        """Return the parallel groups that may contain these loops: for an unknown loop all new groups."""
        self._branches |= touched.judges
        self._new_groups = set(sorted(self._new_groups | touched.groups)[-NEW_GROUPS:])
        is_new = any(loop not in self._branches for loop in rows)
        known = {self._branches[loop] for loop in rows if loop in self._branches}
        return sorted(known | self._new_groups if is_new else known)

    def all_panels(self) -> DirtyPanels:
        """Return all panels of the page. One query."""
        dirty: DirtyPanels = [
            (panels.HEADER, [self.session]),
            (panels.INTEGRITY, [self.session]),
            (panels.tree_panel(self.loop, self.at, self.shape), [self.session]),
        ]
        if self.loop:
            dirty.append((panels.head_panel(self.tab, self.shape), [self.loop]))
        if self.loop and self.tab == "conversation":
            shown = window.turns_between(self.loop, self.first, self.last)
            self._turns = set(shown)
            dirty += [(self._turn, shown), *self._tail()]
        elif self.loop and self.tab == "compactions":
            dirty.append((panels.COMPACTIONS, [self.loop]))
        elif self.loop and self.tab == "context":
            dirty.append((panels.context_panel(self.context), [self.session]))
        elif self.tab == "timeline":
            dirty.append((panels.timeline_panel(self.line), [self.session]))
        elif self.tab == "events":
            dirty.append(
                (panels.event_panel(self.scope), event_list.between(self.scope, self.first, self.last))
            )
        if not self.is_past:
            dirty.append((panels.TRACK, [self.session]))
        return dirty + self._rail()

    def _conversation(self, touched: Invalidation) -> DirtyPanels:
        turns = [turn for turn, loop in touched.turns.items() if loop == self.loop]
        if self.last is not None:
            turns = [turn for turn in turns if turn in self._turns]  # new turns are not on this page
        # The first text of a turn changes its header to "streaming".
        begun = {turn for block, turn in touched.blocks.items() if block > self._newest_block}
        turns += begun & self._turns
        turns += self._in_ledger(touched)
        self._add_shown_turns(turns)
        if self.session in touched.reshaped and len(touched.reshaped) > 1:
            turns = sorted(self._turns)  # a sub-agent was linked to an unknown tool call
        own = [block for block, turn in touched.blocks.items() if turn in self._turns]
        self._newest_block = max(self._newest_block, *own, 0)
        tools = [tool for tool, turn in touched.tools.items() if turn in self._turns and turn not in turns]
        blocks = [
            block for block, turn in touched.blocks.items() if turn in self._turns and turn not in turns
        ]
        approvals = [pk for pk, loop in touched.approvals.items() if loop == self.loop]
        dirty: DirtyPanels = [(self._turn, turns), (panels.TOOL, tools), (BLOCK, blocks)]
        dirty.append((panels.QUESTION, approvals))
        if self.loop in touched.loops or self.loop in touched.events.values():
            dirty += self._tail()
        return dirty

    def _in_ledger(self, touched: Invalidation) -> list[int]:
        """Return the shown turns that were added to the ledger, and the one before each: its results are."""
        added = touched.ledger_turns & self._turns
        if not added:
            return []
        shown = sorted(self._turns)
        before = {turn for turn, following in pairwise(shown) if following in added}
        return sorted(added | before)

    def _add_shown_turns(self, turns: Iterable[int]) -> None:
        """Add turns to those shown; of more than HELD only the newest are kept."""
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
        elif self.session in touched.noted:
            shown = list(touched.events)
        else:
            loops = {loop for loop, session in touched.loops.items() if session == self.session} | {
                self.loop,
                0,
            }
            shown = [pk for pk, loop in touched.events.items() if loop in loops]
        # The anchor of a note may be before the page.
        return [(panels.event_panel(self.scope), [pk for pk in shown if pk >= self.first])]


@dataclass(frozen=True, slots=True)
class PastPage:
    """An open page as of an event. Only its replay track is updated, with the events recorded since."""

    project: int
    session: int

    def dirty_panels(self, touched: Invalidation | None) -> DirtyPanels:
        """Return the replay track if the session changed."""
        if touched is not None and self.session in touched.moved:
            return [(panels.REPLACED, [touched.moved[self.session]])]
        is_longer = touched is None or self.session in touched.sessions
        return [(panels.TRACK, [self.session])] if is_longer else []


def open_page(project: Project, _user: AbstractBaseUser | AnonymousUser, params: QueryDict) -> LivePage:
    """Return the page for the parameters of a socket URL. Raises Http404."""
    session, loop = whole_number(params.get("session", "")) or 0, whole_number(params.get("loop", "")) or 0
    owner = loop_address.session_of_loop(loop) if loop else session
    if not header_session.is_in_project(project.pk, session) or owner not in (session, None):
        raise Http404
    page = SessionParams.parse(params)
    if owner is None:  # other spans or a transcript took the place of the loop
        return StaticPage(project.pk, [(panels.REPLACED, [session])])
    if page.at is not None:
        return PastPage(project.pk, session)
    return SessionPage(
        project=project.pk,
        session=session,
        loop=loop,
        tab=page.tab,
        scope=event_list.scope_of(session, loop, page.events),
        first=whole_number(params.get("first", "")) or 0,
        last=whole_number(params.get("last", "")),
        at=page.tree,
        is_raw=page.is_raw,
        notes=page.notes,
        line=Timelines(loop, page.zoom, not page.is_idle_shown),
        context=Contexts(loop, page.context),
    )
