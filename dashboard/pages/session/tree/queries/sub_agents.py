"""Reads the sub-agents of a session in other sessions, level by level, and the sessions that spawned it.

A breadth-first search over sessions, at most LEVELS deep. Invariant: a session is expanded once and a loop is
linked once, so cycles of sub-agents end; a sub-agent inside its caller's session is not a row but a call.
Cost: two queries per level, one query per ancestor, and a fixed number for the rows shown.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import QuerySet, Sum

from dashboard.shared.compiled_query import compiled
from dashboard.shared.loop_state import state_of
from dashboard.shared.queries.config_labels import NO_ANSWER, OF_LOOP, Chip, answered_by, chips_of
from dashboard.shared.queries.costs import (
    COST,
    NOTHING,
    Cost,
    HasCost,
    loops_with_sub_agents,
    sessions_with_sub_agents,
)
from dashboard.shared.session_state import SHOWN as SESSION_STATE
from dashboard.shared.session_state import end_of_loop, end_of_session, state_of_session
from dashboard.shared.waste.queries.wastes import Flag
from dashboard.web import links
from recorder.models import ChildLoopRef, LoopRecord, Session

LEVELS = 8  # levels of sub-agents shown; deeper ones are on the pages of their sessions
ABOVE = 12  # ancestor sessions shown
# Only the columns shown are read: whole rows of loops, sessions and projects have 130 columns.
CHILD = ("title", *OF_LOOP, "turns", "errors")
STATE = ("status", "outcome", "is_selected", "role", "waiting", "started_at", "ended_at", "last_event_at")
RUNS = (*SESSION_STATE, "turns", *COST)
NAMED = ("session_id", "title", "spawn_tool_name", "project__slug")
OF = tuple(f"session__{name}" for name in (*NAMED, *RUNS))
SHOWN = (*CHILD, *STATE, *COST, *OF)
# Of rows outside the window only the position is read.
REFERRED = ("pk", "loop__session", "loop", "child_session_id", "tool_name", "child", "child__session")
SPAWNED = ("pk", "session", "session__parent__session", "session__parent")
CALLED = ("session__session_id", "session__spawn_tool_name")


@dataclass(frozen=True, slots=True)
class ChildRow:
    """A sub-agent in another session; `url` is "" if it was not recorded."""

    session_id: str
    tool_name: str
    url: str = ""
    title: str = ""
    state: str = ""
    agent: str = ""
    chips: Sequence[Chip] = ()  # of its configs, in order of first answers
    turns: int = 0
    errors: int = 0
    started_at: datetime | None = None
    ended_at: datetime | None = None
    own_cost: HasCost | None = None
    whole: Cost | None = None  # including its own sub-agents, if that is more
    failed_tools: int = 0  # always 0: `errors` includes failed tools
    waste: Flag | None = None  # marked on the page of its own session
    outliers: None = None  # as waste

    @property
    def other_errors(self) -> int:
        return self.errors


@dataclass(frozen=True, slots=True)
class Ancestor:
    """An ancestor session."""

    title: str
    url: str


@dataclass(frozen=True, slots=True)
class _AgentLink:
    """A link to a sub-agent; `child` is its first loop and `session` its session if recorded."""

    session_id: str
    tool_name: str
    child: int | None
    session: int | None


@dataclass(slots=True)
class Children:
    """The sub-agents of a session: callers of those within it, and rows below loops or below other rows.

    The key of a row is the primary key of its link, or the negated primary key of the loop if only the
    spawned session names its parent.
    """

    called: dict[int, int] = field(default_factory=dict)
    below: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    deeper: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    links: dict[int, _AgentLink] = field(default_factory=dict)

    def rows(self, keys: Collection[int]) -> Mapping[int, ChildRow]:
        """Return the data of these rows. A fixed number of queries, and those of the cost sums."""
        times = Counter(link.session for link in self.links.values())
        return _rows({key: self.links[key] for key in keys}, times)


def children(session: int) -> Children:
    """Return the sub-agents below a session. Two queries for each level."""
    every = Children()
    row_of: dict[int, int] = {}  # the row of a session
    frontier, linked = {session}, set[int]()
    for level in range(LEVELS):
        fresh: dict[int, int] = {}
        for key, owner, loop, link in _level(frontier, linked):
            if link.child is not None and link.session == owner:
                if level == 0:
                    every.called[link.child] = loop
                continue
            every.links[key] = link
            (every.deeper[row_of[owner]] if owner in row_of else every.below[loop]).append(key)
            if link.session is not None and link.session != session and link.session not in row_of:
                fresh.setdefault(link.session, key)
        row_of |= fresh
        frontier = set(fresh)
        if not frontier:
            break
    return every


def ancestors(session: int) -> Sequence[Ancestor]:
    """Return the ancestors of a session, the topmost first. One query each."""
    chain: list[Ancestor] = []
    seen: set[int] = set()
    at: int | None = session
    while at is not None and at not in seen and len(chain) < ABOVE:
        seen.add(at)
        row = next(iter(_spawner(at)), None)
        if row is None or row[1] in seen:
            break
        loop, at, title, session_id, slug = row
        chain.insert(0, Ancestor(title or session_id, links.loop(slug, at, loop)))
    return chain


@compiled
def _spawner(session: int) -> QuerySet[Session, tuple[Any, ...]]:
    columns = ("parent_id", "parent__session_id", "parent__session__title", "parent__session__session_id")
    return Session.objects.filter(pk=session, parent__isnull=False).values_list(*columns, "project__slug")


def _level(sessions: Collection[int], linked: set[int]) -> Iterator[tuple[int, int, int, _AgentLink]]:
    """Yield the links from loops of these sessions: key, calling session, calling loop, sub-agent."""
    for pk, owner, loop, session_id, tool_name, child, session in _child_references(sessions):
        if child not in linked:
            linked |= {child} - {None}
            yield pk, owner, loop, _AgentLink(session_id, tool_name, child, session)
    first: set[int] = (
        set()
    )  # sessions yielded: only their first loop; a running sub-agent has no tool result yet
    for child, session, owner, loop, session_id, tool_name in _spawned_loops(sessions):
        if session == owner or session in first:
            continue
        first.add(session)
        if child not in linked:
            linked.add(child)
            yield -child, owner, loop, _AgentLink(session_id, tool_name, child, session)


@compiled
def _child_references(sessions: Collection[int]) -> QuerySet[ChildLoopRef, tuple[Any, ...]]:
    return ChildLoopRef.objects.filter(loop__session__in_list=sessions).order_by("pk").values_list(*REFERRED)


@compiled
def _spawned_loops(sessions: Collection[int]) -> QuerySet[LoopRecord, tuple[Any, ...]]:
    spawned = LoopRecord.objects.filter(session__parent__session__in_list=sessions).order_by("pk")
    return spawned.values_list(*SPAWNED, *CALLED)


def _rows(links_of: Mapping[int, _AgentLink], times: Mapping[int | None, int]) -> Mapping[int, ChildRow]:
    recorded = _recorded_loops({link.child for link in links_of.values() if link.child is not None})
    # A session started by one call is shown as a whole; one continued by several calls loop by loop.
    alone = [child.session for child in recorded.values() if times[child.session_id] == 1]
    others = [child for child in recorded.values() if times[child.session_id] > 1]
    whole = sessions_with_sub_agents(alone) if alone else {}
    parts = loops_with_sub_agents(others) if others else {}
    failed = _error_counts([session.pk for session in alone]) if alone else {}
    answered = answered_by(recorded.values())
    named = chips_of(answered)
    rows = {}
    for key, link in links_of.items():
        child = recorded.get(link.child or 0)
        used = answered.get(link.child or 0, NO_ANSWER).chips(named)
        if child is None:
            rows[key] = ChildRow(link.session_id, link.tool_name)
        elif times[child.session_id] == 1:
            session = child.session
            rows[key] = _of_session(link, child, used, whole[session.pk], failed.get(session.pk, 0))
        else:
            rows[key] = _of_loop(link, child, used, parts[child.pk])
    return rows


def _recorded_loops(children: Collection[int]) -> Mapping[int, LoopRecord]:
    """Return the loops of sub-agents. One query, none without any."""
    return LoopRecord.objects.select_related("session__project").only(*SHOWN).in_bulk(children)


def _error_counts(sessions: Collection[int]) -> Mapping[int, int]:
    counted = LoopRecord.objects.filter(session__in=sessions).order_by().values("session_id")
    return dict(counted.annotate(n=Sum("errors")).values_list("session_id", "n"))


def _of_session(
    link: _AgentLink, child: LoopRecord, used: Sequence[Chip], whole: Cost, errors: int
) -> ChildRow:
    session = child.session
    return ChildRow(
        session.session_id,
        link.tool_name,
        links.loop(session.project.slug, session.pk, child.pk),
        child.title or session.title or child.agent_id,
        state_of_session(session),
        child.agent_label or child.agent_id,
        used,
        session.turns,
        errors,
        child.started_at,
        end_of_session(session),
        session,
        cost_if_different(session, whole),
    )


def _of_loop(link: _AgentLink, child: LoopRecord, used: Sequence[Chip], whole: Cost) -> ChildRow:
    return ChildRow(
        link.session_id,
        link.tool_name,
        links.loop(child.session.project.slug, child.session_id, child.pk),
        child.title or child.session.title or child.agent_id,
        state_of(child, is_waiting=child.waiting > 0),
        child.agent_label or child.agent_id,
        used,
        child.turns,
        child.errors,
        child.started_at,
        end_of_loop(child),
        child,
        cost_if_different(child, whole),
    )


def cost_if_different(own: HasCost, whole: Cost) -> Cost | None:
    """Return the cost with sub-agents if it differs from the own cost, else None."""
    return whole if whole != NOTHING + own else None
