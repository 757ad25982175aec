"""What is told beside the answer: questions to a person, compactions, errors, notices, names."""

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


def tool_call_confirmation(course: StreamContext, line: Fields) -> Iterator[Fields]:
    """A tool waits for a person; that it runs, or answers without, tells how it was settled."""
    stream = course.stream
    if stream is None:
        return
    call_id, name, given = tool_call_parts(line)
    stream.calls[call_id] = [name, given]
    stream.asked.append(call_id)
    yield stream.event(
        "ApprovalRequested",
        session_id=stream.session_id,
        kind="tool",
        tool_call_id=call_id,
        command=approval_command(name, given),
        risk="destructive" if is_destructive(line) else None,
        options=_ANSWERS,
        timestamp=course.now,
    )


def hook_blocked(course: StreamContext, line: Fields) -> Iterator[Fields]:
    """A hook did not let a tool run."""
    call_id, name, _given = tool_call_parts(line)
    if course.stream is not None:
        course.stream.asked.append(call_id)
    words = f"{name}: {text_field(line, 'message')}"
    yield from course.tell("hook_blocked", words, {"tool_call_id": call_id}, "warning")


def elicitation_request(course: StreamContext, line: Fields) -> Iterator[Fields]:
    """A tool server asks a person for something."""
    asked: Fields = {name: line[name] for name in ("mode", "url", "schema") if line.get(name) is not None}
    given = line.get("elicitation_id")
    key = given if is_id(given) else "elicitation"
    yield from _question(course, key, "elicitation", text_field(line, "message"), asked)


def max_iterations_reached(course: StreamContext, line: Fields) -> Iterator[Fields]:
    """The iterations are used up; a person may allow more."""
    if course.stream is not None:
        course.stream.hit_limit = True
    most = count_field(line, "max_iterations")
    yield from _question(course, "max_iterations", "limit", f"Go on after {most} iterations?", None)


def authorization_event(course: StreamContext, line: Fields) -> Iterator[Fields]:
    """A person answered what a tool server asked."""
    stream = course.stream
    waits = [wait for wait in stream.waits if wait[1] == "elicitation"] if stream else []
    if stream is None or not waits:
        return
    stream.waits.remove(waits[0])
    decision = _DECISIONS.get(text_field(line, "confirmation"))
    yield stream.resolved(waits[0][0], decision, timestamp=course.now)


def session_compaction(course: StreamContext, line: Fields) -> Iterator[Fields]:
    """A compaction starts, or is over: how large the context is then comes with the next usage."""
    stream, session_id = course.stream, line.get("session_id")
    if text_field(line, "status") == "started":
        if stream is None and is_id(session_id):
            yield from course.begin(session_id, text_field(line, "agent_name"), kind="Compaction")
            stream = course.stream
        if stream is not None:
            yield from stream.end_turn(course.now)
            stream.summary = None
            yield stream.event(
                "CompactionStarted",
                estimated_tokens=stream.context,
                message_count=None,
                timestamp=course.now,
            )
    elif stream is not None:
        stream.compaction = {"before": stream.context, "summary": stream.summary}
        if stream.is_pass:
            course.told.streams.remove(stream)
            yield from stream.end(course.now)


def session_summary(course: StreamContext, line: Fields) -> Iterator[Fields]:
    """What a compaction put in place of the messages."""
    session_id = line.get("session_id")
    if course.stream is not None:
        course.stream.summary = text_field(line, "summary")
    elif is_id(session_id):
        yield {"type": "SessionInfo", "session_id": session_id, "summary": text_field(line, "summary")}


def error(course: StreamContext, line: Fields) -> Iterator[Fields]:
    """The run failed; the stream may still stop in order."""
    stream, words = course.stream, text_field(line, "error")
    if stream is None:
        yield from course.tell("error", words, {}, "error")
        return
    stream.error = words or "It failed without a word."
    yield stream.event("ErrorRaised", session_id=stream.session_id, scope="loop", message=stream.error)


def notice(course: StreamContext, line: Fields) -> Iterator[Fields]:
    """Tool servers and indexes get ready."""
    name = text_field(line, "type")
    more = {key: value for key, value in line.items() if key not in _ENVELOPE}
    yield from course.tell(NOTICES[name], name.replace("_", " "), more)


def warning(course: StreamContext, line: Fields) -> Iterator[Fields]:
    """A warning."""
    yield from course.tell("warning", text_field(line, "message"), {}, "warning")


def shell(course: StreamContext, line: Fields) -> Iterator[Fields]:
    """What a command of the person's own printed."""
    yield from course.tell("shell", text_field(line, "output"), {})


def model_fallback(course: StreamContext, line: Fields) -> Iterator[Fields]:
    """A model failed and another one is asked."""
    failed_model, now = text_field(line, "failed_model"), text_field(line, "fallback_model")
    more: Fields = {"attempt": line.get("attempt"), "max_attempts": line.get("max_attempts")}
    words = f"{failed_model} failed, now {now}: {text_field(line, 'reason')}"
    yield from course.tell("model_fallback", words, more, "warning")


def agent_info(course: StreamContext, line: Fields) -> Iterator[Fields]:
    """Which model an agent uses."""
    name, model, stream = text_field(line, "agent_name"), text_field(line, "model"), course.stream
    if model:
        course.told.models[name] = model
        if stream is not None and stream.agent == name:
            stream.model = model
    yield from ()


def team_info(course: StreamContext, line: Fields) -> Iterator[Fields]:
    """Which agents there are."""
    agents = line.get("available_agents")
    course.told.team = agents if isinstance(agents, list) else []
    yield from ()


def agent_switching(course: StreamContext, line: Fields) -> Iterator[Fields]:
    """Another agent takes over."""
    stream, to = course.stream, text_field(line, "to_agent")
    if stream is not None and to:
        yield from course.switch(stream, text_field(line, "from_agent"), to)


def session_title(_course: StreamContext, line: Fields) -> Iterator[Fields]:
    """What the session is called."""
    yield {"type": "SessionInfo", "session_id": line["session_id"], "title": text_field(line, "title")}


def sub_session_completed(_course: StreamContext, line: Fields) -> Iterator[Fields]:
    """A nested stream is over, and its session is told whole: its lines came before."""
    child = object_field(line, "sub_session")
    if is_id(child.get("id")):
        yield {
            "type": "SessionInfo",
            "session_id": child["id"],
            "title": text_field(child, "title") or None,
            "working_dir": text_field(child, "working_dir") or None,
        }


def _question(course: StreamContext, key: str, kind: str, words: str, options: Json) -> Iterator[Fields]:
    stream = course.stream
    if stream is None:
        return
    stream.waits.append([key, kind])
    yield stream.event(
        "ApprovalRequested",
        session_id=stream.session_id,
        approval_id=key,
        kind=kind,
        command=words,
        options=options,
        timestamp=course.now,
    )
