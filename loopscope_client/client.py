"""The client: a call appends an event to the spool on disk and returns; a thread sends the spool."""

from __future__ import annotations

import atexit
import json
import logging
import os
import weakref
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import RLock
from time import monotonic
from typing import Self
from uuid import uuid4

from loopscope_client.factory import ScopeFactory
from loopscope_client.masking.masker import Masker, MaskingError
from loopscope_client.never_raise import quiet
from loopscope_client.scopes.base import ScoreValue
from loopscope_client.status import Status
from loopscope_client.transport import spool_folders
from loopscope_client.transport.encoding import LINE_BYTES, line_of, shortened, text_of
from loopscope_client.transport.http import Connection
from loopscope_client.transport.scores import Scores
from loopscope_client.transport.sender import Sender
from loopscope_client.transport.spool import HALF
from loopscope_client.transport.spool_folders import LockedSpool

log = logging.getLogger(__name__)
SPOOL_BYTES = 64 * 1024 * 1024
CLOSE_S = 5.0
_PRODUCER_BYTES = 180


class Client(ScopeFactory):
    """Records the runs of an agent; recording calls return at once and never raise.

    `url` is the server's HTTP or HTTPS URL, `token` an access token with the scope ingest. `producer` names
    the stream, so that a later process continues its numbers. `spool` is the folder of lines that wait; by
    default one per user, server and token. `spool_bytes` limits its size (at least 16 KiB), `close_s` is how
    many seconds `close` waits. `format` is the format of lines given to `forward`, `first` the number of the
    spool's first line when the caller numbers lines itself. Thread-safe; a forked child gets a producer of
    its own. With `mask` secrets are masked before anything is written or sent; `mask_key` makes equal secrets
    equal across processes. Raises ValueError when `url` is not an HTTP or HTTPS URL, or `mask_key` is empty.

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
        mask: bool = False,
        mask_key: bytes | str | None = None,
    ) -> None:
        self._url, self._token, self._first = url.rstrip("/"), token.strip(), first
        self._format, self._masker = format, Masker(mask_key) if mask else None
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
        self._put(line_of(event), event)

    @quiet
    def score(
        self,
        session_id: str,
        name: str,
        value: ScoreValue,
        comment: str | None = None,
        *,
        loop: str | None = None,
        turn: int | None = None,
        id: str | None = None,
    ) -> None:
        """Give a score to a session, to a `loop` of it by its id, or to a `turn` of that, from 0.

        `name` is a score that the project defines, `value` a number, a category or a boolean by its
        definition. Giving it again changes it; an `id` distinguishes several scores of one name. Returns at
        once and never raises: the score waits on disk until the server has answered. What the server refuses
        is logged and counts in `status.rejected`.

        Example::

            client.score("chat", "quality", 4, "All tests pass.")
        """
        body = {
            "target": {"session_id": session_id, "loop": loop, "turn": turn},
            "name": name,
            "value": value,
            "text": self._masker.text(text_of(comment)) if self._masker and comment else comment or "",
            "id": id or "",
        }
        if self._closed:
            log.warning("a score was not recorded: the client is closed")
        elif not self._append_score(line_of(body)):
            log.warning("a score was not recorded: the spool is full")

    def forward(self, line: bytes) -> bool:
        """Record one line of JSON in the client's `format`; return whether the spool has it.

        It has not without room for the line, or if the line cannot be masked. A blank line is skipped. A line
        above 4 MiB is shortened. A line that is not JSON is sent too: the
        server rejects it and lists it on the integrity page.

        Example::

            line = b'{"type":"Notice","session_id":"chat","kind":"note","text":"Hi"}'
            assert client.forward(line)
        """
        if not line.strip():
            return True
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            event = None  # the server rejects the line and shows it on its integrity page
        return self._put(line, event if isinstance(event, dict) else {})

    def has_room(self, size: int) -> bool:
        """Return whether the spool has room for a line of `size` bytes, whatever its event type.

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
        spool, counters, scores = self._locked.spool, self._sender.counters, self._scores
        dropped = dict(spool.drops.all)
        return Status(
            state="closed" if self._closed else counters.state,
            error=counters.error,
            producer=spool.state.producer,
            spool=str(spool.folder),
            queued=spool.waiting + scores.waiting,
            queued_bytes=spool.queued,
            sent=counters.sent,
            rejected=counters.rejected + scores.rejected,
            last_rejection=scores.last_rejection or counters.last_rejection,
            cut=counters.cut,
            retries=counters.retries,
            renumbered=counters.renumbered,
            dropped=dropped,
        )

    def flush(self, timeout: float = CLOSE_S) -> bool:
        """Wait until the server has stored all lines and scores so far; return whether it has.

        Returns False after `timeout` seconds, and at once while the server refuses the token.

        Example::

            client.send({"type": "Notice", "session_id": "chat", "kind": "note", "text": "Checkpoint"})
            assert client.flush(timeout=10)
        """
        return self._drained(timeout)

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
        stored = self._drained(self._close_s if timeout is None else timeout)
        self._sender.stop(1.0)
        self._scores.stop(1.0)
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

    def _drained(self, timeout: float) -> bool:
        """Wait for the lines and then for the scores, whose loops are stored by then."""
        until = monotonic() + timeout
        self._sender.wake()
        stored = self._sender.drained(timeout)
        return self._scores.drained(max(0.0, until - monotonic())) and stored

    def _put(self, line: bytes, event: Mapping[str, object]) -> bool:
        """Append the line of an event, masked before it is shortened: a cut could leave half a secret."""
        if self._closed:
            log.warning("an event was not recorded: the client is closed")
            return False
        type_ = event.get("type")
        kind, place = type_ if isinstance(type_, str) else "", _place(event)
        try:
            line = self._masker.line(line) if self._masker else line
        except MaskingError as error:  # the line is never sent unmasked
            log.warning("an event was not recorded: %s", error)
            self._locked.spool.drop(kind, place, "masking failed")
            return False
        if len(line) > LINE_BYTES:
            line = shortened(line, LINE_BYTES)
        return self._append(line, kind, place)

    def _append(self, line: bytes, kind: str, place: tuple[str, str] | None) -> bool:
        is_appended = self._locked.spool.append(line, kind, place)
        self._sender.wake()
        return is_appended

    def _append_score(self, line: bytes) -> bool:
        return self._scores.append(line)

    def _open(self) -> None:
        self._locked, root = self._spool()
        connection = Connection(self._url, self._token, self._format)
        self._sender = Sender(self._locked, connection, root, self._destination, self._budget)
        self._sender.start()
        self._scores = Scores(root, self._url, lambda: Connection(self._url, self._token), self._budget)

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
            self._scores.abandon()
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
