"""The tokens of a model call in our counts: `input` without cached tokens, `output` with reasoning."""

from __future__ import annotations

from collections.abc import Iterable

from recorder.core.formats.base import Fields, object_field
from recorder.core.formats.otlp.spans.attributes import decoded_object, first_count
from recorder.core.formats.otlp.spans.usage import names
from recorder.core.formats.otlp.spans.usage.objects import (
    counts_of,
    usage_in_response,
    usage_object,
    usage_of_names,
    with_details,
)

# Emitters whose input figure leaves cached tokens out.
EXCLUDES_CACHE = frozenset((
    *("claude-code", "com.opencode", "openinference.instrumentation.claude_agent_sdk"),
    "@arizeai/openinference-instrumentation-claude-agent-sdk",
))  # fmt: skip
WITHOUT_CACHE = "without_cache"  # of a usage: 1 if its input left cached tokens out against the convention
EXCLUDES_REASONING = frozenset(("gemini-cli", "com.opencode"))  # those whose output leaves thoughts out


def usage_of(attributes: Fields, runtime: str) -> dict[str, int] | None:
    """Return the usage that a span reports; None if it reports none, which is not 0.

    Whether the input includes cached tokens, and the output reasoning, is decided by the total, if there is
    one: some emitters of one convention include them and some do not.
    """
    attributes = with_details(attributes)
    flat_in = first_count(attributes, names.INPUT_TOKENS)
    flat_out = first_count(attributes, names.OUTPUT_TOKENS)
    found = usage_object(attributes)
    if not found and flat_in is None and flat_out is None:
        found = usage_of_names(attributes) or usage_in_response(attributes)
    inner = counts_of(found)
    total_in = _count(flat_in, inner, names.JSON_INPUT)
    output = _count(flat_out, inner, names.JSON_OUTPUT)
    total_in = _of_modalities(attributes, "input") if total_in is None else total_in
    output = _of_modalities(attributes, "output") if output is None else output
    total = _count(first_count(attributes, names.TOTAL_TOKENS), inner, names.JSON_TOTAL)
    total_in, output = _completed(total_in, output, total)
    if total_in is None and output is None:
        return None
    stated = _parts(attributes, inner)
    of_provider, leaves_out = _of_provider(attributes, total_in or 0)
    usage = {"total_in": total_in or 0, "output": output or 0} | of_provider | stated
    usage |= _priced_apart(attributes, inner)
    cached = usage.get("cache_read", 0) + usage.get("cache_write", 0)
    reasoning = usage.get("reasoning", 0)
    without_cache, without_reasoning = _left_out(usage, total, cached, reasoning)
    if total is None and flat_in in (None, first_count(inner, names.JSON_INPUT)):
        without_cache = any(name in inner and own in inner for own, name in names.JSON_EXCLUDED)
    if runtime in EXCLUDES_CACHE or without_cache or leaves_out:
        usage["total_in"] += cached
    elif usage["total_in"] < cached:  # a figure below its parts leaves them out after all
        usage["total_in"] += cached
        usage[WITHOUT_CACHE] = 1
    if runtime in EXCLUDES_REASONING or without_reasoning or usage["output"] < reasoning:
        usage["output"] += reasoning
    return usage


def _priced_apart(attributes: Fields, inner: Fields) -> dict[str, int]:
    """Return the tokens written for an hour and the web searches, as far as there are any."""
    hour = _count(first_count(attributes, names.CACHE_WRITE_1H), inner, names.JSON_WRITE_1H)
    searches = _count(first_count(attributes, names.SEARCHES), inner, names.JSON_SEARCHES)
    return {name: n for name, n in (("cache_write_1h", hour), ("web_searches", searches)) if n}


def usage_of_events(events: Iterable[tuple[str, Fields]], runtime: str) -> dict[str, int] | None:
    """Return the usage in the last event of GenAI with any: a stream reports it when it ends."""
    of_calls = [fields for name, fields in events if name.startswith(names.EVENTS)]
    return next(filter(None, (usage_of(fields, runtime) for fields in reversed(of_calls))), None)


