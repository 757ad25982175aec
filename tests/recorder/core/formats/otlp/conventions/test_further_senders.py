"""Calls of senders with names and forms of their own: their texts, figures, tools and ids."""

import json

import pytest

from tests.recorder.core.formats.otlp.spans.lines import events, log, of_type, span

CALL = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
USAGE = {"gen_ai.usage.input_tokens": 30, "gen_ai.usage.output_tokens": 9}
ASKED = [{"role": "user", "content": "Hi"}]


def texts(*items):
    """Return role and texts of each message; thoughts are in brackets, calls are their name."""
    return [
        (event["message"]["role"], [_text(block) for block in event["message"]["content"]])
        for event in of_type(items, "MessageEnd")
    ]


def _text(block):
    forms = {"thinking": lambda: f"({block['thinking']})", "toolCall": lambda: f"{block['name']}()"}
    return forms.get(block["type"], lambda: block["text"])()


def turn(*items):
    [end] = of_type(items, "TurnEnd")
    about = end["message"]
    return about["model"], about["provider"], end["usage"]["input"], end["usage"]["output"]


@pytest.mark.parametrize(("sent", "answer"), [
    # OpenRouter
    (
        {"gen_ai.prompt": json.dumps({"messages": ASKED}),
         "gen_ai.completion": json.dumps({"completion": "Yo", "reasoning": "hm"})},
        ["(hm)", "Yo"],
    ),
    # Cloudflare's gateway
    (
        {"gen_ai.prompt_json": json.dumps(ASKED),
         "gen_ai.completion_json": json.dumps([{"role": "assistant", "content": "Yo"}])},
        ["Yo"],
    ),
    # Pipecat
    ({"input": json.dumps(ASKED), "output": "Yo"}, ["Yo"]),
    # Mastra
    (
        {"gen_ai.prompt": json.dumps({"messages": ASKED}),
         "gen_ai.completion": json.dumps({"text": "", "toolCalls": [
             {"type": "tool-call", "toolCallId": "c1", "toolName": "menu", "input": {"day": "mo"}}]})},
        ["menu()"],
    ),
    # logfire, for a stream too
    (
        {"request_data": json.dumps({"messages": ASKED, "model": "m"}),
         "response_data": json.dumps({"message": {"role": "assistant", "content": "Yo"}})},
        ["Yo"],
    ),
    (
        {"request_data": json.dumps({"messages": ASKED, "model": "m"}),
         "response_data": json.dumps({"combined_chunk_content": "Yo", "chunk_count": 2})},
        ["Yo"],
    ),
    # rig
    (
        {"gen_ai.input.messages": json.dumps(ASKED),
         "gen_ai.output.messages": json.dumps([{"id": "c1", "function": {"name": "menu", "arguments": {}}}])},
        ["menu()"],
    ),
    # traceloop for Anthropic
    (
        {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Hi",
         "gen_ai.completion.0.role": "thinking", "gen_ai.completion.0.content": "hm",
         "gen_ai.completion.1.role": "assistant", "gen_ai.completion.1.content": "Yo"},
        ["(hm)", "Yo"],
    ),
    # programs
    ({"gen_ai.request.prompt": "Hi", "gen_ai.response.text": "Yo"}, ["Yo"]),
    ({"llm.input": "Hi", "llm.output": "Yo"}, ["Yo"]),
], ids=["openrouter", "cloudflare", "pipecat", "mastra", "logfire", "logfire stream", "rig", "traceloop",
        "plain", "llm"])  # fmt: skip
def test_the_texts_of_a_call(sent, answer):
    [user, assistant] = texts(span(CALL | USAGE | sent))
    assert (user, assistant) == (("user", ["Hi"]), ("assistant", answer))


@pytest.mark.parametrize("sent", [
    {"gen_ai.model_name": "m", "gen_ai.provider": "p"},  # Dify
    {"llm.model": "m", "gen_ai.model.provider": "p"},
    {"openclaw.model": "m", "openclaw.provider": "p"},
    {"braintrust.span_attributes": json.dumps({"type": "llm"}),
     "braintrust.metadata": json.dumps({"model": "m", "provider": "p"})},
], ids=["dify", "plain", "openclaw", "braintrust"])  # fmt: skip
def test_model_and_provider_of_a_call(sent):
    assert turn(span(USAGE | sent)) == ("m", "p", 30, 9)


def test_tokens_of_openclaw_are_without_cached_ones():
    tokens = {"input": 10, "output": 5, "cache_read": 90, "cache_write": 0, "total": 105}
    sent = {f"openclaw.tokens.{name}": count for name, count in tokens.items()}
    item = span({"openclaw.model": "m", "openclaw.provider": "p"} | sent, name="openclaw.model.usage")
    assert turn(item) == ("m", "p", 10, 5)


