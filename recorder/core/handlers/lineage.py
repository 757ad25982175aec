"""Links between loops: parents within a session, spawns across sessions, sub-agents of tool calls.

Either side of a link may be recorded first. The side that comes first is indexed in `State` as waiting for
the other one; the start of a loop takes what waits for it. Invariant: the order of the two lines does not
change the links, and no link closes a cycle: parents form a forest, and so do sessions.

A sub-agent that starts may name only the outermost loop above it. A tool call that names the sub-agent puts
it below the loop of the call, whichever side comes first. One that names the call itself, in its metadata, is
linked to it as soon as both loops are recorded; a call and a sub-agent have one reference. A call that runs
several sub-agents may name an id that they have in common: they name it as their parent, and as their run.

Cost: a link walks up the ancestors of one loop, and of at most `MAX_DEPTH` sessions.
"""

from __future__ import annotations

from dataclasses import replace

from recorder.core.content import messages
from recorder.core.content.text import clean
from recorder.core.context import EventContext
from recorder.core.events import SubAgentLinked
from recorder.core.events.fields import is_id
from recorder.core.handlers import sessions
from recorder.core.lookups import LAST_RUNS
from recorder.core.records import SPAWNED_BY, ChildRef, Json, Loop, Session
from recorder.core.state import State

MAX_DEPTH = 200  # sessions above each other; a deeper one stays unlinked, as one in a cycle does


def session_id_of(loop_id: str) -> str:
    """Return the session id that a loop id contains, as phi-core reads it: the part before its first dot."""
    return loop_id.split(".", 1)[0]


def find_parent(state: State, loop: Loop, parent_id: str) -> Loop | None:
    """Return the last run of `parent_id` in the loop's session that may be its parent.

    A compaction loop has the id of the loop that it compacts: what continues it continues that loop.
    """
    for run in reversed(state.runs.get((loop.session, parent_id), [])[-LAST_RUNS:]):
        is_sibling = run.group is not None and run.group is loop.group
        if run is loop or is_sibling or run.status == "pending":
            continue
        compacted = run.parent if run.role == "compaction" else None
        return compacted if compacted is not None and compacted.loop_id == parent_id else run
    return None


def link_parent(context: EventContext, loop: Loop) -> None:
    """Link a starting loop to the parent that it names, in its own session or in the one that spawned it."""
    parent_id, session = loop.parent_loop_id, loop.session
    if parent_id is None:
        return
    parent = find_parent(context.state, loop, parent_id)
    if parent is not None:
        context.state.put_below(parent, loop)
        return
    if parent_id == loop.loop_id:
        context.anomaly("self_parent", "The loop names itself as its parent.", session, loop)
        return
    if session_id_of(parent_id) == session.session_id:
        return
    if loop.role == "normal":
        loop.role = "sub_agent"
    if not session.has_spawn:
        _set_spawn_from_parent(context, session, parent_id)


def adopt_children(context: EventContext, loop: Loop) -> None:
    """Link the loops and sessions that named this loop as their parent before it started."""
    state = context.state
    for child in state.loops_awaiting_parent.pop((loop.session, loop.loop_id), ()):
        if child.parent is not None:  # a tool call named it meanwhile
            continue
        if not _descends(loop, child):
            _adopt(context, loop, child)
        else:
            state.loops_awaiting_parent.setdefault((loop.session, loop.loop_id), []).append(child)
    for session in state.sessions_awaiting_parent.pop(loop.loop_id, ()):
        if session.parent is None and session.parent_loop_id == loop.loop_id:
            _link_spawn(context, session, loop)


def link_refs(context: EventContext, loop: Loop) -> None:
    """Link the tool calls that named this loop as their sub-agent before it started."""
    for ref in context.state.unlinked_refs.pop(loop.loop_id, ()):
        if ref.child is None:
            _link(context, ref, loop)
        if ref.child is None:
            context.state.unlinked_refs.setdefault(loop.loop_id, []).append(ref)


def link_session_refs(context: EventContext, first: Loop) -> None:
    """Link a session whose first loop starts to the tool calls that named it before."""
    for ref in context.state.unlinked_refs_of_session.pop(first.session.session_id, ()):
        if ref.child is None and not ref.child_loop_id:
            _link(context, ref, first)
        elif ref.child is None:
            _set_spawn_from_ref(context, first.session, ref)


