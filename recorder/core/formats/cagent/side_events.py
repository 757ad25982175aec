"""What is told beside the answer: questions to a person, compactions, errors, notices, names."""

from __future__ import annotations

from collections.abc import Iterator

from recorder.core.events.fields import is_id
from recorder.core.formats.base import Fields, count, inside, text
from recorder.core.formats.cagent.fields import call, command, is_destructive
from recorder.core.formats.cagent.state import Course
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


def confirms(course: Course, line: Fields) -> Iterator[Fields]:
    """A tool waits for a person; that it runs, or answers without, tells how it was settled."""
    stream = course.stream
    if stream is None:
        return
    call_id, name, given = call(line)
    stream.calls[call_id] = [name, given]
    stream.asked.append(call_id)
    yield stream.event(
        "ApprovalRequested",
        session_id=stream.session_id,
        kind="tool",
        tool_call_id=call_id,
        command=command(name, given),
        risk="destructive" if is_destructive(line) else None,
        options=_ANSWERS,
        timestamp=course.now,
    )


def blocked(course: Course, line: Fields) -> Iterator[Fields]:
    """A hook did not let a tool run."""
    call_id, name, _given = call(line)
    if course.stream is not None:
        course.stream.asked.append(call_id)
    words = f"{name}: {text(line, 'message')}"
    yield from course.tell("hook_blocked", words, {"tool_call_id": call_id}, "warning")


def elicits(course: Course, line: Fields) -> Iterator[Fields]:
    """A tool server asks a person for something."""
    asked: Fields = {name: line[name] for name in ("mode", "url", "schema") if line.get(name) is not None}
    given = line.get("elicitation_id")
    key = given if is_id(given) else "elicitation"
    yield from _question(course, key, "elicitation", text(line, "message"), asked)


def at_limit(course: Course, line: Fields) -> Iterator[Fields]:
    """The iterations are used up; a person may allow more."""
    if course.stream is not None:
        course.stream.hit_limit = True
    most = count(line, "max_iterations")
    yield from _question(course, "max_iterations", "limit", f"Go on after {most} iterations?", None)


def authorised(course: Course, line: Fields) -> Iterator[Fields]:
    """A person answered what a tool server asked."""
    stream = course.stream
    waits = [wait for wait in stream.waits if wait[1] == "elicitation"] if stream else []
    if stream is None or not waits:
        return
    stream.waits.remove(waits[0])
    decision = _DECISIONS.get(text(line, "confirmation"))
    yield stream.resolved(waits[0][0], decision, timestamp=course.now)


def compacts(course: Course, line: Fields) -> Iterator[Fields]:
    """A compaction starts, or is over: how large the context is then comes with the next usage."""
    stream, session_id = course.stream, line.get("session_id")
    if text(line, "status") == "started":
        if stream is None and is_id(session_id):
            yield from course.begin(session_id, text(line, "agent_name"), kind="Compaction")
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


def summarised(course: Course, line: Fields) -> Iterator[Fields]:
    """What a compaction put in place of the messages."""
    session_id = line.get("session_id")
    if course.stream is not None:
        course.stream.summary = text(line, "summary")
    elif is_id(session_id):
        yield {"type": "SessionInfo", "session_id": session_id, "summary": text(line, "summary")}


def failed(course: Course, line: Fields) -> Iterator[Fields]:
    """The run failed; the stream may still stop in order."""
    stream, words = course.stream, text(line, "error")
    if stream is None:
        yield from course.tell("error", words, {}, "error")
        return
    stream.error = words or "It failed without a word."
    yield stream.event("ErrorRaised", session_id=stream.session_id, scope="loop", message=stream.error)


def noted(course: Course, line: Fields) -> Iterator[Fields]:
    """Tool servers and indexes get ready."""
    name = text(line, "type")
    more = {key: value for key, value in line.items() if key not in _ENVELOPE}
    yield from course.tell(NOTICES[name], name.replace("_", " "), more)


def warned(course: Course, line: Fields) -> Iterator[Fields]:
    """A warning."""
    yield from course.tell("warning", text(line, "message"), {}, "warning")


def shell(course: Course, line: Fields) -> Iterator[Fields]:
    """What a command of the person's own printed."""
    yield from course.tell("shell", text(line, "output"), {})


def fell_back(course: Course, line: Fields) -> Iterator[Fields]:
    """A model failed and another one is asked."""
    failed_model, now = text(line, "failed_model"), text(line, "fallback_model")
    more: Fields = {"attempt": line.get("attempt"), "max_attempts": line.get("max_attempts")}
    words = f"{failed_model} failed, now {now}: {text(line, 'reason')}"
    yield from course.tell("model_fallback", words, more, "warning")


def agent(course: Course, line: Fields) -> Iterator[Fields]:
    """Which model an agent uses."""
    name, model, stream = text(line, "agent_name"), text(line, "model"), course.stream
    if model:
        course.told.models[name] = model
        if stream is not None and stream.agent == name:
            stream.model = model
    yield from ()


def team(course: Course, line: Fields) -> Iterator[Fields]:
    """Which agents there are."""
    agents = line.get("available_agents")
    course.told.team = agents if isinstance(agents, list) else []
    yield from ()


def switched(course: Course, line: Fields) -> Iterator[Fields]:
    """Another agent takes over."""
    stream, to = course.stream, text(line, "to_agent")
    if stream is not None and to:
        yield from course.switch(stream, text(line, "from_agent"), to)


def titled(_course: Course, line: Fields) -> Iterator[Fields]:
    """What the session is called."""
    yield {"type": "SessionInfo", "session_id": line["session_id"], "title": text(line, "title")}


def sub_session(_course: Course, line: Fields) -> Iterator[Fields]:
    """A nested stream is over, and its session is told whole: its lines came before."""
    child = inside(line, "sub_session")
    if is_id(child.get("id")):
        yield {
            "type": "SessionInfo",
            "session_id": child["id"],
            "title": text(child, "title") or None,
            "working_dir": text(child, "working_dir") or None,
        }


def _question(course: Course, key: str, kind: str, words: str, options: Json) -> Iterator[Fields]:
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
