"""A window over a producer's last lines, in which bytes that a new line repeats are found.

Invariant: a line copies from earlier lines of its producer and day only, and copies nest to a bounded depth,
so that reading a line costs about what the line costs, however long its loop is. What nests is whole-line
copies; copies of literals never do (`encoding.py`). There are three ways to find a match:

- Texts and heads. The beginnings of texts are indexed, but only where they are literals of their row, so a
  match with one is a copy of literals, whatever other lines repeated the text in between. Likewise all lines
  of a kind and loop begin alike, and copy that beginning from the first of them.
- Messages. `TurnEnd` and `AgentEnd` repeat messages of their loop, a `MessageEnd` repeats its `MessageStart`.
  These are whole-line copies of lines that have copies of literals only, or of one that has: depth 2.
- States. A `TurnRequest` or an update repeats the one before it: whole-line copies in a skip structure of
  depth 8 (`state_chain.py`).

How a line is stored, by `store`:

1. A line shorter than WORTH is stored as it is.
2. A `MessageEnd` that differs from the last `MessageStart` in its kind only is a copy of it.
3. A line of a kind in STATES is compared with the state that is held of its kind and loop, or else of its
   kind. A line that is another state, or longer by more than GROWN bytes, is held in its place.
4. Any other line copies the head of its kind and loop, then the messages that it repeats.
5. What rules 3 and 4 leave, where it is at least TEXTS_WORTH bytes, is searched for indexed texts.
6. Only then are the texts and messages of the line indexed: no line copies from itself.

For example line 7, of 275 bytes, is `{"type":"MessageStart","loop_id":"s.a.1",…}`, and line 8, of 273 bytes,
`{"type":"MessageEnd","loop_id":"s.a.1",…}` with the same message. By rule 2 the row of line 8 has the
literals `{"type":"MessageEnd"` and the pieces `[20,[1,22,253]]`: 20 literal bytes, then the 253 bytes from
byte 22 of the line whose key is lower by 1.

A window is a hint: to lose it costs bytes and nothing else. Cost: time linear in the line, a few comparisons
and one look-up a text; memory 2 * GENERATION for texts and messages, GENERATION for states.
"""

from __future__ import annotations

from datetime import date

from recorder.journal.delta.common_prefix import common_prefix
from recorder.journal.delta.encoding import OWN
from recorder.journal.delta.match import (
    KEY,
    LEAST,
    QUOTE,
    TEXT,
    Match,
    Message,
    Row,
    compare,
    encode,
    extend,
    repeated,
    shortest_match,
    text_begin,
)
from recorder.journal.delta.state_chain import SHORTEST, Chain, follow, rebase

WORTH = 192  # bytes: a shorter line is stored as it is
TEXTS_WORTH = 256  # bytes: in a shorter part of a line texts are not looked up
HEAD, MOST_HEADS = 512, 4096
GROWN = 48  # bytes by which a state must be longer than the held one to be held instead
GENERATION = 8 * 1024 * 1024  # bytes
COST, STEP = 128 * 1024 * 1024, 128 * 1024  # bytes to restore a line, and the addition for each nested source
# Each line of these kinds is compared with the last one of its kind and loop.
STATES = frozenset(("MessageUpdate", "TurnRequest", "ToolExecutionUpdate", "SourceEvent"))
# Lines that repeat whole messages of their loop, in the order in which they ended.
SUMMARIES = frozenset(("TurnEnd", "AgentEnd"))
MESSAGES = frozenset(("MessageStart", "MessageEnd"))

_MESSAGE = b'"message":'
# Bytes of memory: an empty window, an indexed text, a head, a match of a held state.
_WINDOW_BYTES, _TEXT_BYTES, _HEAD_BYTES, _MATCH_BYTES = 4096, 400, 800, 120

Encoded = tuple[bytes, str | None]  # the columns `own` and `pieces` of a row
StateKey = tuple[str, str | None]  # a kind of line and a loop
State = tuple[int, bytes, Chain, int]  # a held state: its key, its bytes, its chain, bytes of memory
# The beginning of all lines of a kind and loop: source row, bytes, start in its literals; then where messages
# begin in such lines, and where to look for texts in them.
Head = tuple[int, bytes, int, int, int]
Texts = list[tuple[bytes, int]]  # the keys of texts of a line that are not in the index, and where they begin
Index = dict[bytes, tuple[Row, int]]


