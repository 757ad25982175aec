"""What log records of coding agents report: calls, tools and failed requests. Claude Code, Codex, Gemini CLI.

An agent that exports only logs has no other account of its runs; beside spans, failed requests are only here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recorder.core.formats.base import Fields, object_field
from recorder.core.formats.otlp.spans.attributes import (
    decoded,
    decoded_object,
    first,
    first_text,
    identifier,
    integer,
)
from recorder.core.records import Json

if TYPE_CHECKING:
    from recorder.core.formats.otlp.spans.digest import Digest

CALLS = frozenset(("api_request", "codex.sse_event", "gemini_cli.api_response"))
TOOLS = frozenset(("tool_result", "codex.tool_result", "gemini_cli.tool_call"))
FAILURES = frozenset(("api_error", "codex.api_request", "gemini_cli.api_error"))
TEXT = "assistant_response"  # the answer of a call, in a record of its own
_MS = 1_000_000  # nanoseconds
_ERROR = ("error.message", "error", "error_message", "error_type")
_STATUS = ("http.response.status_code", "status_code", "http.status_code")
_LONGEST_MS = 7 * 24 * 3600 * 1000
_MESSAGES = {"input": "gen_ai.input.messages", "output": "gen_ai.output.messages"}


def describe(digest: Digest, attributes: Fields) -> None:
    """Set what a record of a call, a tool or a failed request says about it."""
    if digest.name not in (*CALLS, *TOOLS, *FAILURES, TEXT):
        return
    lasted = _milliseconds(attributes)
    digest.lasted = min(lasted * _MS, digest.end)
    digest.owner = identifier(_owner(attributes))
    if digest.name in TOOLS:
        arguments = decoded_object(first(attributes, ("tool_input", "tool_parameters", "function_args")))
        parameters = decoded_object(attributes.get("tool_parameters"))
        about = decoded_object(attributes.get("metadata"))  # Gemini CLI
        started = first_text(about, ("agentId",))
        if about.get("isError") is True and not digest.error:
            digest.error = f"Exit code {integer(about.get('exitCode')) or 'unknown'}."
        digest.tool = identifier(first_text(attributes, ("tool_name", "function_name")))
        digest.agent = identifier(first_text(arguments, ("agent_name",)))
        named = first_text(arguments, ("subagent_type",)) or first_text(parameters, ("subagent_type",))
        digest.child = identifier(started or named)
    elif digest.name in FAILURES:
        digest.error = _failure(digest.name, attributes)


def messages_in_body(body: Fields) -> Fields:
    """Return the messages of a span in the body of a record, under GenAI's names; {} for another body.

    AWS's distribution of OpenTelemetry moves them there from the span, in two objects.
    """
    lists = {own: object_field(body, side).get("messages") for side, own in _MESSAGES.items()}
    return {own: [*map(_message, each)] for own, each in lists.items() if isinstance(each, list)}


def _message(message: Json) -> Json:
    """Return a message whose content may be an object around it, with blocks as JSON."""
    if not isinstance(message, dict) or not isinstance(about := message.get("content"), dict):
        return message
    content = decoded(first(about, ("content", "message")))
    if content is None:
        return message
    return message | {"content": content, "finish_reason": about.get("finish_reason")}


def _owner(attributes: Fields) -> str:
    """Return the sub-agent that made a call: its name in Claude Code, its id in Gemini CLI; "" for none."""
    source = first_text(attributes, ("query_source",))
    if source.startswith("agent:"):
        return first_text(attributes, ("agent.name",)) or source.rsplit(":", 1)[-1]
    prompt, mark, _ = first_text(attributes, ("prompt_id",)).partition("#")
    return prompt if mark else ""


def _failure(name: str, attributes: Fields) -> str:
    """Return why a request failed; "" for one that did not."""
    status = integer(first(attributes, _STATUS)) or 0
    text = first_text(attributes, _ERROR)
    if name == "codex.api_request" and status < 400 and not text:
        return ""
    return (f"{status} {text}".strip() if status else text or "The request failed.")[:2000]


def _milliseconds(attributes: Fields) -> int:
    value = attributes.get("duration_ms")
    try:
        found = float(value) if isinstance(value, int | float | str) else 0.0
    except ValueError:
        return 0
    return int(found) if 0 <= found <= _LONGEST_MS else 0
