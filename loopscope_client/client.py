"""The client: a call appends an event to the spool on disk and returns; a thread sends the spool."""

from __future__ import annotations

import atexit
import json
import logging
import os
import weakref
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import Self
from uuid import uuid4

from loopscope_client.factory import ScopeFactory
from loopscope_client.never_raise import quiet
from loopscope_client.transport import spool_folders
from loopscope_client.transport.delivery import State
from loopscope_client.transport.encoding import LINE_BYTES, line_of, shortened
from loopscope_client.transport.http import Connection
from loopscope_client.transport.sender import Sender
from loopscope_client.transport.spool import HALF
from loopscope_client.transport.spool_folders import LockedSpool

log = logging.getLogger(__name__)
SPOOL_BYTES = 64 * 1024 * 1024
CLOSE_S = 5.0
_PRODUCER_BYTES = 180


@dataclass(frozen=True, slots=True)
class Status:
    """Delivery state and counters of a client.

    `state` is open, idle, sending, waiting, unauthorized, forbidden or closed. Counters start at 0 with the
    client and count lines; `queued` also counts lines of earlier processes of the same producer.

    Example::

        status = client.status
        print(status.state, status.queued, status.error)
    """

    state: State
    error: str  # why the client waits, empty while it does not
    producer: str
    spool: str  # path of this producer's folder
    queued: int  # lines that are not stored yet
    queued_bytes: int
    sent: int  # lines that are stored
    rejected: int  # lines that the server rejected permanently; its integrity page lists them
    last_rejection: str
    cut: int  # events above the size limit, sent with shortened content
    retries: int
    renumbered: int  # lines sent again under new numbers, because the server had lost or used the old ones
    dropped: dict[str, int] = field(default_factory=dict)  # events per type that found the spool full

    @property
    def ok(self) -> bool:
        """Whether all events so far are stored or will be: none was dropped or rejected, none waits.

        Example::

            if not client.status.ok:
                print(client.status.error or client.status.last_rejection)
        """
        return self.state in ("open", "idle", "sending") and not self.dropped and not self.rejected


