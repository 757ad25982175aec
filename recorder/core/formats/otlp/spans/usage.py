"""The usage of a model call in our counts: `input` without cached tokens, `output` with reasoning."""

from __future__ import annotations

from recorder.core.formats.base import Fields, object_field
from recorder.core.formats.otlp.spans import names
from recorder.core.formats.otlp.spans.attributes import decoded_object, first_count

EXCLUDES_CACHE = frozenset(("claude-code",))  # emitters whose input figure leaves cached tokens out
EXCLUDES_REASONING = frozenset(("gemini-cli",))  # emitters whose output figure leaves thoughts out


def usage_of(attributes: Fields, runtime: str) -> dict[str, int] | None:
    """Return the usage that a span reports; None if it reports none, which is not 0."""
    total_in = first_count(attributes, names.INPUT_TOKENS)
    output = first_count(attributes, names.OUTPUT_TOKENS)
    if total_in is None and output is None:
        return None
    inner = next((found for name in names.USAGE_JSON if (found := decoded_object(attributes.get(name)))), {})
    of_input = object_field(inner, "input_tokens_details") or object_field(inner, "prompt_tokens_details")
    of_output = object_field(inner, "output_tokens_details") or object_field(
        inner, "completion_tokens_details"
    )
    reads = ("cached_tokens", "cache_read_tokens")
    read = _count(first_count(attributes, names.CACHE_READ), of_input, reads)
    write = _count(first_count(attributes, names.CACHE_WRITE), of_input, ("cache_write_tokens",))
    reasoning = _count(first_count(attributes, names.REASONING), of_output, ("reasoning_tokens",))
    usage: dict[str, int] = {"total_in": total_in or 0, "output": output or 0}
    if read is not None:
        usage["cache_read"] = read
    if write is not None:
        usage["cache_write"] = write
    if reasoning is not None:
        usage["reasoning"] = reasoning
    if hour := first_count(attributes, names.CACHE_WRITE_1H):
        usage["cache_write_1h"] = hour
    if runtime in EXCLUDES_CACHE or usage["total_in"] < (read or 0) + (write or 0):
        usage["total_in"] += (read or 0) + (write or 0)  # a figure below its parts leaves them out after all
    if runtime in EXCLUDES_REASONING:
        usage["output"] += reasoning or 0
    return usage


def merged(outer: dict[str, int] | None, inner: dict[str, int] | None) -> dict[str, int] | None:
    """Return the usage of one call that two spans report: the outer one's, completed by the inner one's."""
    if outer is None or inner is None:
        return inner if outer is None else outer
    if inner.get("total_in") != outer.get("total_in"):
        return outer
    return {name: max(outer.get(name, 0), inner.get(name, 0)) for name in outer | inner}


def native(usage: dict[str, int] | None) -> Fields:
    """Return the usage of an event; without figures all are 0."""
    known = usage or {}
    read, write = known.get("cache_read", 0), known.get("cache_write", 0)
    output = known.get("output", 0)
    return {
        "input": max(0, known.get("total_in", 0) - read - write),
        "output": output,
        "reasoning": min(known.get("reasoning", 0), output),
        "cache_read": read,
        "cache_write": write,
        "cache_write_1h": min(known.get("cache_write_1h", 0), write),
    }


def _count(flat: int | None, details: Fields, keys: tuple[str, ...]) -> int | None:
    return flat if flat is not None else first_count(details, keys)
