"""What a process remembers of a producer's last lines, so that bytes which come again are not stored again.

A window may forget at any time, and need never have known: that costs bytes and nothing else. Its lines were
received on one day, so that no day's lines need those of another.
"""

from __future__ import annotations

from datetime import date

from recorder.journal.delta.common_prefix import ahead
from recorder.journal.delta.match import (
    COST,
    FINEST,
    KEY,
    LARGE,
    LEAST,
    QUOTE,
    TEXT,
    Kept,
    Own,
    Run,
    alike,
    around,
    kept,
    retold,
    stored,
    text_begin,
)

WORTH = 192  # bytes: a shorter line is stored as it is
TEXTS_WORTH = 256  # bytes: in a shorter part of a line nobody looks for texts
HEAD, MOST_HEADS = 512, 4096
GROWN = 64  # bytes by which another state of a line is better to compare with than the one before
GENERATION = 8 * 1024 * 1024  # bytes
# These come again and again in one loop, each much like the one before.
STATES = frozenset(("MessageUpdate", "TurnRequest", "ToolExecutionUpdate", "SourceEvent"))
# These repeat whole messages of their loop, in the order in which they ended.
RETELLINGS = frozenset(("TurnEnd", "AgentEnd"))
MESSAGES = frozenset(("MessageStart", "MessageEnd"))

_MESSAGE = b'"message":'
_WINDOW_BYTES, _TEXT_BYTES, _HEAD_BYTES = 4096, 400, 800  # of memory: an empty one, and what each takes