class Client(ScopeFactory):
    """Records the runs of an agent; recording calls return at once and never raise.

    `url` is the server's HTTP or HTTPS URL, `token` an access token with the scope ingest. `producer` names
    the stream, so that a later process continues its numbers. `spool` is the folder of lines that wait; by
    default one per user, server and token. `spool_bytes` limits its size (at least 16 KiB), `close_s` is how
    many seconds `close` waits. `format` is the format of lines given to `forward`, `first` the number of the
    spool's first line when the caller numbers lines itself. Thread-safe; a forked child gets a producer of
    its own. Raises ValueError when `url` is not an HTTP or HTTPS URL.

    Example::

        with Client(url, token, producer="nightly-report", spool_bytes=16 * 1024 * 1024) as client:
            with client.loop(agent="reporter", model="my-model") as loop:
                loop.user("Summarise the day")
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        producer: str | None = None,
        spool: str | os.PathLike[str] | None = None,
        spool_bytes: int = SPOOL_BYTES,
        close_s: float = CLOSE_S,
        format: str = "native",
        first: int | None = None,
    ) -> None:
        self._url, self._token, self._first = url.rstrip("/"), token.strip(), first
        self._format = format
        self._producer = _producer(producer) if producer else None
        self._spool_root = Path(spool) if spool is not None else None
        self._budget, self._close_s = max(16 * 1024, spool_bytes), close_s
        self._lock = RLock()
        self._closed = False
        Connection(self._url, self._token)  # raises now if the URL is not one
        self._open()
        _CLIENTS.add(self)
        atexit.register(self.close)

    @quiet
    def send(self, event: Mapping[str, object]) -> None:
        """Record one event of `docs/reference/events.md`; the outermost keys are its fields.

        Values without a JSON form become their `repr`. An event above 4 MiB keeps its ids, times and counts;
        its long texts are cut. Never raises; an event that finds the spool full counts in `status.dropped`.

        Example::

            client.send({"type": "Notice", "session_id": "chat", "kind": "note", "text": "Hi"})
        """
        line = line_of(event)
        if len(line) > LINE_BYTES:
            line = shortened(line, LINE_BYTES)
        kind = event.get("type")
        self._put(line, kind if isinstance(kind, str) else "", _place(event))

    def forward(self, line: bytes) -> bool:
        """Record one line of JSON in the client's `format`; return False when the spool has no room for it.

        A blank line is skipped. A line above 4 MiB is shortened. A line that is not JSON is sent too: the
        server rejects it and lists it on the integrity page.

        Example::

            line = b'{"type":"Notice","session_id":"chat","kind":"note","text":"Hi"}'
            assert client.forward(line)
        """
        if not line.strip():
            return True
        if len(line) > LINE_BYTES:
            line = shortened(line, LINE_BYTES)
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            event = None  # the server rejects the line and shows it on its integrity page
        named = event if isinstance(event, dict) else {}
        kind = named.get("type")
        return self._put(line, kind if isinstance(kind, str) else "", _place(named))

    def has_room(self, size: int) -> bool:
        """Whether the spool has room for a line of `size` bytes, whatever its event type.

        Example::

            line = b'{"type":"Notice","session_id":"chat","kind":"note","text":"Hi"}'
            while not client.has_room(len(line)):
                client.flush(timeout=1)
            client.forward(line)
        """
        return self._locked.spool.queued + size < self._budget * HALF

    @property
    def position(self) -> int:
        """Number of lines appended to this producer's spool so far, by all its processes.

        Example::

            before = client.position
            client.send({"type": "Notice", "session_id": "chat", "kind": "note", "text": "Hi"})
            assert client.position == before + 1
        """
        return self._locked.spool.next

    @property
    def status(self) -> Status:
        """Delivery state and counters at this moment, see `Status`.

        Example::

            print(client.status.state, client.status.sent, client.status.queued)
        """
        spool, counters = self._locked.spool, self._sender.counters
        dropped = dict(spool.drops.all)
        return Status(
            state="closed" if self._closed else counters.state,
            error=counters.error,
            producer=spool.state.producer,
            spool=str(spool.folder),
            queued=spool.waiting,
            queued_bytes=spool.queued,
            sent=counters.sent,
            rejected=counters.rejected,
            last_rejection=counters.last_rejection,
            cut=counters.cut,
            retries=counters.retries,
            renumbered=counters.renumbered,
            dropped=dropped,
        )

    def flush(self, timeout: float = CLOSE_S) -> bool:
        """Wait until the server has stored all lines so far; return whether it has.

        Returns False after `timeout` seconds, and at once while the server refuses the token.

        Example::

            client.send({"type": "Notice", "session_id": "chat", "kind": "note", "text": "Checkpoint"})
            assert client.flush(timeout=10)
        """
        self._sender.wake()
        return self._sender.drained(timeout)

    def close(self, timeout: float | None = None) -> bool:
        """Wait at most `timeout` seconds (default `close_s`) until all lines are stored, then stop.

        Returns whether all are stored. Lines that are left stay in the spool; the next client of the same
        spool sends them. The end of `with` and the end of the program call it; a second call does nothing.

        Example::

            client = Client(url, token)
            assert client.close(timeout=10)
        """
        with self._lock:
            if self._closed:
                return True
            self._closed = True
        atexit.unregister(self.close)
        self._sender.wake()
        stored = self._sender.drained(self._close_s if timeout is None else timeout)
        self._sender.stop(1.0)
        return stored

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def finish(self) -> None:
        """Mark the end of the stream: after the last line the server ends open loops as aborted.

        Example::

            client.finish()
            assert client.flush(timeout=10)
        """
        self._sender.finish()

    def _put(self, line: bytes, kind: str, place: tuple[str, str] | None) -> bool:
        if self._closed:
            log.warning("an event was not recorded: the client is closed")
            return False
        is_appended = self._locked.spool.append(line, kind, place)
        self._sender.wake()
        return is_appended

    def _open(self) -> None:
        self._locked, root = self._spool()
        connection = Connection(self._url, self._token, self._format)
        self._sender = Sender(self._locked, connection, root, self._destination, self._budget)
        self._sender.start()

    @property
    def _destination(self) -> str:
        return self._url if self._format == "native" else f"{self._url}?format={self._format}"

    def _spool(self) -> tuple[LockedSpool, Path]:
        root = self._spool_root
        with suppress(OSError, RuntimeError):
            root = root or spool_folders.default_root(self._url, self._token)
            return spool_folders.claim(
                root, self._destination, self._producer, self._budget, base=self._first
            ), root
        log.warning("%s is not writable: lines wait in a temporary folder", root)
        root = spool_folders.temporary()
        return spool_folders.claim(
            root, self._destination, self._producer, self._budget, base=self._first
        ), root

    def _forked(self) -> None:
        """Open a producer of its own in a forked child; the parent keeps its folder and connection."""
        self._lock = RLock()
        if self._closed:
            return
        with suppress(OSError):
            self._locked.abandon()
        if self._producer:
            self._producer = f"{self._producer}-{uuid4().hex[:8]}"
        try:
            self._open()
        except (OSError, RuntimeError):
            log.exception("the spool cannot be opened: this process records nothing")
            self._closed = True


def _producer(name: str) -> str:
    """Return a producer name that the server accepts: printable, at most 180 bytes."""
    printable = "".join(c for c in name if c.isprintable()).strip()
    return printable.encode()[:_PRODUCER_BYTES].decode(errors="ignore").strip() or str(uuid4())


def _place(event: Mapping[str, object]) -> tuple[str, str] | None:
    for name in ("loop_id", "session_id"):
        found = event.get(name)
        if isinstance(found, str) and found:
            return name, found
    return None


_CLIENTS: weakref.WeakSet[Client] = weakref.WeakSet()


def _forked() -> None:
    for client in list(_CLIENTS):
        client._forked()  # noqa: SLF001  of this module


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
