"""Translators of streams, messages, usage and tool calls: one function for each type of event."""

from __future__ import annotations

from collections.abc import Iterator

from recorder.core.events.fields import is_id
from recorder.core.formats.base import Fields, count_field, object_field, parse_arguments, text_field
from recorder.core.formats.cagent.fields import line_time, prompt_content, tool_call_parts, tool_result
from recorder.core.formats.cagent.state import StreamContext

HELD = "loopscope_held"  # field that the recorder adds to a line: the rest of the texts by type of event


def stream_started(context: StreamContext, line: Fields) -> Iterator[Fields]:
    """Start a stream. One of its session that is still open was cut off: the new run has the same loop id."""
    session_id, streams = text_field(line, "session_id"), context.state.streams
    unfinished = next((stream for stream in streams if stream.session_id == session_id), None)
    if unfinished is not None:
        del streams[streams.index(unfinished) :]
    yield from context.begin(
        session_id, text_field(line, "agent_name"), loop_id=unfinished.loop_id if unfinished else ""
    )


def stream_stopped(context: StreamContext, line: Fields) -> Iterator[Fields]:
    """End a stream and the streams inside it; those failed."""
    session_id, streams = text_field(line, "session_id"), context.state.streams
    stopped = next((stream for stream in streams if stream.session_id == session_id), None)
    while stopped is not None and streams:
        stream = streams.pop()
        if stream is not stopped:
            stream.error = stream.error or "The outer stream stopped first."
        yield from stream.end(context.now)
        if stream is stopped:
            return


def toolset_info(context: StreamContext, _line: Fields) -> Iterator[Fields]:
    """Start a turn: cagent sends the list of tools before each iteration."""
    stream = context.stream
    if stream is not None:
        yield from stream.resume()
        yield from stream.begin_turn(context.now)


def agent_choice(context: StreamContext, line: Fields) -> Iterator[Fields]:
    """Add a delta to the answer, or to its thinking."""
    yield from _in_stream(context, line)
    stream = context.stream
    if stream is not None:
        yield from stream.resume()
        kind = "Thinking" if line["type"] == "agent_choice_reasoning" else "Text"
        yield from stream.write(kind, text_field(line, "content"), context.now)


def partial_tool_call(context: StreamContext, line: Fields) -> Iterator[Fields]:
    """Add to a tool call that the model is writing."""
    stream = context.stream
    if stream is not None:
        yield from stream.resume()
        call_id, name, arguments = tool_call_parts(line)
        yield from stream.write_call(call_id, name, arguments, context.now)


def message_added(context: StreamContext, line: Fields) -> Iterator[Fields]:
    """End a message: the result of a tool if one is pending, else the answer."""
    yield from _in_stream(context, line)
    stream = context.stream
    if stream is None:
        return
    if stream.pending_results:
        stream.pending_results -= 1
        return
    yield from stream.resume()
    held = object_field(line, HELD)
    for name in sorted(held):  # the end of the text, which masking held back
        kind = "Thinking" if name == "agent_choice_reasoning" else "Text"
        yield from stream.write(kind, text_field(held, name), context.now)
    yield from stream.complete_message(context.now)


def token_usage(context: StreamContext, line: Fields) -> Iterator[Fields]:
    """Set the usage of the last message and the context size, and bill a compaction that came before it.

    Without a session it is the usage of a RAG index.
    """
    stream, usage = context.stream, object_field(line, "usage")
    if not text_field(line, "session_id"):
        text = f"An index used {count_field(usage, 'input_tokens'):,} tokens."
        yield from context.notice("rag", text, {"usage": usage})
        return
    yield from context.bill_compaction(text_field(line, "session_id"), usage)
    if stream is None:
        return
    last = object_field(usage, "last_message")
    if last:
        if not stream.is_complete and not stream.text:
            yield stream.irregularity("usage_first", "Usage was reported before the message.")
        yield from stream.open_turn(context.now)
        stream.set_usage(last)
    if "context_length" in usage:
        stream.context_tokens = count_field(usage, "context_length")
        yield from stream.finish_compaction(context.now, after=stream.context_tokens)
    yield stream.event(
        "UsageSnapshot",
        session_id=stream.session_id,
        scope="session",
        context_length=stream.context_tokens,
        context_limit=count_field(usage, "context_limit") or None,
        cost=usage.get("cost"),
        currency="USD",
        timestamp=context.now,
    )


def user_message(context: StreamContext, line: Fields) -> Iterator[Fields]:
    """Add a user's message to the open stream; one of another session waits for its stream."""
    session_id, stream = text_field(line, "session_id"), context.stream
    if stream is None or (session_id and session_id != stream.session_id):
        context.state.prompts.append([session_id, prompt_content(line)])
    else:
        yield from stream.prompt(prompt_content(line))


def tool_call(context: StreamContext, line: Fields) -> Iterator[Fields]:
    """Start a tool execution."""
    stream = context.stream
    if stream is None:
        return
    yield from stream.resume()
    yield from stream.open_turn(context.now)
    call_id, name, arguments = tool_call_parts(line)
    stream.calls[call_id] = [name, arguments]
    stream.running.append(call_id)
    yield stream.event(
        "ToolExecutionStart",
        tool_call_id=call_id,
        tool_name=name,
        args=parse_arguments(arguments),
        timestamp=line_time(line),
    )


def tool_call_response(context: StreamContext, line: Fields) -> Iterator[Fields]:
    """End a tool execution. It has no start if the tool was rejected, denied or blocked."""
    stream = context.stream
    if stream is None:
        return
    call_id, name, arguments = tool_call_parts(line)
    if call_id in stream.running:
        stream.running.remove(call_id)
    elif call_id not in stream.held_calls:
        yield stream.irregularity("response_without_call", f"{name} responded without a call.")
    stream.calls[call_id] = [name, arguments]
    stream.pending_results += 1
    yield from stream.open_turn(context.now)
    yield stream.event(
        "ToolExecutionEnd",
        tool_call_id=call_id,
        tool_name=name,
        result=tool_result(line),
        is_error=object_field(line, "result").get("isError") is True,
        timestamp=line_time(line),
    )


def _in_stream(context: StreamContext, line: Fields) -> Iterator[Fields]:
    """Start a stream if none is open, with a notice: stream_started is missing."""
    session_id = line.get("session_id")
    if context.stream is None and is_id(session_id):
        yield from context.begin(session_id, text_field(line, "agent_name"))
        stream = context.state.streams[-1]
        yield stream.irregularity("no_stream_started", "The stream began without stream_started.")
