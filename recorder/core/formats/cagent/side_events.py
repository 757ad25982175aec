"""Translators of approvals, compactions, errors, notices and names: one function for each type of event."""

from __future__ import annotations

from collections.abc import Iterator

from recorder.core.events.fields import is_id
from recorder.core.formats.base import Fields, count_field, object_field, text_field
from recorder.core.formats.cagent.fields import approval_command, is_destructive, tool_call_parts
from recorder.core.formats.cagent.state import StreamContext
from recorder.core.records import Json

NOTICES = {
    "mcp_init_started": "mcp",
    "mcp_init_finished": "mcp",
    "rag_indexing_started": "rag",
    "rag_indexing_progress": "rag",
    "rag_indexing_completed": "rag",
}
_ANSWERS: Json = ["approve", "approve-session", "approve-tool", "reject"]
_DECISIONS = {"accept": "granted", "decline": "denied", "cancel": "cancelled"}
_ENVELOPE = ("type", "agent_name", "timestamp", "session_id")


def tool_call_confirmation(context: StreamContext, line: Fields) -> Iterator[Fields]:
    """Ask for approval of a tool call. The call's start or its response without a start resolves it."""
    stream = context.stream
    if stream is None:
        return
    call_id, name, arguments = tool_call_parts(line)
    stream.calls[call_id] = [name, arguments]
    stream.held_calls.append(call_id)
    yield stream.event(
        "ApprovalRequested",
        session_id=stream.session_id,
        kind="tool",
        tool_call_id=call_id,
        command=approval_command(name, arguments),
        risk="destructive" if is_destructive(line) else None,
        options=_ANSWERS,
        timestamp=context.now,
    )


def hook_blocked(context: StreamContext, line: Fields) -> Iterator[Fields]:
    """Add a notice that a hook blocked a tool call."""
    call_id, name, _arguments = tool_call_parts(line)
    if context.stream is not None:
        context.stream.held_calls.append(call_id)
    text = f"{name}: {text_field(line, 'message')}"
    yield from context.notice("hook_blocked", text, {"tool_call_id": call_id}, "warning")


def elicitation_request(context: StreamContext, line: Fields) -> Iterator[Fields]:
    """Ask for the input that an MCP server requests."""
    options: Fields = {name: line[name] for name in ("mode", "url", "schema") if line.get(name) is not None}
    elicitation_id = line.get("elicitation_id")
    key = elicitation_id if is_id(elicitation_id) else "elicitation"
    yield from _question(context, key, "elicitation", text_field(line, "message"), options)


def max_iterations_reached(context: StreamContext, line: Fields) -> Iterator[Fields]:
    """Ask whether to continue beyond the iteration limit."""
    if context.stream is not None:
        context.stream.hit_limit = True
    limit = count_field(line, "max_iterations")
    yield from _question(context, "max_iterations", "limit", f"Go on after {limit} iterations?", None)


def authorization_event(context: StreamContext, line: Fields) -> Iterator[Fields]:
    """Resolve the oldest open elicitation. The event does not name it."""
    stream = context.stream
    waits = [wait for wait in stream.open_questions if wait[1] == "elicitation"] if stream else []
    if stream is None or not waits:
        return
    stream.open_questions.remove(waits[0])
    decision = _DECISIONS.get(text_field(line, "confirmation"))
    yield stream.approval_resolved(waits[0][0], decision, timestamp=context.now)


def session_compaction(context: StreamContext, line: Fields) -> Iterator[Fields]:
    """Start or complete a compaction. Its cost and the size afterwards come with the next usage."""
    stream, session_id = context.stream, line.get("session_id")
    if text_field(line, "status") == "started":
        if stream is None and is_id(session_id):
            yield from context.begin(session_id, text_field(line, "agent_name"), kind="Compaction")
            stream = context.stream
        if stream is not None:
            yield from stream.end_turn(context.now)
            stream.summary, stream.compaction_at = None, context.now
            yield stream.event(
                "CompactionStarted",
                estimated_tokens=stream.context_tokens,
                message_count=None,
                timestamp=context.now,
            )
    elif stream is not None:
        stream.compaction = {"before": stream.context_tokens, "summary": stream.summary}
        context.note_compaction(stream)
        if stream.is_compaction:
            context.state.streams.remove(stream)
            yield from stream.end(context.now)


