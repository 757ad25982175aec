"""What a process remembers of a producer's last lines, so that bytes which come again are not stored again.

A window may forget at any time, and need never have known: that costs bytes and nothing else. Its lines were
received on one day, so that no day's lines need those of another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from recorder.alike import ahead, behind
from recorder.pieces import Stored

WORTH = 192  # bytes: a shorter line is stored as it is
LEAST = 48  # bytes of a piece
FINEST = 14  # of a large line pieces are larger: there are at most 2 to the power of this
COST, STEP = 128 * 1024 * 1024, 128 * 1024  # bytes to put a line together, and what each line on the way adds
TEXTS_WORTH = 256  # bytes: in a shorter one nobody looks for texts
HEAD, MOST_HEADS = 512, 4096
GROWN = 64  # bytes by which another state of a line is better to compare with than the one before
GENERATION = 8 * 1024 * 1024  # bytes
# These come again and again in one loop, each much like the one before.
STATES = frozenset(("MessageUpdate", "TurnRequest", "ToolExecutionUpdate", "SourceEvent"))

_TEXT = re.compile(rb'": ?"(?![\w$.:+/=-]{0,80}")')  # where a text begins, that is no name and no id
_BEFORE, _AFTER = 16, 40  # bytes around it by which it is known again
_QUOTES = 4  # bytes that a text begins after
_BRACES = 2  # that a line ends with: its message's and its own
_SAME, _NEAR, _MUCH = 24, 64, 1000
_TRIES = 16
_WINDOW_BYTES, _TEXT_BYTES, _HEAD_BYTES = 4096, 400, 800  # of memory: an empty one, and what each takes


# A line that others may be made of: its key, its bytes and what it costs to put it together. A tuple, as the
# collector of garbage does not go through those.
Kept = tuple[int, bytes, int]


Run = tuple[int, int, Kept, int]  # where, how many bytes, and in which line they stand from where
State = tuple[str, str | None]  # a kind of line and a loop
Texts = dict[bytes, tuple[Kept, int]]
Begun = list[tuple[int, bytes]]  # where texts begin in a line, and what is around it


class Window:
    """The lines of one producer and one day that came last."""

    def __init__(self, day: date) -> None:
        self.day = day
        self.high = -1  # the producer's high water when the last one was stored
        self._texts: Texts = {}
        self._older: Texts = {}
        self._noted = self._noted_older = 0  # bytes of memory
        self._states: dict[State, Kept] = {}
        self._newest: dict[str, State] = {}
        self._held = 0  # bytes of the states
        self._heads: dict[State, Kept] = {}
        self._last: Kept | None = None  # that is no state

    @property
    def size(self) -> int:
        """Return about how many bytes of memory it takes."""
        heads = _HEAD_BYTES * len(self._heads)
        return _WINDOW_BYTES + self._noted + self._noted_older + self._held + heads

    def store(self, line: int, raw: bytes, kind: str, loop: str | None) -> Stored:
        """Return how a line is stored, and remember it."""
        if len(raw) < WORTH:
            return Stored(raw)
        runs: list[Run] = []
        texts: Begun = []
        if kind in STATES:
            self._store_state(line, raw, (kind, loop), runs, texts)
        else:
            self._store_other(line, raw, (kind, loop), runs, texts)
        return _stored(line, raw, runs) if runs else Stored(raw)

    def _store_state(self, line: int, raw: bytes, state: State, runs: list[Run], texts: Begun) -> None:
        like = self._like(*state)
        common = 0
        for run in _alike(raw, like) if like else ():
            self._find(raw, run[0], runs, texts)
            runs.append(run)
            common += run[1]
        if len(raw) - common >= TEXTS_WORTH:
            self._find(raw, len(raw), runs, texts)
        is_next = common * 2 > len(raw)
        if like is None or not is_next or len(raw) > len(like[1]) + GROWN:
            self._hold(_kept(line, raw, runs), state)
        if not is_next:
            self._note(_kept(line, raw, runs), texts)

    def _store_other(self, line: int, raw: bytes, state: State, runs: list[Run], texts: Begun) -> None:
        first = self._heads.get(state)
        if first is not None:
            _, head, _ = first
            if not raw.startswith(head):
                _, head, _ = first = self._shorten(first, raw, state)
            if len(head) >= LEAST:  # all lines of a kind begin alike in a loop
                runs.append((0, len(head), first, 0))
                if self._take_tail(raw, len(head), runs):
                    return
        if len(raw) >= TEXTS_WORTH:
            self._find(raw, len(raw), runs, texts)
        if texts or first is None:
            self._last = kept = _kept(line, raw, runs)
            self._note(kept, texts)
        if first is None:
            if len(self._heads) > MOST_HEADS:
                self._heads.clear()
            self._heads[state] = line, raw[:HEAD], len(raw) + STEP

    def _shorten(self, first: Kept, raw: bytes, state: State) -> Kept:
        """Return what this line too begins with."""
        held_by, head, cost = first
        self._heads[state] = shorter = held_by, raw[: ahead(raw, 0, head, 0)], cost
        return shorter

    def _take_tail(self, raw: bytes, at: int, runs: list[Run]) -> bool:
        """Add the rest of a line if the last one says the same: a message that ends as it began."""
        last = self._last
        if last is None:
            return False
        _, like, cost = last
        if not raw.endswith(like[-LEAST:]) or cost >= COST:
            return False
        start = at + len(like) - len(raw)
        if start < 0 or len(raw) - at < LEAST or raw[at:] != like[start:]:
            return False
        runs.append((at, len(raw) - at, last, start))
        return True

    def _like(self, kind: str, loop: str | None) -> Kept | None:
        """Return the line of a kind to compare with: the last of its loop, or else of any."""
        found = self._states.get((kind, loop))
        if found is None and (newest := self._newest.get(kind)):
            found = self._states.get(newest)
        return found if found is None or found[2] < COST else None

    def _hold(self, kept: Kept, state: State) -> None:
        before = self._states.pop(state, None)
        self._states[state] = kept
        self._newest[state[0]] = state
        self._held += len(kept[1]) - (len(before[1]) if before else 0)
        while self._held > GENERATION and len(self._states) > 1:
            self._held -= len(self._states.pop(next(iter(self._states)))[1])

    def _note(self, kept: Kept, texts: Begun) -> None:
        noted = self._texts
        for at, near in texts:
            noted[near] = noted[near[_BEFORE:]] = kept, at
        self._noted += len(kept[1]) + _TEXT_BYTES * len(texts)
        if self._noted > GENERATION:
            self._older, self._noted_older = noted, self._noted
            self._texts, self._noted = {}, 0

    def _find(self, raw: bytes, end: int, runs: list[Run], texts: Begun) -> None:
        """Add the runs before `end` that have texts known from other lines; note all that begin there."""
        at = look = low = 0
        least = max(LEAST, len(raw) >> FINEST)
        if runs:
            low, size = runs[-1][:2]
            at = low + size
            look = _text_begin(raw, low, at)
        young, old = self._texts, self._older
        while end - at >= least and (text := _TEXT.search(raw, look, end)):
            begin = text.end()
            near = raw[begin - _BEFORE : begin + _AFTER] or bytes(_BEFORE - begin) + raw[: begin + _AFTER]
            texts.append((begin, near))
            look = begin + least
            # Where it stood last in like surroundings, or else at all.
            found = young.get(near) or old.get(near) or young.get(near[_BEFORE:]) or old.get(near[_BEFORE:])
            if found is None:
                continue
            kept, start = found
            _, like, cost = kept
            if cost >= COST:
                continue
            back = behind(raw, begin, like, start, begin - (at if begin >= at else low))
            first, stop = begin - back, begin + _rest(raw, begin, like, start)
            if stop > end:
                stop = end
            if stop - (at if at > first else first) < least:
                continue
            if first < at:
                runs[-1] = (low, first - low, *runs[-1][2:])
            runs.append((first, stop - first, kept, start - back))
            low, at, look = first, stop, stop


def _kept(line: int, raw: bytes, runs: list[Run]) -> Kept:
    most = 0
    for _, _, (_, _, cost), _ in runs:
        if cost > most:
            most = cost
    return line, raw, len(raw) + STEP + most


def _stored(line: int, raw: bytes, runs: list[Run]) -> Stored:
    """Return what a row holds of a line that has these runs."""
    if len(runs) == 1 and not runs[0][0]:  # most lines have a head and nothing else that is known
        _, size, (held_by, _, _), start = runs[0]
        return Stored(raw[size:], f"[[{line - held_by},{start},{size}],{len(raw) - size}]")
    own: list[bytes] = []
    pieces: list[str] = []
    at = 0
    for begin, size, (held_by, _, _), start in runs:
        if size < LEAST:
            continue
        if begin > at:
            own.append(raw[at:begin])
            pieces.append(f"{begin - at},[{line - held_by},{start},{size}]")
        else:
            pieces.append(f"[{line - held_by},{start},{size}]")
        at = begin + size
    if at < len(raw):
        own.append(raw[at:])
        pieces.append(f"{len(raw) - at}")
    return Stored(b"".join(own), f"[{','.join(pieces)}]")


def _alike(raw: bytes, like: Kept) -> Iterator[Run]:
    """Yield what a line has in common with one of its kind, in order."""
    _, old, _ = like
    at = start = common = 0
    for _ in range(_TRIES):
        size = ahead(raw, at, old, start)
        if size >= LEAST:
            yield at, size, like, start
        at, start, common = at + size, start + size, common + size
        if len(raw) - at < LEAST:
            return
        if (found := _resume(raw, at, old, start, has_much=common > _MUCH)) is None:
            return
        at, start = found


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
    text = _TEXT.search(raw, at)
    before = old.find(raw[text.end() : text.end() + _AFTER], start) if text else -1
    return (text.end(), before) if text and before >= 0 else None


def _text_begin(raw: bytes, low: int, at: int) -> int:
    """Return where to look for texts after a run: where it ends, or where the text begins that it ends in."""
    if raw.find(b'"', at, at + _NEAR) >= 0:
        return max(at - _QUOTES, low)
    begin = raw.rfind(b'":', low, at)
    return begin if begin > 0 and raw[begin - 1] != ord("\\") else at


def _rest(raw: bytes, at: int, old: bytes, start: int) -> int:
    """Return how many bytes are the same: mostly all of the old line's message, or else of a text."""
    size = len(old) - _BRACES - start
    is_end = size > _SAME and raw.startswith(old[-_SAME - _BRACES : -_BRACES], at + size - _SAME)
    if is_end and raw.startswith(old[start:-_BRACES], at):
        return size
    size = old.find(b'"', start + _AFTER) + 1 - start
    if size > 0 and raw.startswith(old[start : start + size], at):
        at, start = at + size, start + size
        goes_on = raw[at : at + _NEAR] == old[start : start + _NEAR]
        return size + ahead(raw, at, old, start) if goes_on else size
    return ahead(raw, at, old, start)
