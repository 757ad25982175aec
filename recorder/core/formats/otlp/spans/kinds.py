"""The kind of a span: a model call, a tool execution, an agent run, or a frame that is no record."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from recorder.core.formats.base import Fields
from recorder.core.formats.otlp.spans.attributes import decoded_object, first_text
from recorder.core.formats.otlp.spans.names import (
    CONTENT_EVENTS,
    MCP_METHOD,
    MCP_TOOL_CALL,
    MESSAGE_EVENTS,
    MODEL_CALL,
)
from recorder.core.formats.otlp.spans.runtimes import is_codex

Kind = Literal["model", "tool", "agent", "frame", "noise", "note"]  # note: a log record

# Attributes of usage and messages of a call.
_IS_CALL = re.compile(
    r"(?:(?:gen_ai|llm|ai)\.(?:response\.)?)?(?:token_)?usage(?:_?metadata)?(?:\.|$)|llm\.tokens\."
    r"|gen_ai\.(?:input|output)\.messages$|gen_ai\.(?:prompt|completion)(?:\.|$)"
    r"|llm\.(?:input|output)_messages\.|llm\.(?:prompts|completions)\.|llm\.token_count(?:\.|$)"
    r"|ai\.prompt\.messages$|openclaw\.tokens\."
    r"|langfuse\.observation\.usage_details$|response_data$",
    re.IGNORECASE,
)
_ORDER: tuple[Kind, ...] = ("model", "tool", "agent")  # of several kinds the first one counts
_OPERATION = ("gen_ai.operation.name",)
_OPERATIONS: dict[str, Kind] = {
    **dict.fromkeys(("chat", "text_completion", "generate_content", "llm_call", "completion"), "model"),
    # LiteLLM, Semantic Kernel and gateways write the method of the API.
    **dict.fromkeys(
        ("acompletion", "atext_completion", "responses", "aresponses", "anthropic_messages"), "model"
    ),
    **dict.fromkeys(("chat.completions", "chat_completion", "chat_completions", "text.completions"), "model"),
    **dict.fromkeys(("generate", "generate_text", "stream_text"), "model"),
    "tool_selection": "model",  # Mastra: an answer that asks for tools
    **dict.fromkeys(("execute_tool", "tool_call", "tool", "call_tool", "run_tool", "invoke_tool"), "tool"),
    **dict.fromkeys(("tool_execution", "tool_execute", "execute_function", "function_call"), "tool"),
    "tool_use": "tool",
    **dict.fromkeys(
        ("invoke_agent", "run_agent", "agent", "agent_run", "execute_agent", "call_agent"), "agent"
    ),
}
_WORD_ENDS = re.compile(r"[\s.:-]+")
# Parts of the names of operations and kinds that are no model call, although they may name a model and usage:
# those of runs always, the others unless the name ends as that of a call (`langchain.chat`).
_NO_CALLS = re.compile(r"workflow|agent|task|step|cycle|framework", re.IGNORECASE)
_OTHERS = re.compile(
    r"embed|retriev|rerank|guardrail|moderat|speech|transcri|image|memory|plan|tool|fetch|chain|evaluat|event"
    r"|prompt|search|batch",
    re.IGNORECASE,
)
_CALL_ENDS = ("chat", "completion", "completions")
_RUNS = re.compile(r"workflow|agent|task|step|cycle|framework|chain|span", re.IGNORECASE)
_FIGURES = re.compile(r"usage|token|cost", re.IGNORECASE)
_KINDS = (
    *("gen_ai.operation.name", "openinference.span.kind", "langfuse.observation.type", "langsmith.span.kind"),
    *("gen_ai.span.kind", "traceloop.span.kind", "span.type", "llm.request.type", "spring.ai.kind"),
    "ai.operationId",
)
_TOOL = ("gen_ai.tool.name", "tool.name", "mcp.tool.name", "gen_ai.tool_name", "lk.function_tool.name")
_IS_TOOL = re.compile(
    r"(?:gen_ai\.|mcp\.|lk\.function_)?tool(?:\.call|_call)?\.(?:call_?)?(?:id|arg|input|result|output|response)"
)
_GUARDRAILS = frozenset(("guardrail", "apply_guardrail"))
_LANGFUSE: dict[str, Kind] = {"generation": "model", "agent": "agent", "tool": "tool"}
_LANGSMITH: dict[str, Kind] = {"llm": "model", "tool": "tool"}
_LAMINAR: dict[str, Kind] = {"LLM": "model", "TOOL": "tool"}
_MLFLOW: dict[str, Kind] = {"LLM": "model", "CHAT_MODEL": "model", "TOOL": "tool", "AGENT": "agent"}
_BRAINTRUST: dict[str, Kind] = {"llm": "model", "tool": "tool"}
_OPENINFERENCE: dict[str, Kind] = {"LLM": "model", "TOOL": "tool", "AGENT": "agent"}
_CLAUDE: dict[str, Kind] = {"llm_request": "model", "tool": "tool", "interaction": "agent"}
_VERCEL_CALLS = (".doGenerate", ".doStream")
_VERCEL: dict[str, Kind] = {
    "ai.toolCall": "tool",
    **dict.fromkeys(("ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject"), "agent"),
}
_TRACELOOP: dict[str, Kind] = {"workflow": "agent", "agent": "agent", "tool": "tool"}
_REQUESTS: dict[str, Kind] = {"chat": "model", "completion": "model"}  # traceloop, older releases
_ADK, ADK_AGENT = (
    "gcp.vertex.agent",
    "agent_run [",
)  # the name of its agents until release 1.14, as `… [name]`
_PYDANTIC: dict[str, Kind] = {"agent run": "agent", "running tool": "tool"}  # instrumentation 2


def kind_of(name: str, scope: str, attributes: Fields) -> Kind:
    """Return the kind of a span: of those that conventions give it, the first in `_ORDER`."""
    found = set(_kinds(name, scope, attributes))
    if "tool" in found and "(merged" in name:  # Google ADK adds it after parallel calls
        return "frame"
    # Codex sends hundreds of internal spans for a prompt.
    rest: Kind = "noise" if is_codex(scope) else "frame"
    return next((kind for kind in _ORDER if kind in found), rest)


def is_mcp(attributes: Fields) -> bool:
    """Return whether a span is a tool call of the Model Context Protocol, of its client or its server."""
    return any(attributes.get(name) == MCP_TOOL_CALL for name in MCP_METHOD)


def is_guardrail(attributes: Fields) -> bool:
    """Return whether a span checks what a model is sent or answers."""
    return any(first_text(attributes, (name,)).lower() in _GUARDRAILS for name in _KINDS) or first_text(
        attributes, ("logfire.msg_template",)
    ).startswith("Guardrail ")


def looks_like_a_call(attributes: Fields, events: Sequence[tuple[str, Fields]]) -> bool:
    """Return whether a span of no known kind is a model call: it names a model, and has usage or messages."""
    if any(map(_is_no_call, _kind_names(attributes))) or not first_text(attributes, MODEL_CALL):
        return False
    return any(map(_IS_CALL.match, attributes)) or any(
        name in (*CONTENT_EVENTS, *MESSAGE_EVENTS) for name, _ in events
    )


def looks_like_a_tool(attributes: Fields) -> bool:
    """Return whether a span of no kind is a tool call: it has a tool's name, and a call's id or content."""
    if first_text(attributes, (*_KINDS, *MODEL_CALL)) or not first_text(attributes, _TOOL):
        return False
    return any(map(_IS_TOOL.match, attributes))


def may_report_a_run(attributes: Fields) -> bool:
    """Return whether a frame may have the usage or the cost of what it ran: it is a run, or has no kind."""
    return all(map(_RUNS.search, _kind_names(attributes))) and any(map(_FIGURES.search, attributes))


def _kind_names(attributes: Fields) -> Iterator[str]:
    return filter(None, (first_text(attributes, (name,)) for name in _KINDS))


def _is_no_call(kind: str) -> bool:
    is_other = _OTHERS.search(kind) is not None and not kind.lower().endswith(_CALL_ENDS)
    return is_other or _NO_CALLS.search(kind) is not None


def _kinds(name: str, scope: str, attributes: Fields) -> Iterator[Kind | None]:
    """Yield the kind that each convention gives a span; None where it gives none."""
    operation = first_text(attributes, _OPERATION).lower()
    yield _OPERATIONS.get(operation) or _OPERATIONS.get(_WORD_ENDS.sub("_", operation))
    yield _OPENINFERENCE.get(first_text(attributes, ("openinference.span.kind", "gen_ai.span.kind")).upper())
    yield _vercel(name, attributes)
    yield _CLAUDE.get(first_text(attributes, ("span.type",)))
    yield _logfire(first_text(attributes, ("logfire.msg_template",)), scope)
    yield _PYDANTIC.get(name) if scope == "pydantic-ai" else None
    yield _REQUESTS.get(first_text(attributes, ("llm.request.type",)).lower())
    yield _TRACELOOP.get(first_text(attributes, ("traceloop.span.kind",)).lower())
    yield _LANGFUSE.get(first_text(attributes, ("langfuse.observation.type",)).lower())
    yield _LANGSMITH.get(first_text(attributes, ("langsmith.span.kind",)).lower())
    yield "tool" if first_text(attributes, ("spring.ai.kind",)) == "tool_call" else None
    yield "tool" if is_mcp(attributes) else None
    yield _LAMINAR.get(first_text(attributes, ("lmnr.span.type",)).upper())
    yield _MLFLOW.get(first_text(attributes, ("mlflow.spanType",)).strip('"').upper())
    yield _BRAINTRUST.get(
        str(decoded_object(attributes.get("braintrust.span_attributes")).get("type")).lower()
    )
    yield _codex(name, attributes) if is_codex(scope) else None
    yield "agent" if scope == _ADK and name.startswith(ADK_AGENT) else None


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