def link_caller(context: EventContext, loop: Loop) -> None:
    """Link a starting sub-agent to the tool call that it names of its parent, if that loop is known."""
    ref = _ref_by_child(loop)
    if ref is not None and not _has_ref(context, ref):
        _add_ref(context, ref, loop)


def link_waiting(context: EventContext, ref: ChildRef) -> None:
    """Link the sub-agents that wait for the id that a call names, which they have in common."""
    waiting = context.state.loops_awaiting_parent.get((ref.loop.session, ref.child_loop_id), [])
    for loop in [each for each in waiting if _is_of_run(each) and each.parent is None]:
        _link_to_run(context, ref, loop)
    waiting[:] = [loop for loop in waiting if loop.parent is None]


def link_run(context: EventContext, loop: Loop) -> None:
    """Link a starting sub-agent to the tool call that runs it with others: its parent is their common id."""
    if loop.parent is not None or not _is_of_run(loop):
        return
    refs = context.state.refs_of_child.get(loop.parent_loop_id or "", ())
    own = [each for each in context.state.refs_of_child.get(loop.loop_id, ()) if each.child is loop]
    if own:  # the loop starts again after it was withdrawn
        _put_below(context, own[0].loop, loop)
    elif ref := next((each for each in refs if each.loop.session is loop.session), None):
        _link_to_run(context, ref, loop)


def _is_of_run(loop: Loop) -> bool:
    """Return whether a sub-agent names as its parent an id that it has in common with others."""
    named = loop.metadata.get(SPAWNED_BY) if isinstance(loop.metadata, dict) else None
    return loop.role == "sub_agent" and isinstance(named, dict) and named.get("run") == loop.parent_loop_id


def spawned_by(metadata: object) -> Json:
    """Return the call that a sub-agent's metadata name, an object; None without one."""
    found: Json = metadata.get(SPAWNED_BY) if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) and is_id(found.get("tool_call_id")) else None


def add_child_ref(context: EventContext, ref: ChildRef) -> None:
    """Add the reference of a tool call to its sub-agent's loop once, and link it if that loop is known."""
    if ref.child_loop_id and _has_ref(context, ref):
        return
    session = context.state.sessions.get(ref.child_session_id)
    child = context.state.latest.get(ref.child_loop_id)
    if session is not None and not ref.child_loop_id:
        child = session.head
    _add_ref(context, ref, child)
    if child is None and session is not None:
        _set_spawn_from_ref(context, session, ref)


def set_spawn_from_link(context: EventContext, session: Session, event: SubAgentLinked) -> None:
    """Set a session's spawn from a link of which only the child is known."""
    if session.spawn_tool_call_id:
        return
    session.has_spawn = True
    session.parent_session_id = event.parent_session_id or session_id_of(event.parent_loop_id or "")
    session.parent_loop_id = event.parent_loop_id or ""
    session.spawn_tool_call_id = event.tool_call_id or ""
    session.spawn_tool_name = clean(event.tool_name or "", 512)
    _link_spawn(context, session, context.state.latest.get(session.parent_loop_id))


def set_spawn_from_import(context: EventContext, session: Session, spawn_ref: Json) -> None:
    """Set a session's spawn from phi-core's `parent_spawn_ref` in an imported session file."""
    if not isinstance(spawn_ref, dict) or session.spawn_tool_call_id:
        return
    session.has_spawn = True
    session.parent_session_id = clean(messages.text_field(spawn_ref, "parent_session_id"), 512)
    session.parent_loop_id = clean(messages.text_field(spawn_ref, "parent_loop_id"), 512)
    session.spawn_tool_call_id = clean(messages.text_field(spawn_ref, "tool_call_id"), 512)
    session.spawn_tool_name = clean(messages.text_field(spawn_ref, "tool_name"), 512)
    _link_spawn(context, session, context.state.latest.get(session.parent_loop_id))


def _ref_by_child(child: Loop) -> ChildRef | None:
    call = spawned_by(child.metadata)
    if not isinstance(call, dict) or child.parent is None or child.role != "sub_agent":
        return None
    return ChildRef(
        loop=child.parent,
        tool_call_id=messages.text_field(call, "tool_call_id"),
        tool_name=clean(messages.text_field(call, "tool_name"), 512),
        child_loop_id=child.loop_id,
        child_session_id=child.session.session_id,
        event=child.start_event,
    )


