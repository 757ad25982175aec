"""What a line has in common with earlier ones: runs of bytes, found by how lines repeat each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from recorder.journal.delta.common_prefix import ahead, behind

LEAST = 48  # bytes of a run
FINEST = 14  # of a large line runs are larger: there are at most 2 to the power of this
LARGE = LEAST << FINEST
COST, STEP = 128 * 1024 * 1024, 128 * 1024  # bytes to put a line together, and what each line on the way adds
TEXT = re.compile(rb'": ?"(?![\w$.:+/=-]{0,80}")')  # where a text begins, that is no name and no id
KEY = 40  # bytes of a text by which it is known again
QUOTE = b'"'

_QUOTES = 4  # bytes that a text begins after
_BRACES = 2  # that a line ends with: its message's and its own
_APART = 512  # bytes between two messages
_SAME, _NEAR, _MUCH = 24, 64, 1000
_TRIES = 16

# These are tuples, as the collector of garbage does not go through those.
Run = tuple[int, int, int, int, int]  # where, how many bytes, in which line they stand, from where, its cost
# A line to make others of: key, bytes, cost, where its message begins, and the last run of several.
Kept = tuple[int, bytes, int, int, Run | None]
Own = tuple[bytes, str | None]  # what a row holds of its line: its own bytes and, if it has any, its pieces


def kept(line: int, raw: bytes, runs: Sequence[Run], message: int = 0) -> Kept:
    """Return what others may be made of, once its own runs are known."""
    most = 0
    for _, _, _, _, cost in runs:
        if cost > most:
            most = cost
    return line, raw, len(raw) + STEP + most, message, runs[-1] if len(runs) > 1 else None


def stored(line: int, raw: bytes, runs: Sequence[Run]) -> Own:
    """Return how a line is stored that has these runs."""
    if not runs:
        return raw, None
    if len(runs) == 1 and not runs[0][0]:  # most lines have a head and nothing else that is known
        _, size, held_by, start, _ = runs[0]
        return raw[size:], f"[[{line - held_by},{start},{size}],{len(raw) - size}]"
    own: list[bytes] = []
    pieces: list[str] = []
    at = 0
    for begin, size, held_by, start, _ in runs:
        if begin > at:
            own.append(raw[at:begin])
            pieces.append(f"{begin - at},[{line - held_by},{start},{size}]")
        else:
            pieces.append(f"[{line - held_by},{start},{size}]")
        at = begin + size
    if at < len(raw):
        own.append(raw[at:])
        pieces.append(f"{len(raw) - at}")
    return b"".join(own), f"[{','.join(pieces)}]"


def around(raw: bytes, at: int, begin: int, end: int, found: tuple[Kept, int]) -> Run:
    """Return the run between `at` and `end` around a text that begins there and was found in another line."""
    (held_by, old, cost, _, last), start = found
    if cost >= COST:
        return begin, 0, held_by, start, cost
    close = old.find(QUOTE, start + KEY) + 1
    stop = begin + close - start
    if close == 0 or not raw.startswith(old[start:close], begin):
        stop = begin + ahead(raw, begin, old, start)
    elif raw[stop : stop + _NEAR] == old[close : close + _NEAR]:
        stop += ahead(raw, stop, old, close)
    first = begin - behind(raw, begin, old, start, begin - at) if begin > at else at
    if stop > end:
        stop = end
    start += first - begin
    size = stop - first
    if last is not None and last[0] <= start and start + size <= last[0] + last[1]:
        start, held_by, cost = start - last[0] + last[3], last[2], last[4]  # from where that line has it
    return first, size, held_by, start, cost


def retold(raw: bytes, at: int, said: Sequence[Kept]) -> list[Run]:
    """Return what a line repeats of messages, in their order, from `at` on: its head may end in the first."""
    runs: list[Run] = []
    shortest = LEAST if len(raw) < LARGE else len(raw) >> FINEST
    look = 0
    for held_by, old, cost, begin, _ in said:
        first = raw.find(old[begin : begin + LEAST], look, at + _APART)
        if first < 0 or cost >= COST:
            continue
        if first < at:
            begin, first = begin + at - first, at  # noqa: PLW2901  as if it began there
        end = len(old) - _BRACES
        is_whole = raw.startswith(old[begin:end], first)
        size = end - begin if is_whole else ahead(raw, first, old, begin)
        if size < shortest:
            continue
        runs.append((first, size, held_by, begin, cost))
        look = at = first + size
        rest = old[begin + size : end]
        if len(rest) >= shortest and (first := raw.find(rest, at, at + _APART + len(rest))) >= 0:
            runs.append((first, len(rest), held_by, begin + size, cost))  # after what was put in
            look = at = first + len(rest)
    return runs


def alike(raw: bytes, like: Kept) -> Iterator[Run]:
    """Yield what a line has in common with one of its kind, in order."""
    held_by, old, cost, _, _ = like
    at = start = common = 0
    for _ in range(_TRIES):
        size = ahead(raw, at, old, start)
        if size >= LEAST:
            yield at, size, held_by, start, cost
        at, start, common = at + size, start + size, common + size
        if len(raw) - at < LEAST:
            return
        if (found := _resume(raw, at, old, start, has_much=common > _MUCH)) is None:
            return
        at, start = found


def text_begin(raw: bytes, low: int, at: int) -> int:
    """Return where to look for texts after a run: where it ends, or where the text begins that it ends in."""
    if raw.find(QUOTE, at, at + _NEAR) >= 0:
        return max(at - _QUOTES, low)
    begin = raw.rfind(b'":', low, at)
    return begin if begin > 0 and raw[begin - 1] != ord("\\") else at


def _resume(raw: bytes, at: int, old: bytes, start: int, *, has_much: bool) -> tuple[int, int] | None:
    """Return where two lines that differ here go on alike: after another value, or after what was put in."""
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
