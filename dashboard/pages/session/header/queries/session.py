"""The header of the session page, and its default loop."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.db.models import Case, Count, Exists, IntegerField, OuterRef, QuerySet, Subquery, Value, When

from dashboard.rendering.shared_page import is_shared
from dashboard.shared.compiled_query import compiled
from dashboard.shared.queries.costs import COST, NOTHING, Cost, sessions_with_sub_agents
from dashboard.shared.session_state import end_of_session, status_of_session
from dashboard.shared.usage_bar import COLUMNS, kinds
from dashboard.web import links
from recorder.core.content.labels import metadata_of, tags_of
from recorder.core.formats.registry import SETTLED
from recorder.core.sources import SUBSCRIBED
from recorder.models import EventRecord, LoopRecord, Pin, Session, ToolCall, TranscriptLine

STATE = (
    *("session_id", "title", "agent_id", "status", "outcome", "waiting", "waiting_since", "is_demo"),
    "source",
)
LABELS = ("tags", "metadata")
TIMES = ("created_at", "ended_at", "last_event_at", "pruned_on")
SPAWN = ("has_spawn", "parent_session_id", "spawn_tool_name")
PARENT = ("parent__session__session_id", "parent__session__title", "parent__session__project__slug")
# A whole row has 170 columns with its relations.
SHOWN = (
    *STATE,
    *TIMES,
    *LABELS,
    "loops",
    "turns",
    "tool_calls",
    *COLUMNS,
    *COST,
    *SPAWN,
    "project__slug",
    *PARENT,
)
PINS = Pin.objects.filter(project=OuterRef("project"), session_id=OuterRef("session_id"))


@dataclass(frozen=True, slots=True)
class Spawner:
    """The loop of another session that spawned this one; `url` is "" if it was not recorded.

    `name` is "" on a shared page if it was not.
    """

    name: str
    tool_name: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class Continued:
    """The session whose history this one repeats and goes on from."""

    name: str
    url: str


@dataclass(frozen=True, slots=True)
class Label:
    """A tag or a metadata value, with the list of the sessions that have it."""

    text: str
    url: str


@dataclass(frozen=True, slots=True)
class Header:
    """One session's headline figures; root of the panel session/header/header."""

    pk: int
    slug: str
    session_id: str
    title: str
    agent_id: str
    state: str
    waiting: int
    waiting_since: datetime | None
    spawner: Spawner | None
    continued: Continued | None
    started_at: datetime
    ended_at: datetime | None
    last_event_at: datetime
    loops: int
    turns: int
    failed_loops: int
    tool_calls: int
    failed_tools: int
    totals: Session  # own usage and cost; `whole` includes sub-agents in other sessions
    whole: Cost
    context_tokens: int | None
    context_window: int | None
    is_past: bool  # as of an event
    is_demo: bool
    is_pinned: bool  # excluded from retention pruning
    labels: tuple[Label, ...]
    pruned_on: date | None  # last day on which bodies were pruned

    @property
    def own_cost(self) -> Cost:
        return NOTHING + self.totals

    @property
    def is_list_price(self) -> bool:
        """Return whether the cost is what the tokens cost by the list, while a subscription pays for them."""
        is_computed = self.totals.cost_source in ("computed", "mixed")
        return is_computed and self.totals.source in SUBSCRIBED

    @property
    def tokens(self) -> int:
        return sum(kind.count for kind in kinds(self.totals))

    @property
    def context_share(self) -> float | None:
        if self.context_tokens is None or not self.context_window:
            return None
        return self.context_tokens / self.context_window

    @property
    def sessions_url(self) -> str:
        return links.sessions(self.slug)

    @property
    def error_url(self) -> str:
        return links.jump(self.slug, self.pk, "error")

    @property
    def what_if_url(self) -> str:
        """Return the link to other prices and policies of the session; "" as of an event and if shared."""
        return "" if links.is_as_of() or is_shared() else links.what_if(self.slug, session=self.session_id)

    @property
    def dearest_url(self) -> str:
        """Return the link to the turn that cost most; "" with one turn, without costs, and if shared."""
        is_choice = self.turns > 1 and bool(self.totals.cost_nano) and not is_shared()
        return links.jump(self.slug, self.pk, "dearest") if is_choice else ""

    @property
    def waiting_url(self) -> str:
        return links.jump(self.slug, self.pk, "waiting")

    @property
    def agent_url(self) -> str:
        return links.sessions(self.slug, agent=self.agent_id)


