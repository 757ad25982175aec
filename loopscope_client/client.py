"""The client: a call hands an event to the spool and returns; a thread brings it to the server."""

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
from loopscope_client.transport.http import Wire
from loopscope_client.transport.sender import Sender
from loopscope_client.transport.spool import HALF
from loopscope_client.transport.spool_folders import Held

log = logging.getLogger(__name__)
SPOOL_BYTES = 64 * 1024 * 1024
CLOSE_S = 5.0
_PRODUCER_BYTES = 180


@dataclass(frozen=True, slots=True)
class Status:
    """How it goes: `state` is idle, sending, waiting, unauthorized, forbidden or closed."""

    state: State
    error: str  # why it waits
    producer: str
    spool: str  # the folder
    queued: int  # lines that are not stored yet
    queued_bytes: int
    sent: int  # lines that are stored
    rejected: int  # lines that the server refused for good; people see them on its integrity page
    last_rejection: str
    cut: int  # huge events that were sent with less content
    retries: int
    renumbered: int
    dropped: dict[str, int] = field(default_factory=dict)  # by type, because the spool was full

    @property
    def ok(self) -> bool:
        """Whether everything so far is or will be stored."""
        return self.state in ("open", "idle", "sending") and not self.dropped and not self.rejected


class Client(ScopeFactory):
    """Records what an agent does. Its calls return at once and never raise, whatever the server does.

    Raises ValueError when `url` is no address. Without `spool` the lines wait in a folder of the user.
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
        self._given = Path(spool) if spool is not None else None
        self._budget, self._close_s = max(16 * 1024, spool_bytes), close_s
        self._lock = RLock()
        self._closed = False
        Wire(self._url, self._token)  # says now if the address is none
        self._open()
        _CLIENTS.add(self)
        atexit.register(self.close)

    @quiet
    def send(self, event: Mapping[str, object]) -> None:
        """Record one event, as `docs/reference/events.md` describes them."""
        line = line_of(event)
        if len(line) > LINE_BYTES:
            line = shortened(line, LINE_BYTES)
        kind = event.get("type")
        self._put(line, kind if isinstance(kind, str) else "", _place(event))

    def forward(self, line: bytes) -> bool:
        """Record one line as it is; False when there is no room for it. A blank one is none."""
        if not line.strip():
            return True
        if len(line) > LINE_BYTES:
            line = shortened(line, LINE_BYTES)
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            event = None  # the server says what is wrong with it, and keeps it where people see it
        named = event if isinstance(event, dict) else {}
        kind = named.get("type")
        return self._put(line, kind if isinstance(kind, str) else "", _place(named))

    def has_room(self, size: int) -> bool:
        """Whether a line of any kind would be taken now."""
        return self._held.spool.queued + size < self._budget * HALF

    @property
    def position(self) -> int:
        """How many lines the spool of this producer has taken, all its programs together."""
        return self._held.spool.next

    @property
    def status(self) -> Status:
        """How it goes now."""
        spool, tally = self._held.spool, self._sender.tally
        dropped = dict(spool.drops.all)
        return Status(
            state="closed" if self._closed else tally.state,
            error=tally.error,
            producer=spool.state.producer,
            spool=str(spool.folder),
            queued=spool.waiting,
            queued_bytes=spool.queued,
            sent=tally.sent,
            rejected=tally.rejected,
            last_rejection=tally.last_rejection,
            cut=tally.cut,
            retries=tally.retries,
            renumbered=tally.renumbered,
            dropped=dropped,
        )

    def flush(self, timeout: float = CLOSE_S) -> bool:
        """Wait until everything so far is stored; False when that took too long."""
        self._sender.call()
        return self._sender.drained(timeout)

    def close(self, timeout: float | None = None) -> bool:
        """Wait a bounded time until everything is stored, then stop. What is left waits in the spool."""
        with self._lock:
            if self._closed:
                return True
            self._closed = True
        atexit.unregister(self.close)
        self._sender.call()
        stored = self._sender.drained(self._close_s if timeout is None else timeout)
        self._sender.stop(1.0)
        return stored

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def finish(self) -> None:
        """Say that this producer is done: after its last line, loops that it left open become aborted."""
        self._sender.finish()

    def _put(self, line: bytes, kind: str, place: tuple[str, str] | None) -> bool:
        if self._closed:
            log.warning("an event came after the client was closed")
            return False
        taken = self._held.spool.append(line, kind, place)
        self._sender.call()
        return taken

    def _open(self) -> None:
        self._held, root = self._spool()
        wire = Wire(self._url, self._token, self._format)
        self._sender = Sender(self._held, wire, root, self._where, self._budget)
        self._sender.start()

    @property
    def _where(self) -> str:
        return self._url if self._format == "native" else f"{self._url}?format={self._format}"

    def _spool(self) -> tuple[Held, Path]:
        root = self._given
        with suppress(OSError, RuntimeError):
            root = root or spool_folders.default_root(self._url, self._token)
            return spool_folders.own(root, self._where, self._producer, self._budget, base=self._first), root
        log.warning("%s cannot be written: lines wait in a temporary folder", root)
        root = spool_folders.temporary()
        return spool_folders.own(root, self._where, self._producer, self._budget, base=self._first), root

    def _forked(self) -> None:
        """Begin anew in a child process: the parent keeps its producer, its folder and its connection."""
        self._lock = RLock()
        if self._closed:
            return
        with suppress(OSError):
            self._held.abandon()
        if self._producer:
            self._producer = f"{self._producer}-{uuid4().hex[:8]}"
        try:
            self._open()
        except (OSError, RuntimeError):
            log.exception("nothing is recorded in this process")
            self._closed = True


def _producer(name: str) -> str:
    """Return a name that the server takes."""
    kept = "".join(c for c in name if c.isprintable()).strip()
    return kept.encode()[:_PRODUCER_BYTES].decode(errors="ignore").strip() or str(uuid4())


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
