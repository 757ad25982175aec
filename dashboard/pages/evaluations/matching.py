"""What two sequences have in common, in the same order. Pure."""

from collections import defaultdict
from collections.abc import Hashable, Sequence


def matches(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Return the places, in `a` and in `b`, of a longest common subsequence."""
    shortest = min(len(a), len(b))
    head = next((n for n in range(shortest) if a[n] != b[n]), shortest)
    rest = shortest - head
    tail = next((n for n in range(rest) if a[-1 - n] != b[-1 - n]), rest)
    middle = _between(a[head : len(a) - tail], b[head : len(b) - tail])
    return [
        *((n, n) for n in range(head)),
        *((head + i, head + j) for i, j in middle),
        *((len(a) - n, len(b) - n) for n in range(tail, 0, -1)),
    ]


def _between(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Return the same; bit n of a row says of a[n] whether the prefix up to it gains no further match."""
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