State = tuple[str, str | None]  # a kind of line and a loop
# The first line of a kind in a loop, what all begin with, its cost, where messages begin, where texts may.
Head = tuple[int, bytes, int, int, int]
Texts = dict[bytes, tuple[Kept, int]]
Begun = list[tuple[bytes, int]]  # how texts of a line begin, and where


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
        self._heads: dict[State, Head] = {}
        self._begun: Kept | None = None  # the message that began last
        self._said: dict[str | None, list[Kept]] = {}  # by loop, messages as they ended
        self._told: dict[str | None, int] = {}  # by loop, how many of them were there when a turn ended

    @property
    def size(self) -> int:
        """Return about how many bytes of memory it takes."""
        heads = _HEAD_BYTES * len(self._heads)
        return _WINDOW_BYTES + self._noted + self._noted_older + self._held + heads

    def store(self, line: int, raw: bytes, kind: str, loop: str | None) -> Own:
        """Return how a line is stored, and remember it."""
        if len(raw) < WORTH:
            return raw, None
        if kind == "MessageEnd" and (own := self._as_begun(line, raw, loop)):
            return own
        runs: list[Run] = []
        if kind in STATES:
            self._store_state(line, raw, (kind, loop), runs)
        else:
            self._store_other(line, raw, (kind, loop), runs)
        return stored(line, raw, runs) if runs else (raw, None)

    def _as_begun(self, line: int, raw: bytes, loop: str | None) -> Own | None:
        """Return how a message is stored that ends as it began: all but its kind."""
        if self._begun is None:
            return None
        held_by, like, cost, _, _ = self._begun
        at = raw.find(b",")
        same = raw[at:]
        size = len(same)
        if size < LEAST or cost >= COST or not like.endswith(same):
            return None
        self._say(loop, self._begun)
        return raw[:at], f"[{at},[{line - held_by},{len(like) - size},{size}]]"

    def _store_state(self, line: int, raw: bytes, state: State, runs: list[Run]) -> None:
        texts: Begun = []
        like = self._like(*state)
        low = at = common = 0
        for run in alike(raw, like) if like else ():
            first, size, _, _, _ = run
            if first - at >= LEAST:
                self._find(raw, at, text_begin(raw, low, at), first, runs, texts)
            runs.append(run)
            low, at, common = first, first + size, common + size
        if len(raw) - common >= TEXTS_WORTH:
            self._find(raw, at, text_begin(raw, low, at), len(raw), runs, texts)
        is_next = common * 2 > len(raw)
        if like is None or not is_next or len(raw) > len(like[1]) + GROWN:
            self._hold(kept(line, raw, runs), state)
        if not is_next:
            self._note(kept(line, raw, runs), texts)

    def _store_other(self, line: int, raw: bytes, state: State, runs: list[Run]) -> None:
        texts: Begun = []
        at = look = 0
        head = self._heads.get(state)
        if head is not None:
            if not raw.startswith(head[1]):
                head = self._shorten(head, raw, state)
            held_by, same, cost, _, begin = head
            if len(same) >= LEAST and cost < COST:  # all lines of a kind begin alike in a loop
                at, look = len(same), begin
                runs.append((0, at, held_by, 0, cost))
        if state[0] in RETELLINGS and (told := self._retell(raw, at, look, state, runs, texts)):
            at = look = told
        if len(raw) - at >= TEXTS_WORTH:
            self._find(raw, at, look, len(raw), runs, texts)
        if texts or head is None or state[0] in MESSAGES:
            self._keep(line, raw, state, head, runs, texts)

    def _retell(self, raw: bytes, at: int, look: int, state: State, runs: list[Run], texts: Begun) -> int:
        """Add what is said again, and what is found before that; return where it ends, 0 if nothing is."""
        told = retold(raw, at, self._untold(*state))
        for run in told:
            first, size, _, _, _ = run
            if first - at >= TEXTS_WORTH:
                self._find(raw, at, look, first, runs, texts)
            runs.append(run)
            at = look = first + size
        return at if told else 0

    def _keep(
        self, line: int, raw: bytes, state: State, head: Head | None, runs: list[Run], texts: Begun
    ) -> None:
        """Remember a line, and what else is to be found in it."""
        kind, loop = state
        message = head[3] if head else max(raw.find(_MESSAGE, 0, HEAD), 0) + len(_MESSAGE)
        this = kept(line, raw, runs, message)
        self._note(this, texts)
        if kind == "MessageStart":
            self._begun = this
        elif kind == "MessageEnd":
            self._say(loop, this)
        if head is None:
            if len(self._heads) > MOST_HEADS:
                self._heads.clear()
            self._heads[state] = line, raw[:HEAD], this[2], message, 0

    def _shorten(self, head: Head, raw: bytes, state: State) -> Head:
        """Return what this line too begins with."""
        held_by, same, cost, message, _ = head
        same = raw[: ahead(raw, 0, same, 0)]
        self._heads[state] = shorter = held_by, same, cost, message, max(same.rfind(b'":'), 0)
        return shorter

    def _say(self, loop: str | None, message: Kept) -> None:
        said = self._said.get(loop)
        if said is None:
            self._said[loop] = said = []
        said.append(message)

    def _untold(self, kind: str, loop: str | None) -> list[Kept]:
        """Return what a line may tell again: what was said in its turn, or in all its loop, which is over."""
        if kind == "AgentEnd":
            self._told.pop(loop, None)
            return self._said.pop(loop, [])
        said = self._said.get(loop)
        if said is None:
            return []
        since = self._told.get(loop, 0)
        self._told[loop] = len(said)
        return said[since:]

    def _like(self, kind: str, loop: str | None) -> Kept | None:
        """Return the line of a kind to compare with: the last of its loop, or else of any."""
        found = self._states.get((kind, loop))
        if found is None and (newest := self._newest.get(kind)):
            found = self._states.get(newest)
        return found if found is None or found[2] < COST else None

    def _hold(self, this: Kept, state: State) -> None:
        before = self._states.pop(state, None)
        self._states[state] = this
        self._newest[state[0]] = state
        self._held += len(this[1]) - (len(before[1]) if before else 0)
        while self._held > GENERATION and len(self._states) > 1:
            self._held -= len(self._states.pop(next(iter(self._states)))[1])

    def _note(self, this: Kept, texts: Begun) -> None:
        noted = self._texts
        for key, at in texts:
            noted[key] = this, at
        self._noted += len(this[1]) + _TEXT_BYTES * (1 + len(texts))
        if self._noted > GENERATION:
            self._older, self._noted_older = noted, self._noted
            self._texts, self._noted = {}, 0
            self._said.clear()
            self._told.clear()

    def _find(self, raw: bytes, at: int, look: int, end: int, runs: list[Run], texts: Begun) -> None:
        """Add the runs from `at` to `end` that have texts known from other lines, and all texts there."""
        shortest = LEAST if len(raw) < LARGE else len(raw) >> FINEST
        known, older = self._texts, self._older
        while end - at >= shortest and (text := TEXT.search(raw, look, end)):
            begin = text.end()
            key = raw[begin : begin + KEY]
            texts.append((key, begin))
            found = known.get(key) or older.get(key)
            if found is not None:
                first, size, _, _, _ = run = around(raw, at, begin, end, found)
                if size >= shortest:
                    runs.append(run)
                    at = look = first + size
                    continue
            look = raw.find(QUOTE, begin + shortest, end)
            if look < 0:
                return