def test_a_function_tool_of_livekit_is_a_tool_call():
    about = {"id": "c1", "name": "lookup", "arguments": '{"q": 1}', "output": "boom", "is_error": True}
    tool = {f"lk.function_tool.{name}": value for name, value in about.items()}
    items = [span(CALL | USAGE, to=1), span(tool, name="function_tool", number=2, at=2)]
    [start], [end] = of_type(items, "ToolExecutionStart"), of_type(items, "ToolExecutionEnd")
    assert (start["tool_call_id"], start["tool_name"], start["args"]) == ("c1", "lookup", {"q": 1})
    assert end["is_error"] is True
    assert end["result"]["content"] == [{"type": "text", "text": "boom"}]


def test_the_answer_of_a_run_of_azures_agents_is_its_one_message():
    content = {"content": {"text": {"value": "Yo", "annotations": []}}, "role": "assistant"}
    sent = [("gen_ai.assistant.message", {"gen_ai.event.content": json.dumps(content)})]
    run = CALL | USAGE | {"gen_ai.operation.name": "process_thread_run"}
    assert texts(span(run, name="process_thread_run", events=sent)) == [("assistant", ["Yo"])]


def test_a_request_without_messages_is_no_text():
    inner = CALL | USAGE | {"gen_ai.prompt": json.dumps(ASKED), "gen_ai.completion": "Yo"}
    outer = {"openinference.span.kind": "LLM", "llm.model_name": "m", "input.value": '{"messages": []}'}
    items = [span(outer, to=3), span(inner, number=2, parent=1, at=1, to=2)]
    assert texts(*items) == [("user", ["Hi"]), ("assistant", ["Yo"])]


def test_a_stream_whose_answer_has_a_span_of_its_own_is_one_call():
    names = {"logfire.msg_template": "x", "request_data": json.dumps({"messages": ASKED})}
    answer = names | {"response_data": json.dumps({"combined_chunk_content": "Yo"})}
    items = [span({}, number=9, to=9), span(CALL | names, parent=9, to=1)]
    items.append(span(CALL | answer, number=2, parent=9, at=2, to=2))
    assert events(items[::-1]) == events(items)
    assert [kind for kind, _ in events(items)].count("TurnEnd") == 1
    assert texts(*items) == [("user", ["Hi"]), ("assistant", ["Yo"])]


def test_messages_that_aws_moves_into_a_record_are_those_of_its_span():
    asked = {"content": {"content": json.dumps([{"text": "Hi"}])}, "role": "user"}
    said = {"content": {"message": json.dumps([{"text": "Yo"}]), "finish_reason": "end_turn"}}
    body = {"input": {"messages": [asked]}, "output": {"messages": [said | {"role": "assistant"}]}}
    record = log("strands.telemetry.tracer", body=body, at=1)
    items = [span(CALL | USAGE), record]
    assert events(items[::-1]) == events(items)
    assert texts(*items) == [("user", ["Hi"]), ("assistant", ["Yo"])]
    [end] = of_type(items, "TurnEnd")
    assert end["message"]["stopReason"] == "end_turn"


@pytest.mark.parametrize("body", [
    {"input": "x"}, {"input": {"messages": "x"}}, {"output": []}, "text", {"input": {}, "output": {}},
])  # fmt: skip
def test_other_records_of_a_span_are_no_messages(body):
    assert texts(span(CALL | USAGE), log("x", body=body, at=1)) == [("assistant", [])]


def test_an_agent_of_an_older_google_adk_is_a_loop():
    usage = {"prompt_token_count": 30, "candidates_token_count": 9, "thoughts_token_count": 4}
    answer = {"usage_metadata": usage | {"total_token_count": 43, "cached_content_token_count": 10}}
    call = USAGE | {"gen_ai.request.model": "m", "gcp.vertex.agent.llm_response": json.dumps(answer)}
    items = [
        span({}, name="invocation", number=8, to=9, scope="gcp.vertex.agent"),
        span({}, name="agent_run [guide]", number=9, parent=8, to=8, scope="gcp.vertex.agent"),
        span(call, name="call_llm", parent=9, to=2, scope="gcp.vertex.agent"),
    ]
    [start], [end] = of_type(items, "AgentStart"), of_type(items, "TurnEnd")
    assert start["agent_id"] == "guide"
    figures = {name: end["usage"][name] for name in ("input", "cache_read", "output", "reasoning")}
    assert figures == {"input": 20, "cache_read": 10, "output": 13, "reasoning": 4}


def test_arguments_of_smolagents_are_those_by_name():
    sent = {"args": [], "sanitize_inputs_outputs": True, "kwargs": {"city": "Oslo"}}
    tool = {"openinference.span.kind": "TOOL", "tool.name": "w", "input.value": json.dumps(sent)}
    items = [span(CALL | USAGE, to=1), span(tool, name="SimpleTool", number=2, at=2)]
    [start] = of_type(items, "ToolExecutionStart")
    assert start["args"] == {"city": "Oslo"}
