"""Sends the lines of sources in order; the ledger follows the server's acknowledgements."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from loopscope_client.masking.masker import Masker
from loopscope_client.push.ledger import Ledger, Progress
from loopscope_client.push.sources import LINE_MAX, LostLines, Source
from loopscope_client.transport.http import Connection, Response

FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
BEGINNING = 64 * 1024  # bytes that the server keeps of a line that it rejects
REFUSALS = {
    400: "the server does not take these lines",
    401: "the token is unknown, expired or revoked",
    403: "the token lacks the scope ingest",
    404: "there is no Loopscope server at this address",
    415: "the server does not know this format: it is older than loopscope-push",
}


class Refused(Exception):
    """The server refuses what is sent, and would refuse it again."""


class Unavailable(Exception):
    """The server did not answer, or cannot store now; `wait_s` is how long to wait."""

    def __init__(self, why: str, wait_s: float) -> None:
        super().__init__(why)
        self.wait_s = wait_s


@dataclass(slots=True)
class Counts:
    """What one run has sent."""

    files: set[str] = field(default_factory=set)  # producers
    lines: int = 0
    rejected: int = 0


class Pusher:
    """Sends to one server, with a connection for each format. With `masker`, secrets are masked before."""

    def __init__(
        self, url: str, token: str, machine: str, ledger: Ledger, masker: Masker | None = None
    ) -> None:
        self._url, self._token, self._machine, self._ledger = url, token, machine, ledger
        self._masker = masker
        self._connections: dict[str, Connection] = {}
        self._wait_s = FIRST_WAIT_S
        self.counts = Counts()

    def push(self, source: Source, should_stop: Callable[[], bool]) -> None:
        """Send what a source has beyond the ledger.

        Raises Refused, Unavailable, LostLines, OSError, or MaskingError before the batch is sent.
        """
        done = self._ledger.progress(source.producer)
        while not should_stop() and (batch := source.next(done)) is not None:
            if batch.lines:
                response = self._post(source, done.lines, self._masked(batch.lines))
                if response.status == 409:
                    done = self._after_gap(source, response)
                    continue
                self._count(source, response, len(batch.lines))
            done = batch.end
            self._ledger.acknowledge(source.producer, source.path, done)

    def close(self) -> None:
        """Close the connections."""
        for connection in self._connections.values():
            connection.close()

    def _masked(self, lines: list[bytes]) -> list[bytes]:
        masker = self._masker
        return lines if masker is None else [_masked(masker, line) for line in lines]

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
        if response.status in REFUSALS:
            raise Refused(f"{REFUSALS[response.status]} ({response.error})")
        wait_s = response.retry_after_s if response.retry_after_s is not None else self._wait_s
        self._wait_s = min(LONGEST_WAIT_S, self._wait_s * 2)
        raise Unavailable(response.error, wait_s * random.uniform(0.8, 1.2))  # noqa: S311  spreads senders

    def _after_gap(self, source: Source, response: Response) -> Progress:
        """Return where the server wants the lines from: it may be another database than the ledger knows."""
        wanted = response.number("from")
        if wanted is None:
            raise Refused("the server reports missing lines without their number")
        done = source.at_line(wanted)
        if done.lines != wanted:
            raise LostLines("the server has lines that this file no longer has")
        self._ledger.acknowledge(source.producer, source.path, done)
        return done

    def _count(self, source: Source, response: Response, lines: int) -> None:
        rejected = response.body.get("rejected")
        self.counts.files.add(source.producer)
        self.counts.lines += lines
        self.counts.rejected += len(rejected) if isinstance(rejected, list) else 0


def _masked(masker: Masker, line: bytes) -> bytes:
    """Return a line masked; one that was cut stays too long, without its end, where a secret may be cut."""
    masked = masker.line(line)
    return masked if len(line) <= LINE_MAX else masked[:BEGINNING].ljust(len(line))