def _has_ref(context: EventContext, ref: ChildRef) -> bool:
    """Return whether a call has a reference to this sub-agent; what the caller's loop says of it counts."""
    for known in context.state.refs_of_child.get(ref.child_loop_id, ()):
        if known.loop is ref.loop and known.tool_call_id == ref.tool_call_id:
            if ref.child is None and known.child is not None and ref.event != known.child.start_event:
                known.tool_name = ref.tool_name or known.tool_name
                context.touch(known)
            return True
    return False


def _add_ref(context: EventContext, ref: ChildRef, child: Loop | None) -> None:
    ref.loop.session.sub_agents += 1
    if child is not None:
        _link(context, ref, child)
    context.add(ref)  # as linked: else it would be among those that wait for their loops


def _link(context: EventContext, ref: ChildRef, child: Loop) -> None:
    if child is ref.loop or (child.session is ref.loop.session and _descends(ref.loop, child)):
        context.anomaly(
            "cycle", "A tool call names an ancestor of its loop as its sub-agent.", ref.loop.session, ref.loop
        )
        return
    ref.child = child
    is_provisional = _is_provisional(child)
    if child.role == "normal":
        child.role = "sub_agent"
    if child.session is not ref.loop.session:
        _set_spawn_from_ref(context, child.session, ref)
    elif is_provisional or (child.parent is None and child.parent_loop_id is None):
        _put_below(context, ref.loop, child)
    else:
        _describe_by(ref.loop, child)
    for record in (ref, child, child.session):
        context.touch(record)


def _link_to_run(context: EventContext, ref: ChildRef, child: Loop) -> None:
    """Link a sub-agent to the call of `ref`; each of several ones that the call runs has a reference."""
    if ref.child is None or ref.child is child:
        _link(context, ref, child)
    else:
        _add_ref(context, replace(ref, id=0, child=None, child_loop_id=child.loop_id), child)


def _is_provisional(child: Loop) -> bool:
    """Return whether a sub-agent is below the loop that its start named, or waits for that loop."""
    named, session = child.parent_loop_id, child.session
    is_named = child.parent is None or child.parent.loop_id == named
    return child.role == "sub_agent" and is_named and session_id_of(named or "") == session.session_id


def _adopt(context: EventContext, loop: Loop, child: Loop) -> None:
    """Put a loop below the one of its session that it named, as its sub-agent or to continue it."""
    if _is_provisional(child):
        _put_below(context, loop, child)
    else:
        context.state.put_below(loop, child)
        _clear_spawn(context, child)
    if (ref := _ref_by_child(child)) is not None:
        _add_ref(context, ref, child)  # the first one of the call: its loop starts now
    context.touch(child)
    context.touch(child.session)


def _put_below(context: EventContext, caller: Loop, child: Loop) -> None:
    """Put a sub-agent below its caller of the same session."""
    context.state.put_below(caller, child)
    _describe_by(caller, child)


def _describe_by(caller: Loop, child: Loop) -> None:
    """Let the caller of a sub-agent describe their session."""
    session = child.session
    if session.head is child:
        session.head = caller
        sessions.update_status(session)
    if session.created_at == child.started_at and caller.started_at is not None:
        sessions.describe(session, caller.agent_id, caller.started_at)
    if session.title == child.title and caller.title and not session.title_given:
        session.title = caller.title


def _set_spawn_from_ref(context: EventContext, session: Session, ref: ChildRef) -> None:
    if session is ref.loop.session or session.spawn_tool_call_id:
        return
    session.has_spawn = True
    session.parent_session_id = ref.loop.session.session_id
    session.parent_loop_id = ref.loop.loop_id
    session.spawn_tool_call_id = ref.tool_call_id
    session.spawn_tool_name = ref.tool_name
    _link_spawn(context, session, ref.loop)


def _set_spawn_from_parent(context: EventContext, session: Session, parent_id: str) -> None:
    session.has_spawn = True
    session.parent_session_id, session.parent_loop_id = session_id_of(parent_id), parent_id
    _link_spawn(context, session, context.state.latest.get(parent_id))


def _link_spawn(context: EventContext, session: Session, parent: Loop | None) -> None:
    if parent is not None and not _session_descends(parent.session, session):
        context.state.put_below(parent, session)
    elif session.parent is None and session.parent_loop_id:
        context.state.sessions_awaiting_parent.setdefault(session.parent_loop_id, []).append(session)
    context.touch(session)


def _clear_spawn(context: EventContext, child: Loop) -> None:
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


def _session_descends(session: Session, ancestor: Session) -> bool:
    for _ in range(MAX_DEPTH):
        if session is ancestor:
            return True
        if session.parent is None:
            return False
        session = session.parent.session
    return True
