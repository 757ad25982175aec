"""The kind of a span: a model call, a tool execution, an agent run, or a frame that is no record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from recorder.core.formats.base import Fields
from recorder.core.formats.otlp.spans.attributes import first_text
from recorder.core.formats.otlp.spans.names import is_codex

Kind = Literal["model", "tool", "agent", "frame", "noise", "note"]  # note: a log record

_ORDER: tuple[Kind, ...] = ("model", "tool", "agent")  # of several kinds the first one counts
_OPERATION = ("gen_ai.operation.name",)
_OPERATIONS: dict[str, Kind] = {
    **dict.fromkeys(("chat", "text_completion", "generate_content", "llm_call", "completion"), "model"),
    **dict.fromkeys(("execute_tool", "tool_call"), "tool"),
    "invoke_agent": "agent",
}
_OPENINFERENCE: dict[str, Kind] = {"LLM": "model", "TOOL": "tool", "AGENT": "agent"}
_CLAUDE: dict[str, Kind] = {"llm_request": "model", "tool": "tool", "interaction": "agent"}
_VERCEL_CALLS = (".doGenerate", ".doStream")
_VERCEL: dict[str, Kind] = {
    "ai.toolCall": "tool",
    **dict.fromkeys(("ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject"), "agent"),
}
_TRACELOOP: dict[str, Kind] = {"workflow": "agent", "agent": "agent", "tool": "tool"}
_REQUESTS: dict[str, Kind] = {"chat": "model", "completion": "model"}  # traceloop, older releases
_PYDANTIC: dict[str, Kind] = {"agent run": "agent", "running tool": "tool"}  # instrumentation 2


def kind_of(name: str, scope: str, attributes: Fields) -> Kind:
    """Return the kind of a span: of those that conventions give it, the first in `_ORDER`."""
    found = set(_kinds(name, scope, attributes))
    if "tool" in found and "(merged" in name:  # Google ADK adds it after parallel calls
        return "frame"
    rest: Kind = (
        "noise" if is_codex(scope) else "frame"
    )  # Codex sends hundreds of internal spans for a prompt
    return next((kind for kind in _ORDER if kind in found), rest)


def _kinds(name: str, scope: str, attributes: Fields) -> Iterator[Kind | None]:
    """Yield the kind that each convention gives a span; None where it gives none."""
    yield _OPERATIONS.get(first_text(attributes, _OPERATION))
    yield _OPENINFERENCE.get(first_text(attributes, ("openinference.span.kind",)).upper())
    yield _vercel(name, attributes)
    yield _CLAUDE.get(first_text(attributes, ("span.type",)))
    yield _logfire(first_text(attributes, ("logfire.msg_template",)), scope)
    yield _PYDANTIC.get(name) if scope == "pydantic-ai" else None
    yield _REQUESTS.get(first_text(attributes, ("llm.request.type",)))
    yield _TRACELOOP.get(first_text(attributes, ("traceloop.span.kind",)))
    yield _codex(name, attributes) if is_codex(scope) else None


def _vercel(name: str, attributes: Fields) -> Kind | None:
    operation = first_text(attributes, ("ai.operationId",))
    is_call = operation.endswith(_VERCEL_CALLS) or name.endswith(_VERCEL_CALLS)
    return "model" if is_call else _VERCEL.get(operation or name)


def _logfire(template: str, scope: str) -> Kind | None:
    if scope != "logfire.openai_agents":
        return None
    if template.startswith(("Responses API with", "Chat completion with")):
        return "model"
    if template == "Function: {name}" or template.startswith("Handoff:"):
        return "tool"
    return "agent" if template.startswith("Agent run:") else None


def _codex(name: str, attributes: Fields) -> Kind | None:
    """Return the kind of a span of Codex, whose spans name no operation."""
    if name == "handle_responses" and "gen_ai.usage.input_tokens" in attributes:
        return "model"
    if name == "session_task.turn":
        return "agent"
    is_tool = attributes.get("codex.tool.phase") == "dispatch" and "call_id" in attributes
    return "tool" if is_tool else None
