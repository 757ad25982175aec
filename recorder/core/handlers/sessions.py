"""Sessions: creation, and the figures that they derive from their loops."""

from __future__ import annotations

from datetime import UTC, datetime

from recorder.core.changes import Change
from recorder.core.content import labels
from recorder.core.content.text import clean, excerpt
from recorder.core.context import EventContext
from recorder.core.event_time import happened_at, happened_without_time
from recorder.core.events import SessionInfo
from recorder.core.records import Json, Loop, Session
from recorder.core.sources import MERGED, OTLP
from recorder.core.state import State

_ACTIVITY = 300  # characters
# Sources whose loops may be recorded in another order than they started.
_UNORDERED = (OTLP, *MERGED, "pi")


def get_or_create(context: EventContext, session_id: str, at: datetime) -> Session:
    """Return a session; create it if it is unknown. `at` is its provisional start."""
    session = context.state.sessions.get(session_id)
    if session is None:
        session = Session(
            session_id=session_id,
            source=context.source,
            formation=_first_loop(at),
            status="pending",
            created_at=at,
            last_active_at=at,
            last_event_at=happened_at(at, context.received_at),
            last_received_at=context.received_at,
            is_demo=context.is_demo,
        )
        context.add(session)
    context.touch(session)
    return session


def activate(context: EventContext, session: Session, agent_id: str, at: datetime) -> None:
    """Note a loop's start; the first one sets the session's agent and start time, as in phi-core.

    It also replaces the time of the lines before it, of which some have no time but that of their arrival.
    """
    if not session.loops:
        session.last_event_at = happened_at(at, context.received_at)
    if session.source == OTLP and context.source in MERGED:
        session.source = context.source
    is_unordered = session.source in _UNORDERED
    if not session.agent_id or (is_unordered and at < session.created_at):
        describe(session, agent_id, at)
        if is_unordered and not session.title_given:
            session.title = ""
    session.last_active_at = max(at, session.last_active_at) if is_unordered else at


def describe(session: Session, agent_id: str, at: datetime) -> None:
    """Set the agent and the start of a session to those of the loop that describes it."""
    session.agent_id = agent_id
    session.created_at = at
    session.formation = _first_loop(at)


def note_event(session: Session, at: datetime | None, received_at: datetime) -> None:
    """Note that a line of the session arrived, with the time on the wire if it has one.

    Neither time ever goes back. After the first start of a loop, the time of a line without one follows from
    the line before it: an import of an old stream stays old.
    """
    if at is not None or not session.loops:
        happened = happened_at(at, received_at)
    else:
        happened = happened_without_time(session.last_event_at, session.last_received_at, received_at)
    session.last_event_at = max(session.last_event_at, happened)
    session.last_received_at = max(session.last_received_at, received_at)


def count_start(session: Session, loop: Loop) -> None:
    """Count a loop that started; unless it is a judge or a compaction it becomes the session's head."""
    session.loops += 1
    session.open_loops += 1
    head = session.head
    is_below = loop.role == "sub_agent" and (loop.parent or (head is not None and head.role == "normal"))
    is_root = loop.role not in ("judge", "compaction") and not is_below
    is_first_root = loop.role == "normal" and head is not None and head.role == "sub_agent"
    if head is None or (is_root and (is_first_root or _is_later(loop, head))):
        session.head = loop
    update_status(session)


def _describes(loop: Loop) -> bool:
    """Return whether a session is titled by a loop though another one was recorded before: see `activate`."""
    session = loop.session
    is_first = loop.started_at is not None and loop.started_at <= session.created_at
    return session.source in _UNORDERED and is_first and not session.title_given


def _is_later(loop: Loop, head: Loop) -> bool:
    """Return whether a loop that started is later than the head; spans arrive in any order."""
    if loop.session.source not in _UNORDERED or head is loop:
        return True
    return (loop.started_at, loop.loop_id) >= (head.started_at or loop.started_at, head.loop_id)


def count_end(session: Session) -> None:
    """Count a loop that ended."""
    session.open_loops -= 1
    update_status(session)


def update_ends(state: State, changes: dict[Change, Change]) -> None:
    """Set the end of each changed session: the latest end of its loops, none while one of them runs."""
    for session in [record for record in changes if type(record) is Session]:
        session.ended_at = None if session.open_loops else state.latest_end(session)


def update_status(session: Session) -> None:
    """Set status and outcome: running while any loop runs, afterwards those of the session's head."""
    if session.open_loops:
        session.status, session.outcome = "running", ""
    elif session.head is not None:
        session.status, session.outcome = session.head.status, session.head.outcome
        session.activity = session.head.activity


def set_title(context: EventContext, loop: Loop, title: str) -> None:
    """Set the title of a loop, and of its session, unless they have one; at most 200 characters."""
    title = excerpt(title, 200)
    if not title:
        return
    if not loop.title:
        loop.title, loop.title_event = title, context.id
        if _describes(loop):
            loop.session.title = ""
    if not loop.session.title and loop.role in ("normal", "branch", "sub_agent"):
        loop.session.title = title


def set_activity(loop: Loop, text: str, detail: str = "") -> None:
    """Set the activity of a loop and its session to `text` and the one-line `detail`, cut to 300.

    A session without an open loop shows the activity of its head, as it shows the outcome of its head.
    """
    activity = excerpt(text, _ACTIVITY)
    if detail:
        activity = f"{activity} {detail}".lstrip()
    loop.activity = activity if len(activity) <= _ACTIVITY else excerpt(activity, _ACTIVITY)
    session, head = loop.session, loop.session.head
    session.activity = loop.activity if head is None or session.open_loops else head.activity


def apply_info(session: Session, event: SessionInfo) -> None:
    """Apply what the runtime reports about a session; fields that it leaves out stay."""
    if title := excerpt(event.title or "", 200):
        session.title, session.title_given = title, True
    if event.summary is not None:
        session.summary = clean(event.summary)
    if event.working_dir is not None:
        session.working_dir = clean(event.working_dir)
    session.scope = event.scope or session.scope
    session.agent_id = event.agent_id or session.agent_id
    session.created_at = event.created_at or session.created_at
    session.last_active_at = event.last_active_at or session.last_active_at
    if event.formation is not None:
        session.formation = event.formation


def _first_loop(at: datetime) -> Json:
    stamp = at.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return {"FirstLoop": {"timestamp": stamp}}


def set_tags(context: EventContext, session: Session, tags: object) -> None:
    """Replace the tags of a session by those reported; None leaves them."""
    if tags is None:
        return
    found = labels.reported_tags(tags)
    if found != (session.tags or []):
        session.tags = [*found] or None
        context.change_labels(session)


def add_metadata(context: EventContext, session: Session, metadata: object) -> None:
    """Add the metadata of a loop to those of its session; a name keeps all values that it had."""
    if not isinstance(metadata, dict) or not metadata:
        return
    had = labels.metadata_of(session.metadata)
    new = labels.merged(had, metadata)
    if new != had:
        session.metadata = {name: [*values] for name, values in new.items()}
        context.change_labels(session)
