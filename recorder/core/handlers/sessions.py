"""Sessions: how they come to be, and what their row says of their loops."""

from __future__ import annotations

from datetime import UTC, datetime

from recorder.core.content.text import clean, excerpt
from recorder.core.context import EventContext
from recorder.core.events import SessionInfo
from recorder.core.records import Json, Loop, Session

_ACTIVITY = 300  # characters


def get_or_create(context: EventContext, session_id: str, at: datetime) -> Session:
    """Return the session, made on the spot if nothing is known of it."""
    session = context.state.sessions.get(session_id)
    if session is None:
        session = Session(
            session_id=session_id,
            source=context.source,
            formation=_first_loop(at),
            status="pending",
            created_at=at,
            last_active_at=at,
            last_event_at=context.received_at,
            is_demo=context.is_demo,
        )
        context.add(session)
    context.touch(session)
    return session


def activate(session: Session, agent_id: str, at: datetime) -> None:
    """A loop started in the session; the first one is the session's beginning, as in phi-core."""
    if not session.agent_id:
        session.agent_id = agent_id
        session.created_at = at
        session.formation = _first_loop(at)
    session.last_active_at = at


def count_start(session: Session, loop: Loop) -> None:
    """Count a loop that runs now; branches and main loops also lead their session."""
    session.loops += 1
    session.open_loops += 1
    session.ended_at = None
    if session.head is None or loop.role not in ("judge", "compaction"):
        session.head = loop
    update_status(session)


def count_end(session: Session, at: datetime) -> None:
    """Count a loop that no longer runs."""
    session.open_loops -= 1
    if not session.open_loops:
        session.ended_at = at
    update_status(session)


def update_status(session: Session) -> None:
    """A session runs while any loop runs; afterwards it is what its head became."""
    if session.open_loops:
        session.status, session.outcome = "running", ""
    elif session.head is not None:
        session.status, session.outcome = session.head.status, session.head.outcome


def set_title(context: EventContext, loop: Loop, title: str) -> None:
    """Give a loop, and a session that has none, its title."""
    title = excerpt(title, 200)
    if not title:
        return
    if not loop.title:
        loop.title, loop.title_event = title, context.id
    if not loop.session.title and loop.role in ("normal", "branch", "sub_agent"):
        loop.session.title = title


def set_activity(loop: Loop, text: str, line: str = "") -> None:
    """Say in one line what a loop does, or how it ended: the text, then `line`, which is one already."""
    said = excerpt(text, _ACTIVITY)
    if line:
        said = f"{said} {line}".lstrip()
    loop.activity = said if len(said) <= _ACTIVITY else excerpt(said, _ACTIVITY)
    loop.session.activity = loop.activity


def apply_info(session: Session, said: SessionInfo) -> None:
    """Take over what the runtime says of the session."""
    if title := excerpt(said.title or "", 200):
        session.title, session.title_given = title, True
    if said.summary is not None:
        session.summary = clean(said.summary)
    if said.working_dir is not None:
        session.working_dir = clean(said.working_dir)
    session.scope = said.scope or session.scope
    session.agent_id = said.agent_id or session.agent_id
    session.created_at = said.created_at or session.created_at
    session.last_active_at = said.last_active_at or session.last_active_at
    if said.formation is not None:
        session.formation = said.formation


def _first_loop(at: datetime) -> Json:
    stamp = at.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return {"FirstLoop": {"timestamp": stamp}}
