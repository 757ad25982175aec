"""The cost of each block of a request: the tokens of the window in the buckets that they fell into.

A provider reads a prefix of the request from its cache, writes the next part, and charges the rest as input.
So a call prices its window by position, and the price of a block is tokens times the rate of its place.
Amounts are integers of `UNITS` a nano-dollar, which makes every sum exact: what no rate divides evenly stays
with the output. Invariant: the blocks of a call and its output add up to its cost.

Cost: a few steps for each range of a window, whatever the number of its blocks; for a window that does not
add up to its prompt, a step a block.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from recorder.core.ledger.window import Ranges
from recorder.core.money.prices import Rates

UNITS = 10**9  # of a nano-dollar


@dataclass(frozen=True, slots=True, kw_only=True)
class Billed:
    """One ended call: buckets in tokens, cost in nano-dollars, and the rates of its model if known."""

    uncached: int
    cache_read: int
    cache_write: int
    cache_write_1h: int
    visible: int
    reasoning: int
    cost_nano: int
    rates: Rates | None

    @property
    def prompt(self) -> int:
        return self.uncached + self.cache_read + self.cache_write


class Bands(NamedTuple):
    """Units a token of the three parts of a request, in order, with the tokens up to which each reaches."""

    read: int
    write: int
    uncached: int
    read_upto: int
    write_upto: int


class Divided(NamedTuple):
    """A call's cost in units: of its context by bands, and of its output, which has what is left."""

    bands: Bands
    context: int
    output: int


def divide(call: Billed) -> Divided | None:
    """Return how the cost of a call is divided; None if no rates say it, or its counts do not reconcile.

    A reported cost is divided in the proportions of the rates.
    """
    if call.rates is None:
        return None
    (plain, read, write, write_1h, visible, reasoning), power = call.rates.scaled_integers
    short = call.cache_write - call.cache_write_1h
    written = short * write + call.cache_write_1h * write_1h
    context = call.uncached * plain + call.cache_read * read + written
    total = context + call.visible * visible + call.reasoning * reasoning
    cost = call.cost_nano * UNITS
    if not total:
        return None if cost else Divided(Bands(0, 0, 0, call.cache_read, call.prompt), 0, 0)
    scale, whole = UNITS, 10**power
    if abs(call.cost_nano * whole - total) > whole:  # a reported cost
        scale, whole = cost, total
    each_write = written * scale // (whole * call.cache_write) if call.cache_write else 0
    bands = Bands(
        read * scale // whole,
        each_write,
        plain * scale // whole,
        call.cache_read,
        call.cache_read + call.cache_write,
    )
    spent = call.cache_read * bands.read + call.cache_write * bands.write + call.uncached * bands.uncached
    return Divided(bands, spent, cost - spent)


class Costed(NamedTuple):
    """One call for `carried`: its window, its prompt, and its divided cost."""

    ranges: Ranges
    prompt: int
    bands: Bands


def carried(calls: Sequence[Costed], tokens: Mapping[int, int]) -> tuple[dict[int, int], int]:
    """Return what each block cost over some calls in units, by its number, and what is in no block.

    `tokens` are those of each block. Where the blocks of a window add up to another number than the prompt,
    each counts in proportion.
    """
    numbers = sorted(tokens)
    last = numbers[-1] if numbers else 0
    upto = [0, *accumulate(tokens.get(number, 0) for number in range(1, last + 1))]
    steps = [0] * (last + 2)  # differences of the units a token from one number to the next
    extra: dict[int, int] = {}
    rest = 0
    for call in calls:
        rest += _add(call, upto, steps, extra)
    rates = list(accumulate(steps))
    found = {number: tokens[number] * rates[number] + extra.get(number, 0) for number in numbers}
    return found, rest


def of_each(bands: Bands, prompt: int, tokens: Sequence[int]) -> list[int]:
    """Return what each block of one window cost in units; `tokens` are theirs, in the order of the window."""
    known = sum(tokens)
    if not known:
        return [0] * len(tokens)
    upto = [_units_of_part(bands, place * prompt, known) for place in accumulate(tokens)]
    return [after - before for before, after in zip([0, *upto], upto, strict=False)]


