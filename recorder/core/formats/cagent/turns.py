"""Streams, what is said in them, and the tools they run."""

from __future__ import annotations

from collections.abc import Iterator

from recorder.core.events.fields import is_id
from recorder.core.formats.base import Fields, count_field, object_field, parse_arguments, text_field
from recorder.core.formats.cagent.fields import line_time, prompt_content, tool_call_parts, tool_result
from recorder.core.formats.cagent.state import StreamContext


def stream_started(course: StreamContext, line: Fields) -> Iterator[Fields]:
    """A stream started; one of that session that never stopped was cut off, and runs once more."""
    session_id, streams = text_field(line, "session_id"), course.told.streams
    again = next((each for each in streams if each.session_id == session_id), None)
    if again is not None:
        del streams[streams.index(again) :]
    yield from course.begin(
        session_id, text_field(line, "agent_name"), loop_id=again.loop_id if again else ""
    )


def stream_stopped(course: StreamContext, line: Fields) -> Iterator[Fields]:
    """A stream stopped, and with it those inside it."""
    session_id, streams = text_field(line, "session_id"), course.told.streams
    mine = next((each for each in streams if each.session_id == session_id), None)
    while mine is not None and streams:
        stream = streams.pop()
        if stream is not mine:
            stream.error = stream.error or "The stream around it stopped first."
        yield from stream.end(course.now)
        if stream is mine:
            return


def toolset_info(course: StreamContext, _line: Fields) -> Iterator[Fields]:
    """The tools of the next iteration are known: it begins."""
    stream = course.stream
    if stream is not None:
        yield from stream.goes_on()
        yield from stream.begin_turn(course.now)


def agent_choice(course: StreamContext, line: Fields) -> Iterator[Fields]:
    """A piece of the answer, or of the thinking before it."""
    yield from _in_stream(course, line)
    stream = course.stream
    if stream is not None:
        yield from stream.goes_on()
        kind = "Thinking" if line["type"] == "agent_choice_reasoning" else "Text"
        yield from stream.write(kind, text_field(line, "content"), course.now)


def partial_tool_call(course: StreamContext, line: Fields) -> Iterator[Fields]:
    """A tool call is being written."""
    stream = course.stream
    if stream is not None:
        yield from stream.goes_on()
        call_id, name, given = tool_call_parts(line)
        yield from stream.call(call_id, name, given, course.now)


def message_added(course: StreamContext, line: Fields) -> Iterator[Fields]:
    """A message is whole: the result of a tool, else the answer."""
    yield from _in_stream(course, line)
    stream = course.stream
    if stream is None:
        return
    if stream.results:
        stream.results -= 1
        return
    yield from stream.goes_on()
    yield from stream.whole(course.now)


def token_usage(course: StreamContext, line: Fields) -> Iterator[Fields]:
    """What the last message used, and how large the context is; without a session it is of a RAG index."""
    stream, usage = course.stream, object_field(line, "usage")
    if not text_field(line, "session_id"):
        words = f"An index used {count_field(usage, 'input_tokens'):,} tokens."
        yield from course.tell("rag", words, {"usage": usage})
        return
    if stream is None:
        return
    last = object_field(usage, "last_message")
    if last:
        if not stream.is_whole and not stream.text:
            yield stream.irregular("usage_first", "Usage was told before anything was said.")
        yield from stream.open_turn(course.now)
        stream.spend(last)
    stream.context = count_field(usage, "context_length")
    yield from stream.compacted(course.now, after=stream.context)
    yield stream.event(
        "UsageSnapshot",
        session_id=stream.session_id,
        scope="session",
        context_length=stream.context,
        context_limit=count_field(usage, "context_limit") or None,
        cost=usage.get("cost"),
        currency="USD",
        timestamp=course.now,
    )


def user_message(course: StreamContext, line: Fields) -> Iterator[Fields]:
    """A person said something, before a stream or in the middle of one."""
    session_id, stream = text_field(line, "session_id"), course.stream
    if stream is None or (session_id and session_id != stream.session_id):
        course.told.prompts.append([session_id, prompt_content(line)])
    else:
        yield from stream.prompt(prompt_content(line))


def tool_call(course: StreamContext, line: Fields) -> Iterator[Fields]:
    """A tool begins to run."""
    stream = course.stream
    if stream is None:
        return
    yield from stream.goes_on()
    yield from stream.open_turn(course.now)
    call_id, name, given = tool_call_parts(line)
    stream.calls[call_id] = [name, given]
    stream.running.append(call_id)
    yield stream.event(
        "ToolExecutionStart",
        tool_call_id=call_id,
        tool_name=name,
        args=parse_arguments(given),
        timestamp=line_time(line),
    )


def tool_call_response(course: StreamContext, line: Fields) -> Iterator[Fields]:
    """A tool returned, or was not allowed to run: then it never began."""
    stream = course.stream
    if stream is None:
        return
    call_id, name, given = tool_call_parts(line)
    if call_id in stream.running:
        stream.running.remove(call_id)
    elif call_id not in stream.asked:
        yield stream.irregular("response_without_call", f"{name} answered without having been called.")
    stream.calls[call_id] = [name, given]
    stream.results += 1
    yield from stream.open_turn(course.now)
    yield stream.event(
        "ToolExecutionEnd",
        tool_call_id=call_id,
        tool_name=name,
        result=tool_result(line),
        is_error=object_field(line, "result").get("isError") is True,
        timestamp=line_time(line),
    )


def _in_stream(course: StreamContext, line: Fields) -> Iterator[Fields]:
    """Make sure that there is a stream: one that was never announced begins with its first word."""
    session_id = line.get("session_id")
    if course.stream is None and is_id(session_id):
        yield from course.begin(session_id, text_field(line, "agent_name"))
        stream = course.told.streams[-1]
        yield stream.irregular("no_stream_started", "The stream began without stream_started.")
