"""The sub-agents that a session's loops have in other sessions, level by level, and the sessions above it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Sum

from dashboard import links
from dashboard.chips import Chip, chips
from dashboard.loops.queries.rows import state_of
from dashboard.money import COST, NOTHING, Cost, Spent, loops_with_sub_agents, sessions_with_sub_agents
from recorder.models import ChildLoopRef, LoopRecord, Session

LEVELS = 8  # of sub-agents that a tree shows; what is deeper is a link away
ABOVE = 12  # sessions above, likewise
# Only what is drawn is read: whole rows of loops, sessions and projects together are 130 columns wide.
CHILD = ("title", "agent_id", "agent_label", "config_id", "turns", "errors", "started_at", "ended_at")
STATE = ("status", "outcome", "is_selected", "role", "waiting")
RUNS = ("status", "outcome", "waiting", "turns", "ended_at", "last_event_at", *COST)
NAMED = ("session_id", "title", "spawn_tool_name", "project__slug")
OF = tuple(f"session__{name}" for name in (*NAMED, *RUNS))
SPAWNED = (*CHILD, *STATE, *COST, *OF)
REFERRED = (
    "loop__session_id",
    "child_session_id",
    "tool_name",
    *(f"child__{name}" for name in SPAWNED),
)


@dataclass(frozen=True, slots=True)
class ChildRow:
    """A sub-agent in another session; without `url` it was not recorded."""

    session_id: str
    tool_name: str
    url: str = ""
    title: str = ""
    state: str = ""
    agent: str = ""
    chip: Chip | None = None
    turns: int = 0
    errors: int = 0
    started_at: datetime | None = None
    ended_at: datetime | None = None
    spent: Spent | None = None
    whole: Cost | None = None  # with its own sub-agents, when that is more


@dataclass(frozen=True, slots=True)
class Above:
    """A session above this one."""

    title: str
    url: str


@dataclass(frozen=True, slots=True)
class _Found:
    """A link to a sub-agent, and its first loop if that was recorded."""

    session_id: str
    tool_name: str
    child: LoopRecord | None


@dataclass(slots=True)
class Children:
    """Who stands where: callers of this session's own sub-agents, and rows, under loops or under other rows.

    A row's key is that of the link, or minus that of the loop where a session alone says who spawned it.
    """

    called: dict[int, int] = field(default_factory=dict)
    below: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    deeper: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    found: dict[int, _Found] = field(default_factory=dict)

    def rows(self, keys: Collection[int]) -> Mapping[int, ChildRow]:
        """Return what these rows show. Some queries, and those of the sums, if there are any."""
        return _rows({key: self.found[key] for key in keys})


def children(session: int) -> Children:
    """Return the sub-agents below a session. Two queries for each level that there is."""
    every = Children()
    holder: dict[int, int] = {}  # the row that stands for a session
    frontier, linked = {session}, set[int]()
    for level in range(LEVELS):
        fresh: dict[int, int] = {}
        for key, owner, loop, found in _level(frontier, linked):
            child = found.child
            if child is not None and child.session_id == owner:
                if level == 0:
                    every.called[child.pk] = loop
                continue
            every.found[key] = found
            (every.deeper[holder[owner]] if owner in holder else every.below[loop]).append(key)
            if child is not None and child.session_id != session and child.session_id not in holder:
                fresh.setdefault(child.session_id, key)
        holder |= fresh
        frontier = set(fresh)
        if not frontier:
            break
    return every


def above(session: int) -> Sequence[Above]:
    """Return the sessions above one, the topmost first. A query for each."""
    chain: list[Above] = []
    seen: set[int] = set()
    columns = ("parent_id", "parent__session_id", "parent__session__title", "parent__session__session_id")
    at: int | None = session
    while at is not None and at not in seen and len(chain) < ABOVE:
        seen.add(at)
        here = Session.objects.filter(pk=at, parent__isnull=False)
        row = here.values_list(*columns, "project__slug").first()
        if row is None or row[1] in seen:
            break
        loop, at, title, session_id, slug = row
        chain.insert(0, Above(title or session_id, links.loop(slug, at, loop)))
    return chain


def _level(sessions: Collection[int], linked: set[int]) -> Iterator[tuple[int, int, int, _Found]]:
    """Yield the links from loops of these sessions: key, session, loop and what is there."""
    refs = ChildLoopRef.objects.filter(loop__session__in=sessions)
    for ref in refs.select_related("loop", "child__session__project").only(*REFERRED).order_by("pk"):
        if ref.child_id in linked:
            continue
        if ref.child_id is not None:
            linked.add(ref.child_id)
        found = _Found(ref.child_session_id, ref.tool_name, ref.child)
        yield ref.pk, ref.loop.session_id, ref.loop_id, found
    for child in _spawned(sessions):
        parent = child.session.parent
        if parent is None or child.pk in linked:
            continue
        linked.add(child.pk)
        found = _Found(child.session.session_id, child.session.spawn_tool_name, child)
        yield -child.pk, parent.session_id, parent.pk, found


def _spawned(sessions: Collection[int]) -> Sequence[LoopRecord]:
    """Return the first loop of each session spawned there: a child that runs has no tool result yet."""
    first: dict[int, LoopRecord] = {}
    spawned = LoopRecord.objects.filter(session__parent__session__in=sessions)
    related = ("session__project", "session__parent")
    for loop in spawned.select_related(*related).only(*SPAWNED, "session__parent__session_id").order_by("pk"):
        if loop.session.parent is not None and loop.session.parent.session_id != loop.session_id:
            first.setdefault(loop.session_id, loop)
    return list(first.values())


def _rows(found: Mapping[int, _Found]) -> Mapping[int, ChildRow]:
    recorded = {key: each.child for key, each in found.items() if each.child is not None}
    times = Counter(child.session_id for child in recorded.values())
    # A session that one call ran is shown whole; one that several calls went on with, loop by loop.
    alone = [child.session for child in recorded.values() if times[child.session_id] == 1]
    others = [child.pk for child in recorded.values() if times[child.session_id] > 1]
    whole = sessions_with_sub_agents(alone) if alone else {}
    parts = loops_with_sub_agents(others) if others else {}
    failed = _errors([session.pk for session in alone]) if alone else {}
    named = chips({child.config_id for child in recorded.values() if child.config_id}) if recorded else {}
    rows = {}
    for key, each in found.items():
        if each.child is None:
            rows[key] = ChildRow(each.session_id, each.tool_name)
        elif times[each.child.session_id] == 1:
            session = each.child.session
            rows[key] = _of_session(each, each.child, named, whole[session.pk], failed.get(session.pk, 0))
        else:
            rows[key] = _of_loop(each, each.child, named, parts[each.child.pk])
    return rows


def _errors(sessions: Collection[int]) -> Mapping[int, int]:
    counted = LoopRecord.objects.filter(session__in=sessions).order_by().values("session_id")
    return dict(counted.annotate(n=Sum("errors")).values_list("session_id", "n"))


def _of_session(
    found: _Found, child: LoopRecord, named: Mapping[int, Chip], whole: Cost, errors: int
) -> ChildRow:
    session = child.session
    state = session.status if session.status in ("pending", "running") else session.outcome or session.status
    return ChildRow(
        session.session_id,
        found.tool_name,
        links.loop(session.project.slug, session.pk, child.pk),
        child.title or session.title or child.agent_id,
        "waiting" if session.waiting else state,
        child.agent_label or child.agent_id,
        named.get(child.config_id or 0),
        session.turns,
        errors,
        child.started_at,
        None if session.status == "running" else session.ended_at or session.last_event_at,
        session,
        more_than(session, whole),
    )


def _of_loop(found: _Found, child: LoopRecord, named: Mapping[int, Chip], whole: Cost) -> ChildRow:
    return ChildRow(
        found.session_id,
        found.tool_name,
        links.loop(child.session.project.slug, child.session_id, child.pk),
        child.title or child.session.title or child.agent_id,
        state_of(child, is_waiting=child.waiting > 0),
        child.agent_label or child.agent_id,
        named.get(child.config_id or 0),
        child.turns,
        child.errors,
        child.started_at,
        child.ended_at,
        child,
        more_than(child, whole),
    )


def more_than(own: Spent, whole: Cost) -> Cost | None:
    """Return the cost with sub-agents when it is more than the own one."""
    return whole if whole != NOTHING + own else None