def lost(bands: Bands, tokens: int) -> int:
    """Return in units what some tokens cost more than if they had been read: those behind what was read."""
    end = bands.read_upto + tokens
    spent = _units_of_part(bands, end, 1) - _units_of_part(bands, bands.read_upto, 1)
    return max(0, spent - tokens * bands.read)


def _add(call: Costed, upto: Sequence[int], steps: list[int], extra: dict[int, int]) -> int:
    """Add one call; return its units that are in no block."""
    known = sum(upto[last] - upto[first - 1] for first, last in call.ranges)
    total = _units_of_part(call.bands, call.prompt, 1)
    if not known:
        return total
    if known != call.prompt:
        return total - _add_scaled(call, known, upto, extra)
    bands = call.bands
    place, spent = 0, 0
    for first, last in call.ranges:
        size = upto[last] - upto[first - 1]
        spent += _add_range((first, last), place, bands, upto, steps, extra)
        place += size
    return total - spent


def _add_scaled(call: Costed, known: int, upto: Sequence[int], extra: dict[int, int]) -> int:
    """Add a call whose blocks have `known` tokens, another number than its prompt; return their units.

    Each block has its part of the prompt. Cost: proportional to the blocks.
    """
    read_rate, write_rate, uncached_rate, read_upto, write_upto = call.bands
    read_upto, write_upto, prompt = read_upto * known, write_upto * known, call.prompt
    written = read_upto * read_rate + (write_upto - read_upto) * write_rate
    place = before = 0
    for first, last in call.ranges:
        for number in range(first, last + 1):
            place += prompt * (upto[number] - upto[number - 1])
            # As `_units_of_part`, which takes twice the time when it is called for each block.
            if place <= read_upto:
                units = place * read_rate
            elif place <= write_upto:
                units = read_upto * read_rate + (place - read_upto) * write_rate
            else:
                units = written + (place - write_upto) * uncached_rate
            extra[number] = extra.get(number, 0) + units // known - before
            before = units // known
    return before


def _add_range(
    numbers: tuple[int, int],
    place: int,
    bands: Bands,
    upto: Sequence[int],
    steps: list[int],
    extra: dict[int, int],
) -> int:
    """Add the blocks of one range, which begins at token `place` of the window; return their units."""
    first, last = numbers
    start, size = upto[first - 1], upto[last] - upto[first - 1]
    begin, number = 0, first
    edges = (bands.read_upto - place, bands.write_upto - place, size)
    spent = 0
    for rate, edge in zip(bands[:3], edges, strict=True):
        end = min(max(edge, begin), size)
        spent += rate * (end - begin)
        # Blocks that end at or before `end` are in this band, apart from a part in the one before.
        upto_number = last if end == size else bisect_left(upto, start + end + 1, number, last + 1) - 1
        if upto_number >= number:
            steps[number] += rate
            steps[upto_number + 1] -= rate
            partly = max(0, begin - (upto[number - 1] - start))
            if partly:
                extra[number] = extra.get(number, 0) - rate * partly
            number = upto_number + 1
            covered = upto[number - 1] - start
        else:
            covered = begin
        if number <= last and end > covered:
            extra[number] = extra.get(number, 0) + rate * (end - covered)
        begin = end
    return spent


def _units_of_part(bands: Bands, tokens: int, parts: int) -> int:
    """Return the units of the first `tokens / parts` tokens of a request, rounded down."""
    read = min(tokens, bands.read_upto * parts)
    write = min(tokens, bands.write_upto * parts) - read
    rest = tokens - read - write
    return (read * bands.read + write * bands.write + rest * bands.uncached) // parts


def to_nano(units: Sequence[int]) -> list[int]:
    """Return units as nano-dollars: rounded so that they add up to the rounded sum of all."""
    found, before, total = [], 0, 0
    for each in units:
        total += each
        upto = (2 * total + UNITS) // (2 * UNITS)
        found.append(upto - before)
        before = upto
    return found