def headers(pks: Collection[int]) -> Mapping[int, Header]:
    """Return sessions' headers. Three queries; more for sub-agents, and for sessions of Claude Code."""
    sessions = _sessions(pks)
    measured = {
        loop.pk: loop for loop in _sized_loops([session.sized for session in sessions if session.sized])
    }
    whole = sessions_with_sub_agents(sessions)
    return {
        session.pk: _header(session, measured.get(session.sized), whole[session.pk]) for session in sessions
    }


@compiled
def _sessions(pks: Collection[int]) -> QuerySet[Any]:
    sized = LoopRecord.objects.filter(session=OuterRef("pk"), context_tokens__isnull=False).order_by(
        "-last_event_at", "-pk"
    )
    return (
        Session.objects.filter(pk__in_list=pks)
        .select_related("project", "parent__session__project")
        .only(*SHOWN)
        .annotate(
            sized=Subquery(sized.values("pk")[:1]),
            is_pinned=Exists(PINS),
            failed_loops=_count_of(
                LoopRecord.objects.filter(session=OuterRef("pk"), outcome="failed"), "session"
            ),
            failed_tools=_count_of(
                # A call denied before it started is not an execution; tool_calls does not count it.
                # A loop counts its failed tools among its errors: the calls of other loops are not read.
                ToolCall.objects.filter(
                    loop__session=OuterRef("pk"),
                    loop__errors__gt=0,
                    state="failed",
                    start_event__isnull=False,
                ),
                "loop__session",
            ),
        )
    )


@compiled
def _sized_loops(pks: Collection[int]) -> QuerySet[LoopRecord]:
    loops = LoopRecord.objects.select_related("config").only("context_tokens", "config__snapshot")
    return loops.filter(pk__in_list=pks)


def _count_of(rows: QuerySet[Any], by: str) -> Subquery:
    return Subquery(rows.order_by().values(by).annotate(rows=Count("pk")).values("rows"))


def _header(session: Any, measured: LoopRecord | None, whole: Cost) -> Header:
    return Header(
        pk=session.pk,
        slug=session.project.slug,
        session_id=session.session_id,
        title=session.title or session.agent_id or session.session_id,
        agent_id=session.agent_id,
        state=status_of_session(session),
        waiting=session.waiting,
        waiting_since=session.waiting_since if session.waiting else None,
        spawner=_spawner(session),
        continued=_continuation(session) if session.source in SETTLED else None,
        started_at=session.created_at,
        ended_at=end_of_session(session),
        last_event_at=session.last_event_at,
        loops=session.loops,
        turns=session.turns,
        failed_loops=session.failed_loops or 0,
        tool_calls=session.tool_calls,
        failed_tools=session.failed_tools or 0,
        totals=session,
        whole=whole,
        context_tokens=measured.context_tokens if measured else None,
        context_window=_window(measured),
        is_past=links.is_as_of(),
        is_demo=session.is_demo,
        is_pinned=session.is_pinned,
        labels=tuple(_labels(session)),
        pruned_on=session.pruned_on,
    )


def _window(loop: LoopRecord | None) -> int | None:
    snapshot = loop.config.snapshot if loop and loop.config else None
    size = snapshot.get("context_window") if isinstance(snapshot, dict) else None
    return size if type(size) is int and size > 0 else None


