"""The kind and the runtime of a span, by any of the conventions, whatever its scope."""

import json

import pytest

from recorder.core.formats.otlp.spans.kinds import kind_of, looks_like_a_call
from recorder.core.formats.otlp.spans.runtimes import runtime_of
from tests.recorder.core.formats.otlp.spans.lines import events, span

CHAT = {"gen_ai.operation.name": "chat"}


@pytest.mark.parametrize(
    ("name", "attributes", "kind"),
    [
        ("ai.generateText.doGenerate", {}, "model"),
        ("ai.streamText.doStream", {}, "model"),
        ("my-span", {"ai.operationId": "ai.generateObject.doGenerate"}, "model"),
        ("llm", {"span.type": "llm_request"}, "model"),
        ("tool", {"span.type": "tool"}, "tool"),
        ("prompt", {"span.type": "interaction"}, "agent"),
        ("wait", {"span.type": "tool.blocked_on_user"}, "frame"),
        ("embed", {"span.type": "web"}, "frame"),
        ("chat m", CHAT, "model"),
        ("execute_tool x", {"gen_ai.operation.name": "execute_tool"}, "tool"),
        ("execute_tool (merged)", {"gen_ai.operation.name": "execute_tool"}, "frame"),
        ("a", {"openinference.span.kind": "llm"}, "model"),
        ("a", {"traceloop.span.kind": "workflow"}, "agent"),
        ("tools/call x", {"mcp.method.name": "tools/call"}, "tool"),
        ("tools/list", {"mcp.method.name": "tools/list"}, "frame"),
        # The first row of the table that matches decides: model call, tool, agent, frame.
        ("a", {"gen_ai.operation.name": "invoke_agent", "openinference.span.kind": "LLM"}, "model"),
        ("a", {"gen_ai.operation.name": "execute_tool", "openinference.span.kind": "AGENT"}, "tool"),
        ("a", {"gen_ai.operation.name": "create_agent", "openinference.span.kind": "CHAIN"}, "frame"),
        ("a", {}, "frame"),
    ],
)
@pytest.mark.parametrize("scope", ["x", "aider", "codex-helper", "ai", ""])
def test_the_kind_of_a_span_does_not_depend_on_its_scope(name, attributes, kind, scope):
    assert kind_of(name, scope, attributes) == kind


@pytest.mark.parametrize("scope", ["codex_exec", "codex_cli_rs", "codex-tui", "codex_otel.log_only"])
def test_internal_spans_of_codex_are_noise(scope):
    assert kind_of("session_loop", scope, {}) == "noise"
    assert kind_of("handle_responses", scope, {"gen_ai.usage.input_tokens": 1}) == "model"
    assert kind_of("chat", scope, CHAT) == "model"


@pytest.mark.parametrize(
    ("scope", "name", "runtime"),
    [
        ("ai", "ai.generateText", "vercel-ai"),
        ("aider", "chat", "aider"),
        ("my-tracer", "ai.streamText.doStream", "vercel-ai"),
        ("claude_code", "claude_code.llm_request", "claude-code"),
        ("com.anthropic.claude_code.tracing", "x", "claude-code"),
        ("codex-helper", "chat", "codex-helper"),
        ("codex_exec", "x", "codex"),
        ("codex-tui", "x", "codex"),
        ("strandsort", "x", "strandsort"),
        ("strands.telemetry.tracer", "x", "strands-agents"),
        ("opentelemetry.instrumentation.openai_v2", "x", "openai"),
        ("opentelemetry.instrumentation.openai.v1", "x", "openai"),
        ("autogen-core", "x", "autogen"),
        ("", "x", "otlp"),
    ],
)
def test_the_runtime_is_that_of_a_scope_as_a_whole_or_of_a_name(scope, name, runtime):
    assert runtime_of(scope, name) == runtime


TEXTS = [{"role": "user", "content": "Weather in Oslo?"}], {"role": "assistant", "content": "Rain."}
RESPONSE = {"choices": [{"message": TEXTS[1]}], "usage": {"prompt_tokens": 47, "completion_tokens": 5}}
USAGE = {"gen_ai.usage.input_tokens": 47, "gen_ai.usage.output_tokens": 5}


