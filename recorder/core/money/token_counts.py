"""Token counts: the usage of a turn is added to its loop and session."""

from __future__ import annotations

from recorder.core.events import Usage
from recorder.core.events.base import construct
from recorder.core.records import Loop, Turn
from recorder.core.spend import Tokens

_MAX = 2**62  # a column holds 63 bits; sums of hostile counts stay below


def set_counts(record: Tokens, usage: Usage) -> None:
    """Set the token counts of a record."""
    record.input_tokens = usage.input
    record.output_tokens = usage.output
    record.reasoning_tokens = usage.reasoning
    record.cache_read_tokens = usage.cache_read
    record.cache_write_tokens = usage.cache_write
    record.total_tokens = usage.total_tokens
    record.cache_write_1h_tokens = usage.cache_write_1h
    if isinstance(record, Turn):
        record.web_searches = usage.web_searches


def usage_of(record: Tokens) -> Usage:
    """Return the token counts of a record as a Usage."""
    return construct(
        Usage,
        input=record.input_tokens,
        output=record.output_tokens,
        reasoning=record.reasoning_tokens,
        cache_read=record.cache_read_tokens,
        cache_write=record.cache_write_tokens,
        total_tokens=record.total_tokens,
        cache_write_1h=record.cache_write_1h_tokens,
    )


def has_tokens(record: Tokens) -> bool:
    """Return whether any token count of a record is not zero."""
    return any(usage_of(record).__dict__.values())


def add_turn_usage(loop: Loop, usage: Usage) -> None:
    """Add the usage of a finished turn to its loop and session."""
    _add(loop, usage, 1)
    _add(loop.session, usage, 1)


def subtract_turn_usage(loop: Loop, usage: Usage) -> None:
    """Subtract the usage of a turn, which is reported anew, from its loop and session."""
    _add(loop, usage, -1)
    _add(loop.session, usage, -1)


def replace_with_final_usage(loop: Loop, usage: Usage) -> None:
    """Replace the sum of a loop's turns, also in its session, by the usage that its end reports."""
    _add(loop.session, usage_of(loop), -1)
    set_counts(loop, usage)
    _add(loop.session, usage, 1)


def _add(record: Tokens, usage: Usage, sign: int) -> None:
    record.input_tokens = _sum(record.input_tokens, sign * usage.input)
    record.output_tokens = _sum(record.output_tokens, sign * usage.output)
    record.reasoning_tokens = _sum(record.reasoning_tokens, sign * usage.reasoning)
    record.cache_read_tokens = _sum(record.cache_read_tokens, sign * usage.cache_read)
    record.cache_write_tokens = _sum(record.cache_write_tokens, sign * usage.cache_write)
    record.total_tokens = _sum(record.total_tokens, sign * usage.total_tokens)
    record.cache_write_1h_tokens = _sum(record.cache_write_1h_tokens, sign * usage.cache_write_1h)


def _sum(count: int, addend: int) -> int:
    total = count + addend
    return total if 0 <= total <= _MAX else max(0, min(_MAX, total))
