"""Who called whom: parents in a session, spawns across sessions, sub-agents of tools, in either order."""

from __future__ import annotations

from recorder.core.content import messages
from recorder.core.content.text import clean
from recorder.core.context import EventContext
from recorder.core.events import SubAgentLinked
from recorder.core.lookups import LAST_RUNS
from recorder.core.records import ChildRef, Json, Loop, Session
from recorder.core.state import State

DEEPEST = 200  # sessions above each other; what goes deeper stays unlinked, as a circle does


def session_id_of(loop_id: str) -> str:
    """Return the session that phi-core reads out of a loop id: what stands before its first dot."""
    return loop_id.split(".", 1)[0]


def find_parent(state: State, loop: Loop, parent_id: str) -> Loop | None:
    """Return the last run of `parent_id` in the loop's own session that it can have come from."""
    for run in reversed(state.runs.get((loop.session, parent_id), [])[-LAST_RUNS:]):
        beside = run.group is not None and run.group is loop.group
        if run is loop or beside or run.status == "pending":
            continue
        compacted = run.parent if run.role == "compaction" else None
        return compacted if compacted is not None and compacted.loop_id == parent_id else run
    return None


def link_parent(context: EventContext, loop: Loop) -> None:
    """Link a loop that starts to the parent it names, or note the session it was spawned from."""
    parent_id, session = loop.parent_loop_id, loop.session
    if parent_id is None:
        return
    loop.parent = find_parent(context.state, loop, parent_id)
    if loop.parent is not None:
        return
    if parent_id == loop.loop_id:
        context.anomaly("self_parent", "The loop names itself as its parent.", session, loop)
        return
    if session_id_of(parent_id) == session.session_id:
        return
    if loop.role == "normal":
        loop.role = "sub_agent"
    if not session.has_spawn:
        _spawned_from(context, session, parent_id)


def adopt_children(context: EventContext, loop: Loop) -> None:
    """Link those that named this loop as their parent before it started."""
    state = context.state
    for child in state.loops_awaiting_parent.pop((loop.session, loop.loop_id), ()):
        if not _descends(loop, child):
            child.parent = loop
            _was_not_foreign(context, child)
            context.touch(child)
        else:
            state.loops_awaiting_parent.setdefault((loop.session, loop.loop_id), []).append(child)
    for session in state.sessions_awaiting_parent.pop(loop.loop_id, ()):
        if session.parent is None and session.parent_loop_id == loop.loop_id:
            _spawn_from(context, session, loop)


def link_refs(context: EventContext, loop: Loop) -> None:
    """Link the tool calls that already named this loop as the one they ran."""
    for ref in context.state.unlinked_refs.pop(loop.loop_id, ()):
        if ref.child is None:
            _link(context, ref, loop)
        if ref.child is None:
            context.state.unlinked_refs.setdefault(loop.loop_id, []).append(ref)


def link_session_refs(context: EventContext, first: Loop) -> None:
    """Link a session whose first loop starts to the tool calls that already named it."""
    for ref in context.state.unlinked_refs_of_session.pop(first.session.session_id, ()):
        if ref.child is None and not ref.child_loop_id:
            _link(context, ref, first)
        elif ref.child is None:
            _fill_spawn(context, first.session, ref)


def add_child_ref(context: EventContext, ref: ChildRef) -> None:
    """Record that a tool call ran a sub-agent's loop, known yet or not."""
    context.add(ref)
    ref.loop.session.sub_agents += 1
    session = context.state.sessions.get(ref.child_session_id)
    child = context.state.latest.get(ref.child_loop_id)
    if session is not None and not ref.child_loop_id:
        child = session.head
    if child is not None:
        _link(context, ref, child)
    elif session is not None:
        _fill_spawn(context, session, ref)


def set_spawn_from_link(context: EventContext, session: Session, said: SubAgentLinked) -> None:
    """Note where a session comes from when only its own side is known."""
    if session.spawn_tool_call_id:
        return
    session.has_spawn = True
    session.parent_session_id = said.parent_session_id or session_id_of(said.parent_loop_id or "")
    session.parent_loop_id = said.parent_loop_id or ""
    session.spawn_tool_call_id = said.tool_call_id or ""
    session.spawn_tool_name = clean(said.tool_name or "", 512)
    _spawn_from(context, session, context.state.latest.get(session.parent_loop_id))


def set_spawn_from_import(context: EventContext, session: Session, said: Json) -> None:
    """Note where an imported session file says that its session comes from."""
    if not isinstance(said, dict) or session.spawn_tool_call_id:
        return
    session.has_spawn = True
    session.parent_session_id = clean(messages.text_field(said, "parent_session_id"), 512)
    session.parent_loop_id = clean(messages.text_field(said, "parent_loop_id"), 512)
    session.spawn_tool_call_id = clean(messages.text_field(said, "tool_call_id"), 512)
    session.spawn_tool_name = clean(messages.text_field(said, "tool_name"), 512)
    _spawn_from(context, session, context.state.latest.get(session.parent_loop_id))


def _link(context: EventContext, ref: ChildRef, child: Loop) -> None:
    if child is ref.loop or (child.session is ref.loop.session and _descends(ref.loop, child)):
        context.anomaly(
            "cycle", "A tool call names a loop above it as its sub-agent.", ref.loop.session, ref.loop
        )
        return
    ref.child = child
    if child.role == "normal":
        child.role = "sub_agent"
    if child.session is not ref.loop.session:
        _fill_spawn(context, child.session, ref)
    elif child.session.head is child:
        child.session.head = ref.loop
    for each in (ref, child, child.session):
        context.touch(each)


def _fill_spawn(context: EventContext, session: Session, ref: ChildRef) -> None:
    if session is ref.loop.session or session.spawn_tool_call_id:
        return
    session.has_spawn = True
    session.parent_session_id = ref.loop.session.session_id
    session.parent_loop_id = ref.loop.loop_id
    session.spawn_tool_call_id = ref.tool_call_id
    session.spawn_tool_name = ref.tool_name
    _spawn_from(context, session, ref.loop)


def _spawned_from(context: EventContext, session: Session, parent_id: str) -> None:
    session.has_spawn = True
    session.parent_session_id, session.parent_loop_id = session_id_of(parent_id), parent_id
    _spawn_from(context, session, context.state.latest.get(parent_id))


def _spawn_from(context: EventContext, session: Session, parent: Loop | None) -> None:
    if parent is not None and not _comes_from(parent.session, session):
        session.parent = parent
    elif session.parent is None and session.parent_loop_id:
        context.state.sessions_awaiting_parent.setdefault(session.parent_loop_id, []).append(session)
    context.touch(session)


def _was_not_foreign(context: EventContext, child: Loop) -> None:
    session = child.session
    if (
        session.has_spawn
        and session.parent_loop_id == child.parent_loop_id
        and not session.spawn_tool_call_id
    ):
        session.has_spawn, session.parent = False, None
        session.parent_session_id = session.parent_loop_id = ""
        context.touch(session)
    if child.role == "sub_agent":
        child.role = "normal"


def _descends(loop: Loop | None, ancestor: Loop) -> bool:
    while loop is not None:
        if loop is ancestor:
            return True
        loop = loop.parent
    return False


def _comes_from(session: Session, ancestor: Session) -> bool:
    for _ in range(DEEPEST):
        if session is ancestor:
            return True
        if session.parent is None:
            return False
        session = session.parent.session
    return True
