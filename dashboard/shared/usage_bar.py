"""Token usage as a bar: five segments from cheap to expensive tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from dashboard.rendering.number_format import tokens

REPORTED = ("input_tokens", "output_tokens", "reasoning_tokens", "cache_read_tokens", "cache_write_tokens")
COLUMNS = (*REPORTED, "uncached_tokens", "visible_tokens", "unreconciled")  # columns that a bar needs
GAP = 0.6  # percent of the bar between two segments


class Usage(Protocol):
    """A record with phi-core's five counts; it may have `uncached_tokens` and `visible_tokens`."""

    @property
    def input_tokens(self) -> int: ...
    @property
    def output_tokens(self) -> int: ...
    @property
    def reasoning_tokens(self) -> int: ...
    @property
    def cache_read_tokens(self) -> int: ...
    @property
    def cache_write_tokens(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of tokens: CSS class, name, number."""

    css: str
    name: str
    count: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment of a bar, in percent of its width."""

    css: str
    x: float
    width: float


def kinds(usage: Usage) -> list[Kind]:
    """Return the five kinds in price order, each token in one of them.

    Counts that cannot be reconciled are shown as reported, reasoning subtracted from output if included.
    """
    uncached, visible = _disjoint(usage) or _reported_tokens(usage)
    return [
        Kind("usage-cache-read", "cache read", usage.cache_read_tokens),
        Kind("usage-input", "input", uncached),
        Kind("usage-cache-write", "cache write", usage.cache_write_tokens),
        Kind("usage-reasoning", "reasoning", usage.reasoning_tokens),
        Kind("usage-output", "output", visible),
    ]


def words(usage: Usage) -> str:
    """Return the five numbers as text, for screen readers."""
    return ", ".join(f"{tokens(kind.count)} {kind.name}" for kind in kinds(usage)) + " tokens"


def segments(parts: Sequence[tuple[str, int]]) -> list[Segment]:
    """Return segments for (CSS class, count) pairs, proportional to the counts; they fill the bar."""
    shown = [(css, count) for css, count in parts if count > 0]
    total = sum(count for _, count in shown)
    scale = (100 - GAP * len(shown)) / total if total else 0
    laid, x = [], 0.0
    for css, count in shown:
        width = count * scale
        laid.append(Segment(css, round(x, 2), round(width, 2)))
        x += width + GAP
    return laid


def _disjoint(usage: Usage) -> tuple[int, int] | None:
    """Return uncached input and visible output; None unless they are known for all calls."""
    uncached, visible = getattr(usage, "uncached_tokens", None), getattr(usage, "visible_tokens", None)
    if uncached is None or visible is None or getattr(usage, "unreconciled", False):
        return None
    return uncached, visible


def _reported_tokens(usage: Usage) -> tuple[int, int]:
    output = usage.output_tokens
    inside = usage.reasoning_tokens if usage.reasoning_tokens <= output else 0
    return usage.input_tokens, output - inside
