"""Builders of messages and usage in phi-core's form."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from loopscope_client.transport.encoding import text_of

Message = dict[str, object]
COUNTS = ("input", "output", "reasoning", "cache_read", "cache_write", "total_tokens")
# Names of the same counts in the common model APIs.
_ALIASES = {
    "input_tokens": "input",
    "prompt_tokens": "input",
    "output_tokens": "output",
    "completion_tokens": "output",
    "reasoning_tokens": "reasoning",
    "cache_read_input_tokens": "cache_read",
    "cache_creation_input_tokens": "cache_write",
}
_MOST = 2**53 - 1


def user(content: object) -> Message:
    return {"role": "user", "content": blocks(content), "timestamp": _now()}


def tool_result(call: str, name: str, content: list[Message], *, is_error: bool) -> Message:
    return {
        "role": "toolResult",
        "toolCallId": call,
        "toolName": name,
        "content": content,
        "isError": is_error,
        "timestamp": _now(),
    }


def assistant(
    content: list[Message],
    config: Mapping[str, object] | None,
    usage: Mapping[str, int],
    stop: str,
    error: str,
) -> Message:
    message = {
        "role": "assistant",
        "content": content,
        "stopReason": stop,
        "model": text_of((config or {}).get("model", "")),
        "provider": text_of((config or {}).get("provider", "")),
        "usage": dict(usage),
        "timestamp": _now(),
    }
    return message | {"error_message": error} if error else message


def reason_of(reason: object) -> str:
    """Return the name of a reason: an API reports an object with a `type`, or the name alone."""
    found = reason.get("type") if isinstance(reason, Mapping) else getattr(reason, "type", reason)
    return "" if found is None else text_of(found)


def blocks(content: object) -> list[Message]:
    """Return content blocks: text becomes one, a list of blocks stays, anything else is shown as text."""
    if content is None:
        return []
    if isinstance(content, list) and all(isinstance(block, Mapping) and "type" in block for block in content):
        return [dict(block) for block in content]
    return [{"type": "text", "text": text_of(content)}]


def usage_of(fields: Mapping[str, object] | None, counts: Mapping[str, object]) -> dict[str, int]:
    """Return token counts under phi-core's names; a value that is not a count becomes 0."""
    found = dict.fromkeys(COUNTS, 0)
    for name, value in {**(fields if isinstance(fields, Mapping) else {}), **counts}.items():
        count = _ALIASES.get(name, name)
        if count in found and isinstance(value, int | float) and 0 <= value <= _MOST:
            found[count] = int(value)
    return found


def add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for name in COUNTS:
        total[name] = min(_MOST, total[name] + more[name])


def _now() -> int:
    return time.time_ns() // 1_000_000


def last_answer(found: Sequence[Message]) -> str:
    """Return the text of the last answer among messages, empty when there is none."""
    answers = [message for message in found if message.get("role") == "assistant"]
    return text_in(answers[-1].get("content")) if answers else ""


def text_in(content: object) -> str:
    """Return the text of content blocks, a line each."""
    return "\n".join(text_of(block.get("text")) for block in blocks(content) if block.get("type") == "text")
