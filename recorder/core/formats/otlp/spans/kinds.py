"""The kind of a span: a model call, a tool execution, an agent run, or a frame that is no record."""

from __future__ import annotations

from typing import Literal

from recorder.core.formats.base import Fields
from recorder.core.formats.otlp.spans.attributes import first_text

Kind = Literal["model", "tool", "agent", "frame", "noise", "note"]  # note: a log record

_MODEL = frozenset(("chat", "text_completion", "generate_content", "llm_call", "completion"))
_TOOL = frozenset(("execute_tool", "tool_call"))
_FRAMES = frozenset(
    ("invoke_workflow", "execute_task", "schedule_tool_calls", "execute_event_loop_cycle", "create_agent")
)
_OPENINFERENCE: dict[str, Kind] = {"LLM": "model", "TOOL": "tool", "AGENT": "agent"}
_CLAUDE: dict[str, Kind] = {"llm_request": "model", "tool": "tool", "interaction": "agent"}
_VERCEL_AGENTS = frozenset(("ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject"))
_TRACELOOP: dict[str, Kind] = {"workflow": "agent", "agent": "agent", "tool": "tool"}
_CODEX: dict[str, Kind] = {"handle_responses": "model", "session_task.turn": "agent"}


def kind_of(name: str, scope: str, attributes: Fields) -> Kind:  # noqa: C901, PLR0911  one arm a convention
    """Return the kind of a span, by the first convention that matches."""
    if scope.startswith("codex"):
        return _codex(name, attributes)
    operation = first_text(attributes, ("gen_ai.operation.name",))
    if operation in _MODEL:
        return "model"
    if operation in _TOOL:
        return "frame" if "(merged" in name else "tool"
    if operation == "invoke_agent":
        return "agent"
    if operation in _FRAMES:
        return "frame"
    of_inference = attributes.get("openinference.span.kind")
    if isinstance(of_inference, str):
        return _OPENINFERENCE.get(of_inference.upper(), "frame")
    vercel = str(attributes.get("ai.operationId") or "")
    if vercel.endswith((".doGenerate", ".doStream")):
        return "model"
    if vercel == "ai.toolCall":
        return "tool"
    if vercel in _VERCEL_AGENTS:
        return "agent"
    if scope.startswith("com.anthropic.claude_code"):
        return _CLAUDE.get(str(attributes.get("span.type")), "frame")
    template = attributes.get("logfire.msg_template")
    if isinstance(template, str):
        return _logfire(template, scope)
    if name in ("agent run", "running tool") and scope == "pydantic-ai":  # instrumentation 2
        return "agent" if name == "agent run" else "tool"
    return _TRACELOOP.get(str(attributes.get("traceloop.span.kind")), "frame")


def _logfire(template: str, scope: str) -> Kind:
    if scope == "logfire.openai_agents":
        if template.startswith(("Responses API with", "Chat completion with")):
            return "model"
        if template == "Function: {name}" or template.startswith("Handoff:"):
            return "tool"
        return "agent" if template.startswith("Agent run:") else "frame"
    return "frame"


def _codex(name: str, attributes: Fields) -> Kind:
    """Return the kind of a span of Codex, which sends hundreds of internal spans for a prompt."""
    if name == "handle_responses" and "gen_ai.usage.input_tokens" in attributes:
        return "model"
    if name == "session_task.turn":
        return "agent"
    is_tool = attributes.get("codex.tool.phase") == "dispatch" and "call_id" in attributes
    return "tool" if is_tool else "noise"
