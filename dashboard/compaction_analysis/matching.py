"""Which messages of one request stand in another, in order. Pure, and quick for thousands of them."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

Pair = tuple[int, int]


def matched(before: Sequence[bytes], after: Sequence[bytes]) -> list[Pair]:
    """Return the places of what is in both, growing: by names that occur once, then by their neighbours."""
    once = _once(before) & _once(after)
    places = {name: i for i, name in enumerate(before) if name in once}
    anchors = _rising([(places[name], j) for j, name in enumerate(after) if name in once])
    pairs: list[Pair] = []
    start = (0, 0)
    for end in (*anchors, (len(before), len(after))):
        pairs += _between(before, after, start, end)
        if end[0] < len(before):
            pairs.append(end)
        start = (end[0] + 1, end[1] + 1)
    return pairs


def _once(names: Sequence[bytes]) -> set[bytes]:
    return {name for name, n in Counter(names).items() if n == 1}


def _between(before: Sequence[bytes], after: Sequence[bytes], start: Pair, end: Pair) -> Iterator[Pair]:
    """Yield what is equal from the start of a gap on and, last, up to its end."""
    (i, j), (last_i, last_j) = start, end
    while i < last_i and j < last_j and before[i] == after[j]:
        yield i, j
        i, j = i + 1, j + 1
    tail = 0
    while last_i - tail > i and last_j - tail > j and before[last_i - tail - 1] == after[last_j - tail - 1]:
        tail += 1
    yield from ((last_i - n, last_j - n) for n in range(tail, 0, -1))


def _rising(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the longest part of `pairs`, sorted by their second, that rises by its first too."""
    ends: list[int] = []  # the least end of a part of each length
    at: list[int] = []  # and which pair that is
    previous: list[int] = []
    for n, (i, _) in enumerate(pairs):
        length = bisect_left(ends, i)
        previous.append(at[length - 1] if length else -1)
        if length == len(ends):
            ends.append(i)
            at.append(n)
        else:
            ends[length], at[length] = i, n
    found: list[Pair] = []
    n = at[-1] if at else -1
    while n >= 0:
        found.append(pairs[n])
        n = previous[n]
    return found[::-1]
