"""How far two texts are the same, at the speed of comparing whole parts of them."""

from __future__ import annotations

_AT_ONCE = 64  # so few bytes are compared as one number
_number = int.from_bytes


def ahead(one: bytes, at: int, other: bytes, start: int) -> int:
    """Return how many bytes are the same from two places on."""
    low, high, step = 0, min(len(one) - at, len(other) - start), _AT_ONCE
    while low < high:
        middle = low + step if step < high - low else high
        a, b = one[at + low : at + middle], other[start + low : start + middle]
        if a != b:
            return low + _same(a, b)
        low, step = middle, step * 4
    return high


def behind(one: bytes, at: int, other: bytes, start: int, most: int) -> int:
    """Return how many bytes are the same before two places, `most` at most."""
    high = most if most < start else start
    size, step = 0, _AT_ONCE
    while size < high:
        if high - size < step:
            step = high - size
        at, start = at - step, start - step
        differ = _number(one[at : at + step], "little") ^ _number(other[start : start + step], "little")
        if differ:
            return size + step - (differ.bit_length() + 7) // 8
        size, step = size + step, step * 4
    return high


def _same(one: bytes, other: bytes) -> int:
    """Return how many bytes are the same at the beginning of two texts of one length that differ."""
    low, high = 0, len(one)
    while high - low > _AT_ONCE:
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    differ = _number(one[low:high], "big") ^ _number(other[low:high], "big")
    return high - (differ.bit_length() + 7) // 8
