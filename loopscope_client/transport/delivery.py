"""Delivery of one spool: send a batch, and act on the response.

Lines are numbered, so a batch may be sent again at any time: the server stores each number once. A 200 moves
the spool forward, a 409 names the number to continue from, a 413 halves the batch, anything else is retried
after a random wait.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Literal

from loopscope_client.transport.encoding import LINE_BYTES, shortened
from loopscope_client.transport.http import Connection, Response
from loopscope_client.transport.spool_folders import LockedSpool

State = Literal["open", "idle", "sending", "waiting", "unauthorized", "forbidden", "closed"]
LINES, BYTES = 500, 1 << 20
FIRST_WAIT_S, LONGEST_WAIT_S, LONGEST_RETRY_AFTER_S = 0.1, 5.0, 300.0
_LEAST_LINE = 1024
_jitter = Random()  # noqa: S311  not a secret; its own, as the program's random numbers may be seeded


@dataclass(slots=True)
class Counters:
    """Delivery state and counters of a client; written by the sending thread only."""

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
    """Full jitter: a random wait below a limit that doubles from 0.1 s to 5 s."""

    tries: int = 0

    def next(self) -> float:
        """Return the seconds to wait before the next try."""
        limit = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** min(self.tries, 10))
        self.tries += 1
        return _jitter.uniform(0, limit)


@dataclass(slots=True)
class Delivery:
    """Delivery of one producer's spool; `most`, `size` and `longest` shrink when the server answers 413."""

    locked: LockedSpool
    connection: Connection
    counters: Counters
    backoff: Backoff
    most: int = LINES
    size: int = BYTES
    longest: int = LINE_BYTES
    flush: bool = False
    _at: int = field(default=0, init=False)
    _lines: list[bytes] = field(default_factory=list, init=False)

    @property
    def is_idle(self) -> bool:
        return not self.locked.spool.waiting and not self.flush

    def step(self) -> float:
        """Send one batch and return how many seconds to wait before the next."""
        spool = self.locked.spool
        spool.report_drops()
        if spool.state.base is None:
            return self._fetch_base()
        if not self._lines:
            at, lines = spool.take(self.most, self.size)
            self._at, self._lines = at, [self._fitting(line) for line in lines]
        finishing = self.flush and self._at + len(self._lines) >= spool.next
        if not self._lines and not finishing:
            return 0.0
        first = spool.state.base + self._at
        response = self.connection.post(spool.state.producer, first, self._lines, flush=finishing)
        if response.status == 200:
            self.flush = self.flush and not finishing
        return self._follow(response)

    def _follow(self, response: Response) -> float:
        if response.status == 200 and (upto := response.number("upto")) is not None:
            return self._stored(response, upto)
        if response.status == 409 and (from_ := response.number("from")) is not None:
            self._gap(from_)
            return 0.0
        if response.status == 413 and self._lines:
            self._split()
            return 0.0
        return self._refused(response)

    def _fetch_base(self) -> float:
        """Ask the server for the producer's last number with an empty batch, which changes nothing."""
        spool = self.locked.spool
        response = self.connection.post(spool.state.producer, 0, [])
        upto = response.number("upto")
        if response.status == 200 and upto is not None:
            spool.rebase(upto + 1 - spool.state.acked)
            self._reset_backoff()
            return 0.0
        return self._refused(response)

    def _stored(self, response: Response, upto: int) -> float:
        spool, end = self.locked.spool, self._at + len(self._lines)
        if upto + 1 < end + (spool.state.base or 0):
            return self._refused(Response(0, error=f"the server says that it stored up to {upto} only"))
        self._reset_backoff()
        rejected_before = self.counters.rejected
        conflicts = self._rejections(response)
        if conflicts:
            # Another program sent as this producer, or the spool lost its end: these lines get new numbers.
            self.counters.renumbered += len(conflicts)
            spool.append_again(conflicts)
        rejected = self.counters.rejected - rejected_before
        self.counters.sent += len(self._lines) - len(conflicts) - rejected
        self._lines = []
        spool.done(end)
        return 0.0

    def _rejections(self, response: Response) -> list[bytes]:
        """Count rejected lines; return the lines whose numbers the server has with other content."""
        rejected, conflicts = response.body.get("rejected"), []
        first = self._at + (self.locked.spool.state.base or 0)
        for item in rejected if isinstance(rejected, list) else []:
            seq = item.get("seq") if isinstance(item, dict) else None
            if not isinstance(seq, int) or not 0 <= seq - first < len(self._lines):
                continue
            if item.get("code") == "seq_conflict":
                conflicts.append(self._lines[seq - first])
                continue
            self.counters.rejected += 1
            self.counters.last_rejection = " ".join(
                str(item.get(name)) for name in ("code", "path", "message")
            )
        return conflicts

    def _gap(self, from_: int) -> None:
        spool = self.locked.spool
        position = from_ - (spool.state.base or 0)
        if not spool.back_to(position):  # the server lost acknowledged lines: send those that are left
            self.counters.renumbered += 1
            position = spool.oldest
            spool.rebase(from_ - position)
        self._again(position)

    def _again(self, position: int) -> None:
        self._lines = []
        self.locked.spool.back_to(position)

    def _split(self) -> None:
        """Halve the batch; a single line that is too large is shortened."""
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
        self.counters.cut += 1
        return shortened(line, self.longest)

    def _refused(self, response: Response) -> float:
        self.counters.error = response.error or f"{response.status} without a body"
        if response.status in (401, 403):
            self.counters.state = "unauthorized" if response.status == 401 else "forbidden"
            return LONGEST_WAIT_S
        self.counters.state = "waiting"
        self.counters.retries += 1
        wait = self.backoff.next()
        if response.retry_after_s is None:
            return wait
        return min(response.retry_after_s, LONGEST_RETRY_AFTER_S) + min(wait, 1.0)

    def _reset_backoff(self) -> None:
        self.counters.state, self.counters.error = "sending", ""
        self.backoff.tries = 0
