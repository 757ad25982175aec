"""Token usage as a bar: five kinds, cheap to dear, and where each begins."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from dashboard.rendering.number_format import tokens

TOLD = ("input_tokens", "output_tokens", "reasoning_tokens", "cache_read_tokens", "cache_write_tokens")
COLUMNS = (*TOLD, "uncached_tokens", "visible_tokens", "unreconciled")  # of what a bar is made from
GAP = 0.6  # percent of the bar between two segments


class Usage(Protocol):
    """Anything that carries phi-core's five counts, and perhaps `uncached_tokens`, `visible_tokens`."""

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
    """One kind of token: its colour class, its name, how many."""

    css: str
    name: str
    count: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a bar, in percent of its width."""

    css: str
    x: float
    width: float


def kinds(usage: Usage) -> list[Kind]:
    """Return the five kinds in price order, each token in one of them.

    What does not reconcile is shown as it was told: reasoning inside output is cut out of it, never added.
    """
    uncached, visible = _disjoint(usage) or _told(usage)
    return [
        Kind("usage-cache-read", "cache read", usage.cache_read_tokens),
        Kind("usage-input", "input", uncached),
        Kind("usage-cache-write", "cache write", usage.cache_write_tokens),
        Kind("usage-reasoning", "reasoning", usage.reasoning_tokens),
        Kind("usage-output", "output", visible),
    ]


def words(usage: Usage) -> str:
    """Return the five numbers as one phrase, for those who do not see the bar."""
    return ", ".join(f"{tokens(kind.count)} {kind.name}" for kind in kinds(usage)) + " tokens"


def segments(parts: Sequence[tuple[str, int]]) -> list[Segment]:
    """Lay (colour class, count) side by side; the bar is full at their sum."""
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
    """Return what was neither cached nor thought; None where that is not known of all of it."""
    uncached, visible = getattr(usage, "uncached_tokens", None), getattr(usage, "visible_tokens", None)
    if uncached is None or visible is None or getattr(usage, "unreconciled", False):
        return None
    return uncached, visible


def _told(usage: Usage) -> tuple[int, int]:
    output = usage.output_tokens
    inside = usage.reasoning_tokens if usage.reasoning_tokens <= output else 0
    return usage.input_tokens, output - inside