@pytest.mark.parametrize(
    "sent",
    [
        {
            "mlflow.spanType": '"CHAT_MODEL"',
            "mlflow.spanInputs": json.dumps({"messages": TEXTS[0], "model": "m"}),
            "mlflow.spanOutputs": json.dumps(RESPONSE),
        },
        {
            "braintrust.span_attributes": json.dumps({"type": "llm", "name": "Chat Completion"}),
            "braintrust.input_json": json.dumps(TEXTS[0]),
            "braintrust.output_json": json.dumps([{"message": TEXTS[1]}]),
            "braintrust.metrics": json.dumps({"prompt_tokens": 47, "completion_tokens": 5, "tokens": 52}),
        },
        {
            "lmnr.span.type": "LLM",
            "lmnr.span.input": json.dumps(TEXTS[0]),
            "lmnr.span.output": json.dumps([TEXTS[1]]),
            **USAGE,
        },
        {
            "openinference.span.kind": "LLM",
            "input.value": json.dumps({"messages": TEXTS[0]}),
            "output.value": json.dumps(RESPONSE),
        },
    ],
    ids=["mlflow", "braintrust", "laminar", "openinference"],
)
def test_a_call_under_the_names_of_a_platform_has_its_texts_and_usage(sent):
    found = events([span(sent)])

    texts = [
        block["text"]
        for kind, event in found
        if kind == "MessageEnd"
        for block in blocks(event["message"]["content"])
    ]
    assert texts == ["Weather in Oslo?", "Rain."]
    [end] = [event for kind, event in found if kind == "TurnEnd"]
    assert (end["usage"]["input"], end["usage"]["output"]) == (47, 5)


def blocks(content):
    return [{"text": content}] if isinstance(content, str) else content


def test_messages_in_span_events_of_prompt_and_completion_are_read():
    given = [
        ("gen_ai.content.prompt", {"gen_ai.prompt": json.dumps(TEXTS[0])}),
        ("gen_ai.content.completion", {"gen_ai.completion": json.dumps([TEXTS[1]])}),
    ]
    found = json.dumps(events([span(CHAT | USAGE | {"gen_ai.request.model": "m"}, events=given)]))

    assert "Weather in Oslo?" in found
    assert "Rain." in found


@pytest.mark.parametrize("operation", ["langchain.chat", "batch_completion", "planner.chat", "tool_chat"])
def test_an_operation_that_ends_as_a_call_is_one(operation):
    sent = {"gen_ai.operation.name": operation, "gen_ai.request.model": "m", **USAGE}
    assert [kind for kind, _ in events([span(sent)])].count("TurnEnd") == 1


@pytest.mark.parametrize("operation", ["embeddings", "batch_search", "chat_memory", "fetch_response"])
def test_other_operations_are_none(operation):
    sent = {"gen_ai.operation.name": operation, "gen_ai.request.model": "m", **USAGE}
    assert events([span(sent)]) == []


@pytest.mark.parametrize("operation", ["agent.chat", "workflow_completion"])
def test_the_operation_of_a_run_is_a_frame_around_calls(operation):
    run = {"gen_ai.operation.name": operation, "gen_ai.request.model": "m", **USAGE}
    found = events([span(run, to=3), span(CHAT | USAGE, number=2, parent=1, at=1, to=2)])

    assert [kind for kind, _ in found].count("TurnEnd") == 1


@pytest.mark.parametrize(("attributes", "kind"), [
    ({"gen_ai.operation.name": "run_agent"}, "agent"),
    ({"gen_ai.operation.name": "Invoke Agent"}, "agent"),
    ({"gen_ai.operation.name": "agent.run"}, "agent"),
    ({"gen_ai.operation.name": "call_tool"}, "tool"),
    ({"gen_ai.operation.name": "tool.execution"}, "tool"),
    ({"gen_ai.operation.name": "tool.execute"}, "tool"),  # Mastra
    ({"gen_ai.operation.name": "tool_selection"}, "model"),
    ({"gen_ai.operation.name": "generate"}, "model"),
    ({"gen_ai.operation.name": "create_agent"}, "frame"),
    ({"gen_ai.span.kind": "LLM"}, "model"),  # Alibaba Cloud
    ({"gen_ai.span.kind": "AGENT"}, "agent"),
    ({"gen_ai.span.kind": "EMBEDDING"}, "frame"),
    ({"traceloop.span.kind": "Tool"}, "tool"),
    ({"llm.request.type": "CHAT"}, "model"),
    ({"braintrust.span_attributes": '{"type": "LLM"}'}, "model"),
    ({"gen_ai.tool.name": "read", "gen_ai.tool.call.id": "c1"}, "tool"),
    ({"tool.name": "read", "tool.input": "{}"}, "tool"),
    ({"gen_ai.tool.name": "read", "gen_ai.tool.type": "function"}, "frame"),
    ({"gen_ai.tool.name": "read", "gen_ai.tool.call.id": "c1", "openinference.span.kind": "CHAIN"}, "frame"),
])  # fmt: skip
def test_the_kind_of_a_span(attributes, kind):
    assert span(attributes).digest.kind == kind


@pytest.mark.parametrize("part", ["a", "chat", "completion "])
def test_a_long_operation_is_read_in_linear_time(part):
    assert not looks_like_a_call({"gen_ai.operation.name": part * 100_000}, [])
