"""Length of the common prefix and of the common suffix of two byte strings, without a loop over bytes.

Slices of 64, 256, 1024 ... bytes are compared until two differ; the first differing byte is then found by
halving, and in at most 64 bytes by the XOR of both as numbers. Cost: a few comparisons per power of four.
"""

from __future__ import annotations

_FIRST_SLICE = 64  # bytes; as many or fewer are compared as one number
_number = int.from_bytes


def common_prefix(one: bytes, at: int, other: bytes, start: int) -> int:
    """Return how many bytes are equal from `one[at]` and `other[start]` on."""
    low, high, step = 0, min(len(one) - at, len(other) - start), _FIRST_SLICE
    while low < high:
        middle = low + step if step < high - low else high
        a, b = one[at + low : at + middle], other[start + low : start + middle]
        if a != b:
            return low + _first_difference(a, b)
        low, step = middle, step * 4
    return high


def common_suffix(one: bytes, at: int, other: bytes, start: int, most: int) -> int:
    """Return how many bytes are equal before `one[at]` and `other[start]`, at most `most`."""
    high = most if most < start else start
    size, step = 0, _FIRST_SLICE
    while size < high:
        if high - size < step:
            step = high - size
        at, start = at - step, start - step
        differ = _number(one[at : at + step], "little") ^ _number(other[start : start + step], "little")
        if differ:
            return size + step - (differ.bit_length() + 7) // 8
        size, step = size + step, step * 4
    return high


def _first_difference(one: bytes, other: bytes) -> int:
    """Return where two different byte strings of one length first differ."""
    low, high = 0, len(one)
    while high - low > _FIRST_SLICE:
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    differ = _number(one[low:high], "big") ^ _number(other[low:high], "big")
    return high - (differ.bit_length() + 7) // 8
