"""How the lines of one spool come to the server: what follows from each answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import uniform
from typing import Literal

from loopscope_client.transport.encoding import LINE_BYTES, shortened
from loopscope_client.transport.http import Answer, Wire
from loopscope_client.transport.spool_folders import Held

State = Literal["open", "idle", "sending", "waiting", "unauthorized", "forbidden", "closed"]
LINES, BYTES = 500, 1 << 20
FIRST_WAIT_S, LONGEST_WAIT_S, LONGEST_RETRY_AFTER_S = 0.1, 5.0, 300.0
_LEAST_LINE = 1024


@dataclass(slots=True)
class Tally:
    """What became of the lines so far; written by the sending thread."""

    state: State = "open"
    error: str = ""
    sent: int = 0
    rejected: int = 0
    last_rejection: str = ""
    cut: int = 0
    retries: int = 0
    renumbered: int = 0


@dataclass(slots=True)
class Backoff:
    """Full jitter: a random wait below a limit that doubles."""

    tries: int = 0

    def next(self) -> float:
        limit = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** min(self.tries, 10))
        self.tries += 1
        return uniform(0, limit)  # noqa: S311  not a secret


@dataclass(slots=True)
class Course:
    """One producer on its way to the server."""

    held: Held
    wire: Wire
    tally: Tally
    backoff: Backoff
    most: int = LINES
    size: int = BYTES
    longest: int = LINE_BYTES
    flush: bool = False
    _at: int = field(default=0, init=False)
    _lines: list[bytes] = field(default_factory=list, init=False)

    @property
    def is_idle(self) -> bool:
        return not self.held.spool.waiting and not self.flush

    def step(self) -> float:
        """Send one batch and return how many seconds to wait before the next."""
        spool = self.held.spool
        spool.tell()
        if spool.state.base is None:
            return self._ask()
        if not self._lines:
            at, lines = spool.take(self.most, self.size)
            self._at, self._lines = at, [self._fitting(line) for line in lines]
        finishing = self.flush and self._at + len(self._lines) >= spool.next
        if not self._lines and not finishing:
            return 0.0
        first = spool.state.base + self._at
        answer = self.wire.post(spool.state.producer, first, self._lines, flush=finishing)
        if answer.status == 200:
            self.flush = self.flush and not finishing
        return self._follow(answer)

    def _follow(self, answer: Answer) -> float:
        if answer.status == 200 and (upto := answer.number("upto")) is not None:
            return self._stored(answer, upto)
        if answer.status == 409 and (from_ := answer.number("from")) is not None:
            self._gap(from_)
            return 0.0
        if answer.status == 413 and self._lines:
            self._split()
            return 0.0
        return self._refused(answer)

    def _ask(self) -> float:
        """Learn how far the producer is: a batch of no lines changes nothing."""
        spool = self.held.spool
        answer = self.wire.post(spool.state.producer, 0, [])
        upto = answer.number("upto")
        if answer.status == 200 and upto is not None:
            spool.rebase(upto + 1 - spool.state.acked)
            self._well()
            return 0.0
        return self._refused(answer)

    def _stored(self, answer: Answer, upto: int) -> float:
        spool, end = self.held.spool, self._at + len(self._lines)
        if upto + 1 < end + (spool.state.base or 0):
            return self._refused(Answer(0, error=f"the server says that it stored up to {upto} only"))
        self._well()
        taken = self._rejections(answer)
        if (
            taken
        ):  # somebody else sent as this producer, or the spool lost its end: these go under new numbers
            self.tally.renumbered += len(taken)
            spool.again(taken)
        self.tally.sent += len(self._lines) - len(taken)
        self._lines = []
        spool.done(end)
        return 0.0

    def _rejections(self, answer: Answer) -> list[bytes]:
        """Count what was rejected; return the lines whose numbers were taken."""
        found, taken = answer.said.get("rejected"), []
        first = self._at + (self.held.spool.state.base or 0)
        for each in found if isinstance(found, list) else []:
            seq = each.get("seq") if isinstance(each, dict) else None
            if not isinstance(seq, int) or not 0 <= seq - first < len(self._lines):
                continue
            if each.get("code") == "seq_conflict":
                taken.append(self._lines[seq - first])
                continue
            self.tally.rejected += 1
            self.tally.last_rejection = " ".join(str(each.get(name)) for name in ("code", "path", "message"))
        return taken

    def _gap(self, from_: int) -> None:
        spool = self.held.spool
        position = from_ - (spool.state.base or 0)
        if not spool.back_to(position):  # the server lost what it had acknowledged: it gets what is left
            self.tally.renumbered += 1
            position = spool.oldest
            spool.rebase(from_ - position)
        self._again(position)

    def _again(self, position: int) -> None:
        self._lines = []
        self.held.spool.back_to(position)

    def _split(self) -> None:
        """Send less at once; a line that is too large alone is sent with less content."""
        if len(self._lines) > 1:
            self.most = max(1, len(self._lines) // 2)
            self.size = max(4096, sum(map(len, self._lines)) // 2)
            self._again(self._at)
            return
        self.longest = max(_LEAST_LINE, len(self._lines[0]) // 2)
        self._lines = [self._fitting(self._lines[0])]

    def _fitting(self, line: bytes) -> bytes:
        if len(line) <= self.longest:
            return line
        self.tally.cut += 1
        return shortened(line, self.longest)

    def _refused(self, answer: Answer) -> float:
        self.tally.error = answer.error or f"{answer.status} without a word"
        if answer.status in (401, 403):
            self.tally.state = "unauthorized" if answer.status == 401 else "forbidden"
            return LONGEST_WAIT_S
        self.tally.state = "waiting"
        self.tally.retries += 1
        wait = self.backoff.next()
        if answer.retry_after_s is None:
            return wait
        return min(answer.retry_after_s, LONGEST_RETRY_AFTER_S) + min(wait, 1.0)

    def _well(self) -> None:
        self.tally.state, self.tally.error = "sending", ""
        self.backoff.tries = 0
