"""The kind and the runtime of a span, by any of the conventions, whatever its scope."""

import pytest

from recorder.core.formats.otlp.spans.kinds import kind_of
from recorder.core.formats.otlp.spans.names import runtime_of

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
