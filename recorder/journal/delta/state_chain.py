"""Chains of states, lines of a kind and loop that are each much like the one before, with a bounded depth.

The held states of a chain are numbered 0, 1, 2, ...  State k copies whole-line bytes of its parent alone,
whose number is k with the lowest non-zero digit (to the base `BASE`) cleared. So a chain of any length nests
at most `DEPTH` copies: the digits above the lowest `DEPTH - 2` count as one.

The line is compared with state k - 1, the only one whose bytes are in memory. `rebase` translates what it
matches there: the parent of k is k - 1 or an ancestor of it, so a match is cut along the matches of k - 1,
then of its parent and so on, until its parts lie in the parent of k or are new in a state on the way. The
latter become local copies: a local stretch consists of literals and copies of literals, and needs no other
state.

Cost: with n states about (BASE - 1) / 2 * log(n, BASE) local copies a state for each place that grows; in
memory the matches of the at most `DEPTH` states on the way. ADR 16 has the measurements for other bases.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from recorder.journal.delta.encoding import LOCAL, OWN, WHOLE
from recorder.journal.delta.match import Match

BASE = 3
DEPTH = 8  # the deepest nesting of whole-line copies, of a line that copies from the last state of a chain
SHORTEST = 28  # bytes; a copy of fewer takes about as many bytes as they do

_TOP = BASE ** (DEPTH - 2)

# Number, line, cost to restore (see `COST` in dedup_window), matches with other states in order.
Link = tuple[int, int, int, tuple[Match, ...]]
Chain = tuple[Link, ...]  # a state's ancestors from the first on, and the state itself


def parent(number: int) -> int:
    """Return the number of the only state that state `number` > 0 copies whole-line bytes of."""
    digit = 1
    while digit < _TOP and number % (digit * BASE) == 0:
        digit *= BASE
    return 0 if digit == _TOP else number - number % (digit * BASE)


def ancestors(chain: Chain) -> Chain:
    """Return the ancestors of the state that follows the last one of `chain`."""
    above = parent(chain[-1][0] + 1)
    return tuple(link for link in chain if link[0] <= above)


def follow(chain: Chain, line: int, cost: int, matches: Sequence[Match]) -> Chain:
    """Return the chain of a new state: `chain` with it, or a new chain if it copies from no other state.

    `cost` is that of the state without what it copies, in bytes; `matches` are rebased.
    """
    links = tuple(match for match in matches if match[4] != OWN)
    if not chain or not links:
        return ((0, line, cost, ()),)
    above = ancestors(chain)
    # To restore a local stretch takes literals alone, so only the parent adds to the cost.
    nested = above[-1][2] if any(match[4] == WHOLE for match in links) else 0
    return (*above, (chain[-1][0] + 1, line, cost + nested, links))


def rebase(matches: Sequence[Match], chain: Chain, shortest: int) -> list[Match]:
    """Return `matches` of a new state with whole-line copies of the last one of `chain` translated.

    Translated matches of fewer than `shortest` bytes are left out: these bytes are stored again.
    """
    depth = len(ancestors(chain)) - 1
    above = chain[depth][1]
    found: list[Match] = []
    for match in matches:
        if match[4] == OWN or match[2] == above:
            found.append(match)
            continue
        at = len(found)
        for begin, size, source, start, part in _translated(match, chain, len(chain) - 1, depth):
            last = found[-1] if len(found) > at else None
            # Matches that were apart in the state before may touch in an older one.
            if last and last[2] == source and last[4] == part and last[3] + last[1] == start:
                found[-1] = (last[0], last[1] + size, source, last[3], part)
            else:
                found.append((begin, size, source, start, part))
    return [match for match in found if match[1] >= shortest or match[4] == OWN]


def _translated(match: Match, chain: Chain, at: int, depth: int) -> Iterator[Match]:
    """Yield a match with state `at` of a chain as matches with state `depth` or with local stretches."""
    begin, size, line, start, _ = match
    if at == depth:
        yield match
        return
    within = chain[at][3]
    end, shift = start + size, begin - start
    for first, length, source, origin, part in within[bisect_right(within, start, key=_end) :]:
        if first >= end:
            break
        if first > start:  # before this match the state's own bytes are new
            yield start + shift, first - start, line, start, LOCAL
            start = first
        stop = min(first + length, end)
        inner = (start + shift, stop - start, source, origin + start - first, part)
        if part == WHOLE:
            yield from _translated(inner, chain, at - 1, depth)
        else:
            yield inner
        start = stop
    if start < end:
        yield start + shift, end - start, line, start, LOCAL


def _end(match: Match) -> int:
    return match[0] + match[1]