def _of_modalities(attributes: Fields, direction: str) -> int | None:
    """Return the sum of the tokens of each modality, in which a call has them that states no sum."""
    found: dict[str, int] = {}
    for name in attributes:
        match = names.MODALITY.fullmatch(name) if len(name) <= names.OTHER_CHARS else None
        count = first_count(attributes, (name,)) if match else None
        if match is None or count is None:
            continue
        if names.DIRECTIONS[(match["of"] or match["direction"]).lower()] == direction:
            found[(match["first"] or match["modality"]).lower()] = count
    return sum(found.values()) if found else None


def _completed(total_in: int | None, output: int | None, total: int | None) -> tuple[int | None, int | None]:
    """Return input and output, of which one may only follow from the sum of both."""
    if total is None or (total_in is None) == (output is None):
        return total_in, output
    if total_in is None:
        return max(0, total - (output or 0)), output
    return total_in, max(0, total - total_in)


def _parts(attributes: Fields, inner: Fields) -> dict[str, int]:
    """Return the figures that are parts of others, as far as sent."""
    parts = {
        "cache_read": names.CACHE_READ,
        "cache_write": names.CACHE_WRITE,
        "reasoning": names.REASONING,
    }
    found = {name: first_count(attributes, flat) for name, flat in parts.items()}
    by_words = _by_words({f"usage.{path}": count for path, count in inner.items()}) | _by_words(attributes)
    return by_words | {name: count for name, count in found.items() if count is not None}


def _of_provider(attributes: Fields, total_in: int) -> tuple[dict[str, int], bool]:
    """Return figures in the metadata that a provider adds, and whether the input leaves cached tokens out.

    Until release 5 the Vercel AI SDK passes on the input of Anthropic and Bedrock, which is without them, and
    has cached tokens in part or only here. Metadata with the provider's own input figure says so itself.
    """
    providers = decoded_object(attributes.get(names.PROVIDER_METADATA))
    found: dict[str, int] = {}
    leaves_out = False
    for about in (each for each in providers.values() if isinstance(each, dict)):
        fields = about | object_field(about, "usage")
        for name, keys in names.PROVIDER_PARTS.items():
            if (count := first_count(fields, keys)) is not None:
                found[name] = count
        own = first_count(fields, ("input_tokens",))
        has_details = any(name.startswith(names.INPUT_DETAILS) for name in attributes)
        is_without = total_in == own if own is not None else not has_details
        leaves_out |= is_without and first_count(fields, names.PROVIDER_EXCLUDED) is not None
    return found, leaves_out


def _by_words(attributes: Fields) -> dict[str, int]:
    """Return the figures that are parts of others under names that only their words tell."""
    found: dict[str, int] = {}
    for name in attributes:
        match = names.OTHER_USAGE.match(name) if len(name) <= names.OTHER_CHARS else None
        count = first_count(attributes, (name,)) if match else None
        if match and match.lastgroup and count is not None:
            found[match.lastgroup] = max(found.get(match.lastgroup, 0), count)
    return found


def _left_out(usage: dict[str, int], total: int | None, cached: int, reasoning: int) -> tuple[bool, bool]:
    """Return whether the input leaves out cached tokens, and the output reasoning, by the total."""
    rest = None if total is None else total - usage["total_in"] - usage["output"]
    if not rest:
        return False, False
    return rest in (cached, cached + reasoning) and cached > 0, (
        rest in (reasoning, cached + reasoning) and reasoning > 0 and rest != cached
    )


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


def native(usage: dict[str, int] | None) -> Fields:
    """Return the usage of an event; without figures all are 0."""
    known = usage or {}
    read, write = known.get("cache_read", 0), known.get("cache_write", 0)
    output = known.get("output", 0)
    searches = known.get("web_searches", 0)
    return {
        "input": max(0, known.get("total_in", 0) - read - write),
        "output": output,
        "reasoning": min(known.get("reasoning", 0), output),
        "cache_read": read,
        "cache_write": write,
        "cache_write_1h": min(known.get("cache_write_1h", 0), write),
        **({"web_searches": searches} if searches else {}),
    }


def _count(flat: int | None, details: Fields, keys: tuple[str, ...]) -> int | None:
    return flat if flat is not None else first_count(details, keys)
