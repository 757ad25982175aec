"""Model calls of traceloop's older releases: no operation name, and messages in indexed attributes."""

import json

import pytest

from tests.recorder.core.formats.otlp.spans.lines import events, of_type, span

SCOPE = "opentelemetry.instrumentation.openai.v1"
CALL = {
    "llm.request.type": "chat",
    "gen_ai.system": "OpenAI",
    "gen_ai.request.model": "gpt-4o",
    "gen_ai.usage.prompt_tokens": 10,
    "gen_ai.usage.completion_tokens": 3,
}
REQUESTED = {
    "gen_ai.prompt.0.role": "system",
    "gen_ai.prompt.0.content": "Be brief.",
    "gen_ai.prompt.1.role": "user",
    "gen_ai.prompt.1.content": json.dumps([{"type": "text", "text": "Weather?"}]),
    "gen_ai.completion.0.role": "assistant",
    "gen_ai.completion.0.finish_reason": "tool_calls",
    "gen_ai.completion.0.tool_calls.0.id": "c1",
    "gen_ai.completion.0.tool_calls.0.name": "get_weather",
    "gen_ai.completion.0.tool_calls.0.arguments": '{"city": "Oslo"}',
}
ANSWERED = {
    **{name: value for name, value in REQUESTED.items() if name.startswith("gen_ai.prompt.")},
    "gen_ai.prompt.2.role": "assistant",
    "gen_ai.prompt.2.tool_calls.0.id": "c1",
    "gen_ai.prompt.2.tool_calls.0.name": "get_weather",
    "gen_ai.prompt.3.role": "tool",
    "gen_ai.prompt.3.content": "rain",
    "gen_ai.prompt.3.tool_call_id": "c1",
    "gen_ai.completion.0.role": "assistant",
    "gen_ai.completion.0.content": "Rain.",
    "gen_ai.completion.0.finish_reason": "stop",
}


def calls():
    """Return two calls of one loop."""
    root = span({"traceloop.span.kind": "workflow"}, name="joke.workflow", number=9, to=9, scope=SCOPE)
    one = span(CALL | REQUESTED, name="openai.chat", number=1, parent=9, at=1, to=2, scope=SCOPE)
    two = span(CALL | ANSWERED, name="openai.chat", number=2, parent=9, at=3, to=4, scope=SCOPE)
    return [root, one, two]


@pytest.mark.parametrize("kind", ["chat", "completion", "unknown"])
def test_a_span_with_a_request_type_is_a_model_call(kind):
    [end] = of_type([span(CALL | {"llm.request.type": kind}, name="openai.chat", scope=SCOPE)], "TurnEnd")

    assert (end["usage"]["input"], end["usage"]["output"]) == (10, 3)
    assert (end["message"]["model"], end["message"]["provider"]) == ("gpt-4o", "openai")


@pytest.mark.parametrize("kind", ["embedding", "rerank"])
def test_other_request_types_are_no_model_calls(kind):
    assert events([span(CALL | {"llm.request.type": kind}, name="openai.embeddings", scope=SCOPE)]) == []


def test_indexed_messages_are_prompt_tool_call_result_and_answer():
    found = events(calls())

    messages = [event["message"] for kind, event in found if kind == "MessageEnd"]
    assert [(each["role"], each["content"][0].get("text")) for each in messages] == [
        ("user", "Weather?"),
        ("assistant", None),
        ("assistant", "Rain."),
    ]
    assert messages[1]["stopReason"] == "tool_calls"
    [start] = [event for kind, event in found if kind == "ToolExecutionStart"]
    assert (start["tool_call_id"], start["tool_name"], start["args"]) == (
        "c1",
        "get_weather",
        {"city": "Oslo"},
    )
    [end] = [event for kind, event in found if kind == "ToolExecutionEnd"]
    assert end["result"]["content"][0]["text"] == "rain"
    [request] = [event for kind, event in found if kind == "TurnRequest"]
    assert request["payload"]["system_prompt"] == "Be brief."