def session_summary(context: StreamContext, line: Fields) -> Iterator[Fields]:
    """Set the summary that replaces the messages of a compaction."""
    session_id = line.get("session_id")
    if context.stream is not None:
        context.stream.summary = text_field(line, "summary")
    elif is_id(session_id):
        yield {"type": "SessionInfo", "session_id": session_id, "summary": text_field(line, "summary")}


def error(context: StreamContext, line: Fields) -> Iterator[Fields]:
    """Record an error of the run. The stream is then expected to stop."""
    stream, message = context.stream, text_field(line, "error")
    if stream is None:
        yield from context.notice("error", message, {}, "error")
        return
    stream.error = message or "Failed without a message."
    yield stream.event("ErrorRaised", session_id=stream.session_id, scope="loop", message=stream.error)


def notice(context: StreamContext, line: Fields) -> Iterator[Fields]:
    """Add a notice of the progress of MCP servers and RAG indexes."""
    name = text_field(line, "type")
    more = {key: value for key, value in line.items() if key not in _ENVELOPE}
    yield from context.notice(NOTICES[name], name.replace("_", " "), more)


def warning(context: StreamContext, line: Fields) -> Iterator[Fields]:
    """Add a notice with a warning."""
    yield from context.notice("warning", text_field(line, "message"), {}, "warning")


def shell(context: StreamContext, line: Fields) -> Iterator[Fields]:
    """Add a notice with the output of a user's shell command."""
    yield from context.notice("shell", text_field(line, "output"), {})


def model_fallback(context: StreamContext, line: Fields) -> Iterator[Fields]:
    """Add a notice that another model answers after one failed."""
    failed_model, fallback = text_field(line, "failed_model"), text_field(line, "fallback_model")
    more: Fields = {"attempt": line.get("attempt"), "max_attempts": line.get("max_attempts")}
    text = f"{failed_model} failed, now {fallback}: {text_field(line, 'reason')}"
    yield from context.notice("model_fallback", text, more, "warning")


def agent_info(context: StreamContext, line: Fields) -> Iterator[Fields]:
    """Note the model of an agent; of the agent that is asked, a fallback answers the open turn."""
    name, model, stream = text_field(line, "agent_name"), text_field(line, "model"), context.stream
    if model:
        context.state.models[name] = model
        if stream is not None and stream.agent == name:
            stream.model = model
            if stream.in_turn:
                stream.turn_model = model
    yield from ()


def team_info(context: StreamContext, line: Fields) -> Iterator[Fields]:
    """Note the agents of the team."""
    agents = line.get("available_agents")
    context.state.team = agents if isinstance(agents, list) else []
    yield from ()


def agent_switching(context: StreamContext, line: Fields) -> Iterator[Fields]:
    """Switch the agent of the open stream."""
    stream, to = context.stream, text_field(line, "to_agent")
    if stream is not None and to:
        yield from context.switch(stream, text_field(line, "from_agent"), to)


def session_title(_context: StreamContext, line: Fields) -> Iterator[Fields]:
    """Set the title of a session."""
    yield {"type": "SessionInfo", "session_id": line["session_id"], "title": text_field(line, "title")}


def sub_session_completed(_context: StreamContext, line: Fields) -> Iterator[Fields]:
    """Set title and working directory of a sub-agent's session; its other content was streamed before."""
    child = object_field(line, "sub_session")
    if is_id(child.get("id")):
        yield {
            "type": "SessionInfo",
            "session_id": child["id"],
            "title": text_field(child, "title") or None,
            "working_dir": text_field(child, "working_dir") or None,
        }


def _question(context: StreamContext, key: str, kind: str, text: str, options: Json) -> Iterator[Fields]:
    stream = context.stream
    if stream is None:
        return
    stream.open_questions.append([key, kind])
    yield stream.event(
        "ApprovalRequested",
        session_id=stream.session_id,
        approval_id=key,
        kind=kind,
        command=text,
        options=options,
        timestamp=context.now,
    )