def _spawner(session: Session) -> Spawner | None:
    loop = session.parent
    if loop is not None:
        name = loop.session.title or loop.session.session_id
        url = links.loop(loop.session.project.slug, loop.session_id, loop.pk)
        return Spawner(name, session.spawn_tool_name, url)
    if session.has_spawn and session.parent_session_id:
        return Spawner("" if is_shared() else session.parent_session_id, session.spawn_tool_name)
    return None


def _continuation(session: Session) -> Continued | None:
    lines = TranscriptLine.objects.filter(project=session.project_id)
    history = lines.filter(session=session.session_id, loop="").exclude(kind="side").order_by("-at", "-pk")
    key, request = Subquery(history.values("key")[:1]), Subquery(history.values("request")[:1])
    recorded = lines.filter(key=key, request=request).exclude(loop="")
    earlier = Session.objects.filter(
        project=session.project_id, session_id=Subquery(recorded.values("session")[:1])
    ).exclude(pk=session.pk)
    rows = earlier.values_list("pk", "title", "session_id")[:1]
    return next(
        (Continued(title or name, links.session(session.project.slug, pk)) for pk, title, name in rows), None
    )


def session_of(project: int, pk: int, loop: int = 0) -> Session:
    """Return a session of a project; with `loop` only if it contains that loop.

    Raises Session.DoesNotExist.
    """
    sessions = _with_loop(project, pk, loop) if loop else _session(project, pk)
    if not sessions:
        raise Session.DoesNotExist
    return sessions[0]


@compiled
def _session(project: int, pk: int) -> QuerySet[Session]:
    sessions = Session.objects.select_related("project").annotate(is_pinned=Exists(PINS))
    return sessions.filter(project=project, pk=pk)


@compiled
def _with_loop(project: int, pk: int, loop: int) -> QuerySet[Session]:
    sessions = Session.objects.select_related("project").annotate(is_pinned=Exists(PINS))
    return sessions.filter(
        Exists(LoopRecord.objects.filter(session=OuterRef("pk"), pk=loop)), project=project, pk=pk
    )


def default_loop(session: int, at: int | None = None) -> int | None:
    """Return the default loop of a session: the newest running loop, else the last one started by a user.

    As of an event it is the event's own loop, if the session has it.
    """
    own = _loop_of_event(at, session) if at is not None else []
    return next(iter(own or _default_loop(session)), None)


@compiled
def _loop_of_event(event: int, session: int) -> QuerySet[EventRecord, int]:
    events = EventRecord.objects.filter(pk=event, loop__session=session)
    return events.values_list("loop_id", flat=True)


@compiled
def _default_loop(session: int) -> QuerySet[LoopRecord, int]:
    runs = Case(When(status="running", then=Value(0)), default=Value(1), output_field=IntegerField())
    loops = LoopRecord.objects.filter(session=session)
    weight = Case(
        When(role="normal", then=Value(0)),
        When(is_selected=True, then=Value(0)),
        When(role__in=("branch", "sub_agent"), then=Value(1)),
        default=Value(2),
        output_field=IntegerField(),
    )
    return loops.order_by(runs, weight, "-pk").values_list("pk", flat=True)[:1]


def has_loop(session: int, pk: int) -> bool:
    """Return whether a loop belongs to a session."""
    return LoopRecord.objects.filter(session=session, pk=pk).exists()


def loop_id(pk: int) -> str:
    """Return the id by which an agent names a loop. Raises LoopRecord.DoesNotExist."""
    return LoopRecord.objects.values_list("loop_id", flat=True).get(pk=pk)


def is_in_project(project: int, pk: int) -> bool:
    """Return whether a session belongs to a project."""
    return Session.objects.filter(project=project, pk=pk).exists()


def _labels(session: Any) -> Iterator[Label]:
    slug = session.project.slug
    for tag in tags_of(session.tags):
        yield Label(tag, links.sessions(slug, tag=tag))
    for name, values in metadata_of(session.metadata).items():
        for value in values:
            yield Label(f"{name} = {value}", links.sessions(slug, **{f"metadata.{name}": value}))
