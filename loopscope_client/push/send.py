"""Sends the lines of sources in order; the ledger follows the server's acknowledgements."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from loopscope_client.masking.masker import Masker
from loopscope_client.push.ledger import Ledger, Progress
from loopscope_client.push.streams import BATCH_BYTES, BATCH_LINES, Line, LostLines, Rewritten, Source
from loopscope_client.transport.http import Connection, Response

FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
NAMED = 20  # rejected lines that are named one by one; the others are counted
REFUSALS = {
    401: "the token is unknown, expired or revoked",
    403: "the token lacks the scope ingest",
    404: "there is no Loopscope server at this address",
}
OF_SOURCE = {  # statuses by which the server refuses a source, and not the sender
    400: "the server does not take its lines",
    413: "the server does not take that many bytes",
    415: "the server does not know this format: it is older than loopscope-push",
}


class Refused(Exception):
    """The server refuses what is sent, and would refuse it again."""


class SourceRefused(Exception):
    """The server refuses what is sent of one source; it may take the others."""


class Unavailable(Exception):
    """The server did not answer, or cannot store now; `wait_s` is how long to wait."""

    def __init__(self, why: str, wait_s: float) -> None:
        super().__init__(why)
        self.wait_s = wait_s


@dataclass(slots=True)
class Counts:
    """Counts of what one run has sent."""

    files: set[str] = field(default_factory=set)  # producers
    lines: int = 0
    rejected: int = 0
    problems: list[str] = field(default_factory=list)  # the first rejected lines, to be printed
    anew: dict[str, int] = field(default_factory=dict)  # new lines of files that were written anew, by path


class Pusher:
    """Sends to one server, with a connection for each format. With `masker`, secrets are masked before."""

    def __init__(
        self, url: str, token: str, machine: str, ledger: Ledger, masker: Masker | None = None
    ) -> None:
        self._url, self._token, self._machine, self._ledger = url, token, machine, ledger
        self._mask = None if masker is None else masker.line
        self._connections: dict[str, Connection] = {}
        self._wait_s = FIRST_WAIT_S
        self.counts = Counts()

    def push(self, source: Source, should_stop: Callable[[], bool]) -> None:
        """Send what a source has beyond the ledger.

        Of a file that was written anew what is sent are the lines that were not sent before, after those that
        were. Raises Refused, SourceRefused, Unavailable, LostLines, OSError, or MaskingError before the batch
        is sent.
        """
        try:
            self._push_next(source, should_stop)
        except Rewritten:
            self._push_new(source, should_stop)

    def _push_next(self, source: Source, should_stop: Callable[[], bool]) -> None:
        done = self._ledger.progress(source.producer)
        if done.is_anew:
            raise Rewritten
        while not should_stop() and (batch := source.next(done, self._mask)) is not None:
            if not self._send(source, done, batch.lines, batch.end, batch.marks):
                done = self._ledger.progress(source.producer)
                if done.is_anew:
                    raise Rewritten
                continue
            done = batch.end

    def _push_new(self, source: Source, should_stop: Callable[[], bool]) -> None:
        """Send the lines of a file that were not sent. Until its end the ledger says to begin again."""
        before = done = self._ledger.progress(source.producer)
        known = Counter(self._ledger.marks(source.producer, done.lines))
        lines = _unknown(source.every(self._mask), known)
        end = 0
        for batch in _batches(lines):
            if should_stop():
                return
            end = batch[-1].end
            new = [line for line in batch if line.sent]
            after = Progress(done.offset, done.lines + len(new), is_anew=True)
            marks = [line.mark for line in new]
            if new and not self._send(source, done, [line.sent for line in new], after, marks):
                raise Unavailable("the server lost lines meanwhile", FIRST_WAIT_S)
            done = after
        if source.is_snapshot or before.is_anew:
            pass  # lines of it may be replaced, and the server may have asked for lines again
        elif done.lines == before.lines and end < before.offset:
            raise LostLines("the file is shorter than what was sent of it")
        else:
            self.counts.anew[str(source.path)] = done.lines - before.lines
        self._ledger.acknowledge(source.producer, source.path, source.ended(Progress(end, done.lines)))

    def close(self) -> None:
        """Close the connections."""
        for connection in self._connections.values():
            connection.close()

    def _send(
        self, source: Source, done: Progress, lines: list[bytes], end: Progress, marks: list[bytes]
    ) -> bool:
        """Send lines after `done` and note it; return False if the server lacks earlier ones."""
        if lines:
            response = self._post(source, done.lines, lines)
            if response.status == 409:
                self._after_gap(source, response)
                return False
            self._count(source, response, len(lines))
        self._ledger.acknowledge(source.producer, source.path, end, marks)
        return True

    def _post(self, source: Source, first: int, lines: list[bytes]) -> Response:
        connection = self._connections.get(source.agent)
        if connection is None:
            headers = {"X-Loopscope-Machine": self._machine.encode().decode("latin-1")}
            connection = Connection(self._url, self._token, source.agent, headers)
            self._connections[source.agent] = connection
        response = connection.post(source.producer, first, lines)
        if response.status in (200, 409):
            self._wait_s = FIRST_WAIT_S
            return response
        if response.status in OF_SOURCE and "bad_machine" not in response.error:
            raise SourceRefused(f"{OF_SOURCE[response.status]} ({response.error})")
        if 400 <= response.status < 500 and response.status not in (408, 429):
            raise Refused(f"{REFUSALS.get(response.status, 'the server refuses')} ({response.error})")
        wait_s = response.retry_after_s if response.retry_after_s is not None else self._wait_s
        self._wait_s = min(LONGEST_WAIT_S, self._wait_s * 2)
        raise Unavailable(response.error, wait_s * random.uniform(0.8, 1.2))  # noqa: S311  spreads senders

    def _after_gap(self, source: Source, response: Response) -> None:
        """Note where the server wants the lines from: it may be another database than the ledger knows."""
        wanted = response.number("from")
        if wanted is None:
            raise SourceRefused("the server reports missing lines without their number")
        if len(self._ledger.marks(source.producer, wanted)) == wanted:
            done = Progress(0, wanted, is_anew=wanted > 0)
        elif (done := source.at_line(wanted)).lines != wanted:
            raise LostLines("the server has lines that this file no longer has")
        self._ledger.acknowledge(source.producer, source.path, done)

    def _count(self, source: Source, response: Response, lines: int) -> None:
        found = response.body.get("rejected")
        rejected = found if isinstance(found, list) else []
        for each in rejected[: max(0, NAMED - self.counts.rejected)]:
            fields = each if isinstance(each, dict) else {}
            seq, why = fields.get("seq"), fields.get("message") or ""
            place = f"line {seq + 1}" if isinstance(seq, int) else "a line"
            self.counts.problems.append(f"{source.path}, {place}: {fields.get('code')}: {why}")
        self.counts.files.add(source.producer)
        self.counts.lines += lines
        self.counts.rejected += len(rejected)


def _unknown(lines: Iterator[Line], known: Counter[bytes]) -> Iterator[Line]:
    """Yield lines; what is sent of a line that is known is empty."""
    for line in lines:
        if known[line.mark]:
            known[line.mark] -= 1
            yield Line(b"", line.mark, line.end)
        else:
            yield line


def _batches(lines: Iterator[Line]) -> Iterator[list[Line]]:
    batch: list[Line] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += len(line.sent)
        if len(batch) >= BATCH_LINES or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
