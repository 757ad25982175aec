"""Usage and cost of a model call in our counts: `input` without cached tokens, `output` with reasoning."""

from __future__ import annotations

from recorder.core.formats.base import Fields, object_field
from recorder.core.formats.otlp.spans import names
from recorder.core.formats.otlp.spans.attributes import decoded_object, first_count, integer
from recorder.core.records import Json

EXCLUDES_CACHE = frozenset(("claude-code",))  # emitters whose input figure leaves cached tokens out
WITHOUT_CACHE = "without_cache"  # of a usage: 1 if its input left cached tokens out against the convention
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
    cached = (read or 0) + (write or 0)
    if runtime in EXCLUDES_CACHE:
        usage["total_in"] += cached
    elif usage["total_in"] < cached:  # a figure below its parts leaves them out after all
        usage["total_in"] += cached
        usage[WITHOUT_CACHE] = 1
    if runtime in EXCLUDES_REASONING:
        usage["output"] += reasoning or 0
    return usage


def merged(outer: dict[str, int] | None, inner: dict[str, int] | None) -> dict[str, int] | None:
    """Return the usage of one call that two spans report: the outer one's, completed by the inner one's."""
    if outer is None or inner is None:
        return inner if outer is None else outer
    if inner.get("total_in") != outer.get("total_in"):
        return outer
    found = {name: max(outer.get(name, 0), inner.get(name, 0)) for name in outer | inner}
    if WITHOUT_CACHE not in outer:
        found.pop(WITHOUT_CACHE, None)
    if abs(outer["output"] - inner["output"]) == 1:  # one adds the 1 of Anthropic's first stream event
        found["output"] = min(outer["output"], inner["output"])
    return found


def record_cost_nano(attributes: Fields) -> int:
    """Return the cost that a log record of Claude Code reports in nano-dollars; -1 if there is none."""
    micros = integer(attributes.get("cost_usd_micros"))
    return micros * 1000 if micros is not None and micros >= 0 else cost_nano(attributes.get("cost_usd"))


def cost_nano(dollars: Json) -> int:
    """Return a reported cost in nano-dollars; -1 if there is none."""
    if isinstance(dollars, bool) or not isinstance(dollars, str | int | float):
        return -1
    try:
        amount = round(float(dollars) * 1e9)
    except (ValueError, OverflowError):
        return -1
    return amount if 0 <= amount < 2**53 else -1


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
