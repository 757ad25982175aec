"""Finding matches of a line with earlier ones, by the ways in which lines of agents repeat each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from recorder.journal.delta.common_prefix import common_prefix, common_suffix
from recorder.journal.delta.encoding import OWN, WHOLE

LEAST = 48  # bytes of a match
FINEST = 14  # matches of a large line are longer: there are at most 2 to the power of this
LARGE = LEAST << FINEST
TEXT = re.compile(rb'": ?"(?![\w$.:+/=-]{0,80}")')  # where a text begins that is no name and no id
KEY = 40  # bytes of a text by which it is looked up
QUOTE = b'"'

_QUOTES = 4  # bytes that a text begins after
_BRACES = 2  # closing braces at the end of a line: of its message and its own
_GAP = 512  # bytes between two repeated messages
_SAME, _NEAR, _MUCH = 24, 64, 1000
_TRIES = 16

# Tuples, as the garbage collector does not traverse tuples of numbers and bytes.
Match = tuple[int, int, int, int, int]  # begin and size in the line; source line, start in it, part of it
Row = tuple[int, bytes]  # a line's key and the literals of its row
Message = tuple[int, bytes, int]  # a line's key, its bytes, and where its message begins


def shortest_match(size: int) -> int:
    """Return the fewest bytes of a match in a line of `size` bytes."""
    return LEAST if size < LARGE else size >> FINEST


def encode(line: int, raw: bytes, matches: Sequence[Match]) -> tuple[bytes, str | None]:
    """Return the columns `own` and `pieces` of a line. `matches` are in order and do not overlap."""
    if not matches:
        return raw, None
    if len(matches) == 1 and not matches[0][0]:  # most lines have a head and no other match
        _, size, source, start, part = matches[0]
        kind = "]" if part == WHOLE else f",{part}]"
        return raw[size:], f"[[{line - source},{start},{size}{kind},{len(raw) - size}]"
    own: list[bytes] = []
    elements: list[str] = []
    at = 0
    for begin, size, source, start, part in matches:
        kind = "]" if part == WHOLE else f",{part}]"
        if begin > at:
            own.append(raw[at:begin])
            elements.append(f"{begin - at},[{line - source},{start},{size}{kind}")
        else:
            elements.append(f"[{line - source},{start},{size}{kind}")
        at = begin + size
    if at < len(raw):
        own.append(raw[at:])
        elements.append(f"{len(raw) - at}")
    return b"".join(own), f"[{','.join(elements)}]"


def extend(raw: bytes, at: int, begin: int, end: int, row: Row, start: int) -> Match:
    """Return the match in `raw[at:end]` around a text at `begin`, which is at `start` in a row's literals."""
    source, old = row
    close = old.find(QUOTE, start + KEY) + 1
    stop = begin + close - start
    # Most texts are equal to their end: that is one comparison, and what follows them another.
    if close == 0 or not raw.startswith(old[start:close], begin):
        stop = begin + common_prefix(raw, begin, old, start)
    elif raw[stop : stop + _NEAR] == old[close : close + _NEAR]:
        stop += common_prefix(raw, stop, old, close)
    first = begin - common_suffix(raw, begin, old, start, begin - at) if begin > at else at
    if stop > end:
        stop = end
    return first, stop - first, source, start + first - begin, OWN


def repeated(raw: bytes, at: int, messages: Sequence[Message]) -> list[Match]:
    """Return the matches from `at` on with messages that a line repeats in their order.

    The line's head may end inside the first message. Each message is looked for right after the one before
    and compared whole: one match, or two where the line adds a field to the message.
    """
    matches: list[Match] = []
    shortest = shortest_match(len(raw))
    look = 0
    for source, old, message in messages:
        begin = message
        first = raw.find(old[begin : begin + LEAST], look, at + _GAP)
        if first < 0:
            continue
        if first < at:  # the head has the beginning of the message
            begin, first = begin + at - first, at
        end = len(old) - _BRACES
        is_whole = raw.startswith(old[begin:end], first)
        size = end - begin if is_whole else common_prefix(raw, first, old, begin)
        if size < shortest:
            continue
        matches.append((first, size, source, begin, WHOLE))
        look = at = first + size
        # The rest of the message, after an added field.
        rest = old[begin + size : end]
        if len(rest) >= shortest and (first := raw.find(rest, at, at + _GAP + len(rest))) >= 0:
            matches.append((first, len(rest), source, begin + size, WHOLE))
            look = at = first + len(rest)
    return matches


def compare(raw: bytes, source: int, old: bytes) -> Iterator[Match]:
    """Yield the matches of a line with an earlier one of its kind, in order."""
    at = start = common = 0
    for _ in range(_TRIES):
        size = common_prefix(raw, at, old, start)
        if size >= LEAST:
            yield at, size, source, start, WHOLE
        at, start, common = at + size, start + size, common + size
        if len(raw) - at < LEAST:
            return
        if (found := _resume(raw, at, old, start, has_much=common > _MUCH)) is None:
            return
        at, start = found


def text_begin(raw: bytes, low: int, at: int) -> int:
    """Return where to look for texts after a match: at its end, or at the text in which it ends."""
    if raw.find(QUOTE, at, at + _NEAR) >= 0:
        return max(at - _QUOTES, low)
    begin = raw.rfind(b'":', low, at)
    return begin if begin > 0 and raw[begin - 1] != ord("\\") else at


def _resume(raw: bytes, at: int, old: bytes, start: int, *, has_much: bool) -> tuple[int, int] | None:
    """Return where two lines that differ at a place are equal again: after another value or an insertion."""
    after, before = raw.find(b',"', at, at + _NEAR), old.find(b',"', start, start + _NEAR)
    if after >= 0 <= before and raw[after : after + _SAME] == old[before : before + _SAME]:
        return after, before
    if not has_much or len(old) - start < _SAME:
        return None
    after = raw.find(old[start : start + _SAME], at)
    if after >= 0 and raw[after : after + LEAST] == old[start : start + LEAST]:
        return after, start
    text = TEXT.search(raw, at)
    before = old.find(raw[text.end() : text.end() + KEY], start) if text else -1
    return (text.end(), before) if text and before >= 0 else None