class Window:
    """The last lines of one producer and day."""

    def __init__(self, day: date) -> None:
        self.day = day
        self.high = -1  # the producer's high water when the last line was stored
        self.deletions = 0  # of lines of the producer, before the first line of the window
        self._texts: Index = {}
        self._older: Index = {}
        self._indexed = self._indexed_older = 0  # bytes of memory
        self._renewed: set[int] = set()  # rows of the older index whose bytes count for the new one too
        self._states: dict[StateKey, State] = {}
        self._newest: dict[str, StateKey] = {}
        self._held = 0  # bytes of memory of the states
        self._heads: dict[StateKey, Head] = {}
        self._started: Message | None = None  # the message that started last
        self._ended: dict[str | None, list[Message]] = {}  # by loop, in the order in which they ended
        self._summarised: dict[str | None, int] = {}  # by loop, how many had ended at the last TurnEnd

    @property
    def size(self) -> int:
        """Return the approximate bytes of memory."""
        heads = _HEAD_BYTES * len(self._heads)
        return _WINDOW_BYTES + self._indexed + self._indexed_older + self._held + heads

    def store(self, line: int, raw: bytes, kind: str, loop: str | None) -> Encoded:
        """Return the columns of a line, and note what later lines may copy from it.

        `line` is its key, greater than that of all lines before it; `raw` its bytes.
        """
        if len(raw) < WORTH:
            return raw, None
        if kind == "MessageEnd" and (encoded := self._as_started(line, raw, loop)):
            return encoded
        if kind in STATES:
            return self._store_state(line, raw, (kind, loop))
        return self._store_other(line, raw, (kind, loop))

    def _as_started(self, line: int, raw: bytes, loop: str | None) -> Encoded | None:
        """Return the columns of a MessageEnd that differs from the last MessageStart in its kind only."""
        if self._started is None:
            return None
        source, started, _ = self._started
        at = raw.find(b",")
        same = raw[at:]
        size = len(same)
        if size < LEAST or not started.endswith(same):
            return None
        # Summaries copy from the MessageStart: one copy less to follow.
        self._ended.setdefault(loop, []).append(self._started)
        return raw[:at], f"[{at},[{line - source},{len(started) - size},{size}]]"

    def _store_state(self, line: int, raw: bytes, state: StateKey) -> Encoded:
        """Store a line that is compared with the last one of its kind; hold it if it is the better one."""
        texts: Texts = []
        matches: list[Match] = []
        like = self._like(*state)
        low = at = common = 0
        for match in compare(raw, like[0], like[1]) if like else ():
            first, size, _, _, _ = match
            if first - at >= LEAST:
                self._find(raw, at, text_begin(raw, low, at), first, matches, texts)
            matches.append(match)
            low, at, common = first, first + size, common + size
        if len(raw) - common >= TEXTS_WORTH:
            self._find(raw, at, text_begin(raw, low, at), len(raw), matches, texts)
        is_next = common * 2 > len(raw)
        if like is None or not is_next or len(raw) > len(like[1]) + GROWN:
            # A state that is not held may copy from the last one: no other line copies from it.
            if like is not None and common:
                matches = rebase(matches, like[2], max(SHORTEST, shortest_match(len(raw)) // 2))
            self._hold(line, raw, matches, like, state)
        encoded = encode(line, raw, matches)
        if not is_next:
            self._note(line, encoded[0], matches, texts)
        return encoded

    def _store_other(self, line: int, raw: bytes, state: StateKey) -> Encoded:
        """Store a line that begins like others of its kind, and may repeat messages and texts."""
        texts: Texts = []
        matches: list[Match] = []
        at = look = 0
        head = self._heads.get(state)
        if head is not None:
            if not raw.startswith(head[1]):
                head = self._shorten(head, raw, state)
            source, same, start, _, begin = head
            if len(same) >= LEAST:
                at, look = len(same), begin
                matches.append((0, at, source, start, OWN))
        if state[0] in SUMMARIES and (end := self._repeat(raw, at, look, state, matches, texts)):
            at = look = end
        if len(raw) - at >= TEXTS_WORTH:
            self._find(raw, at, look, len(raw), matches, texts)
        encoded = encode(line, raw, matches)
        if texts:
            self._note(line, encoded[0], matches, texts)
        message = head[3] if head else max(raw.find(_MESSAGE, 0, HEAD), 0) + len(_MESSAGE)
        if state[0] in MESSAGES:
            self._keep_message(state, (line, raw, message))
        if head is None:
            self._add_head(state, line, raw, matches, message)
        return encoded

    def _repeat(
        self, raw: bytes, at: int, look: int, state: StateKey, matches: list[Match], texts: Texts
    ) -> int:
        """Add matches with repeated messages and texts between them; return where they end, 0 for none."""
        found = repeated(raw, at, self._messages(*state))
        for match in found:
            first, size, _, _, _ = match
            if first - at >= TEXTS_WORTH:
                self._find(raw, at, look, first, matches, texts)
            matches.append(match)
            at = look = first + size
        return at if found else 0

    def _keep_message(self, state: StateKey, message: Message) -> None:
        """Keep a message for the lines that repeat it, until the generation of the index ends."""
        self._count(len(message[1]))
        if state[0] == "MessageStart":
            self._started = message
        else:
            self._ended.setdefault(state[1], []).append(message)

    def _messages(self, kind: str, loop: str | None) -> list[Message]:
        """Return the messages that a line may repeat: those of its turn, or for AgentEnd of its loop."""
        if kind == "AgentEnd":
            self._summarised.pop(loop, None)
            return self._ended.pop(loop, [])
        ended = self._ended.get(loop)
        if ended is None:
            return []
        since = self._summarised.get(loop, 0)
        self._summarised[loop] = len(ended)
        return ended[since:]

    def _add_head(self, state: StateKey, line: int, raw: bytes, matches: list[Match], message: int) -> None:
        """Note the beginning of the first line of a kind and loop, in the row that has it as a literal."""
        if len(self._heads) > MOST_HEADS:
            self._heads.clear()
        if matches and not matches[0][0]:
            _, size, source, start, part = matches[0]
            if part == OWN:
                self._heads[state] = source, raw[: min(size, HEAD)], start, message, 0
            return
        end = min(matches[0][0], HEAD) if matches else HEAD
        self._heads[state] = line, raw[:end], 0, message, 0

    def _shorten(self, head: Head, raw: bytes, state: StateKey) -> Head:
        """Cut a head to what a line of its kind and loop begins with."""
        source, same, start, message, _ = head
        same = raw[: common_prefix(raw, 0, same, 0)]
        self._heads[state] = shorter = source, same, start, message, max(same.rfind(b'":'), 0)
        return shorter

    def _like(self, kind: str, loop: str | None) -> State | None:
        """Return the held state to compare with: the one of the loop, or else the newest of the kind."""
        found = self._states.get((kind, loop))
        if found is None and (newest := self._newest.get(kind)):
            found = self._states.get(newest)
        return found if found is None or found[2][-1][2] < COST else None

    def _hold(self, line: int, raw: bytes, matches: list[Match], like: State | None, state: StateKey) -> None:
        """Hold a state with its chain, which is a new one if it copies from no other state."""
        chain = follow(like[2] if like else (), line, len(raw) + STEP, matches)
        size = len(raw) + _MATCH_BYTES * sum(len(link[3]) for link in chain)
        before = self._states.pop(state, None)
        self._states[state] = line, raw, chain, size
        self._newest[state[0]] = state
        self._held += size - (before[3] if before else 0)
        while self._held > GENERATION and len(self._states) > 1:
            self._held -= self._states.pop(next(iter(self._states)))[3]

    def _note(self, line: int, own: bytes, matches: list[Match], texts: Texts) -> None:
        """Index the texts that are literals of a row."""
        row = line, own
        index, number = self._texts, len(matches)
        i = copied = end = 0  # the next match, the bytes of those before it, where they end
        for key, begin in texts:
            while i < number and matches[i][0] <= begin:
                copied, end = copied + matches[i][1], matches[i][0] + matches[i][1]
                i += 1
            # A later match may have been extended back over a text.
            if end <= begin and (i == number or matches[i][0] >= begin + KEY):
                index[key] = row, begin - copied
        self._count(len(own) + _TEXT_BYTES * (1 + len(texts)))

    def _renew(self, key: bytes, found: tuple[Row, int]) -> None:
        """Keep a text of the older generation that a line repeated."""
        self._texts[key] = found
        line, own = found[0]
        if line not in self._renewed:  # the bytes of a row count once for all its texts
            self._renewed.add(line)
            self._indexed += len(own)
        self._indexed += _TEXT_BYTES

    def _count(self, size: int) -> None:
        """Count bytes of memory; when there are too many, begin a generation and drop the oldest one."""
        self._indexed += size
        if self._indexed > GENERATION:
            self._older, self._indexed_older = self._texts, self._indexed
            self._texts, self._indexed = {}, 0
            self._renewed.clear()
            self._ended.clear()
            self._summarised.clear()

    def _find(self, raw: bytes, at: int, look: int, end: int, matches: list[Match], texts: Texts) -> None:
        """Add the matches between `at` and `end` that have indexed texts, and the other texts there."""
        shortest = shortest_match(len(raw))
        index, older = self._texts, self._older
        while end - at >= shortest and (text := TEXT.search(raw, look, end)):
            begin = text.end()
            key = raw[begin : begin + KEY]
            found = index.get(key)
            if found is None and (found := older.get(key)) is not None:
                self._renew(key, found)
            if found is not None:
                match = extend(raw, at, begin, end, *found)
                if match[1] >= shortest:
                    matches.append(match)
                    at = look = match[0] + match[1]
                    continue
            texts.append((key, begin))
            look = raw.find(QUOTE, begin + shortest, end)
            if look < 0:
                return
