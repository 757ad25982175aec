"""Match the items of two sequences in order: two algorithms for two questions. Pure.

`longest_common_subsequence` is exact: no other choice matches more items. Each row of the table of dynamic
programming is one big integer, so it takes len(b) operations on integers of len(a) bits. For turns and words,
up to a few thousand.

`patience_match` takes items that occur once in both sequences as anchors and extends them over equal
neighbours, in O(n log n). A repeated item is matched beside an anchor only, never with a distant copy of
itself, as the longest subsequence may do. For the messages of two requests.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence

Pair = tuple[int, int]


def longest_common_subsequence(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Pair]:
    """Return the indexes, in `a` and in `b`, of a longest common subsequence."""
    shortest = min(len(a), len(b))
    head = next((n for n in range(shortest) if a[n] != b[n]), shortest)
    rest = shortest - head
    tail = next((n for n in range(rest) if a[-1 - n] != b[-1 - n]), rest)
    middle = _bit_parallel(a[head : len(a) - tail], b[head : len(b) - tail])
    return [
        *((n, n) for n in range(head)),
        *((head + i, head + j) for i, j in middle),
        *((len(a) - n, len(b) - n) for n in range(tail, 0, -1)),
    ]


def _bit_parallel(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Pair]:
    """Return the same without the common prefix and suffix.

    Bit n of a row is 0 if a[n] lengthens the longest common subsequence of a[:n] and the items of `b` so far.
    """
    places: dict[Hashable, int] = defaultdict(int)
    for n, item in enumerate(a):
        places[item] |= 1 << n
    full = (1 << len(a)) - 1
    row, rows = full, []
    for item in b:
        here = row & places.get(item, 0)
        row = ((row + here) | (row - here)) & full
        rows.append(row)
    found, i, j = [], len(a), len(b)
    while i and j:
        if rows[j - 1] >> (i - 1) & 1:
            i -= 1
        elif j > 1 and not rows[j - 2] >> (i - 1) & 1:
            j -= 1
        else:
            i, j = i - 1, j - 1
            found.append((i, j))
    return found[::-1]


def patience_match(before: Sequence[bytes], after: Sequence[bytes]) -> list[Pair]:
    """Return increasing pairs of equal items: first those that occur once in both, then their neighbours."""
    once = _once(before) & _once(after)
    places = {name: i for i, name in enumerate(before) if name in once}
    anchors = _longest_increasing([(places[name], j) for j, name in enumerate(after) if name in once])
    pairs: list[Pair] = []
    start = (0, 0)
    for end in (*anchors, (len(before), len(after))):
        pairs += _extend(before, after, start, end)
        if end[0] < len(before):
            pairs.append(end)
        start = (end[0] + 1, end[1] + 1)
    return pairs


def _once(names: Sequence[bytes]) -> set[bytes]:
    return {name for name, n in Counter(names).items() if n == 1}


def _extend(before: Sequence[bytes], after: Sequence[bytes], start: Pair, end: Pair) -> Iterator[Pair]:
    """Yield the equal items at the start of a gap, then those at its end."""
    (i, j), (last_i, last_j) = start, end
    while i < last_i and j < last_j and before[i] == after[j]:
        yield i, j
        i, j = i + 1, j + 1
    tail = 0
    while last_i - tail > i and last_j - tail > j and before[last_i - tail - 1] == after[last_j - tail - 1]:
        tail += 1
    yield from ((last_i - n, last_j - n) for n in range(tail, 0, -1))


def _longest_increasing(pairs: Sequence[Pair]) -> list[Pair]:
    """Return a longest subsequence of `pairs`, sorted by their second item, that increases in the first."""
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
