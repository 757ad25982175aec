"""Bodies of spans that were acknowledged and cannot be read: they are set aside, and stay in the table.

Reading a body may end its process, fail, or take too long. Without this the next process would read the same
body first, and no sender would get an answer again. Before a body is read its row therefore notes that this
was begun, in a commit of its own. A row that one process began and did not finish may have met any end, so it
is read alone from then on; once two more processes did not finish it, the next one sets it aside. What ends
processes at random hardly hits the same row three times.
"""

from __future__ import annotations

import ctypes
import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction

from recorder.database import sql
from recorder.database.errors import STORE_ERRORS, raise_as_store_error
from recorder.journal.our_bugs import digest, one_line
from recorder.pubsub.invalidation import Invalidation, publish

log = logging.getLogger(__name__)

TABLE = "recorder_waitingspans"
BEGUN_MAX = 3  # processes that began to read a row and did not finish; then it is set aside
FAULT_MAX = 300  # characters
_CHECKS = 100  # rounds of a loop, in each of which Python looks for an exception of another thread
UNFINISHED = "The process that read it ended before it had finished, three times."


class TooLong(BaseException):
    """Reading took longer than it may. No `Exception`: nobody but who set the limit may catch it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TooLong in this thread once the block takes longer than `seconds`; 0 is no limit.

    Python raises it between two of its instructions, so a call into C, as of the database, ends first.
    """
    if not seconds:
        yield
        return
    alarm = _Alarm(threading.get_ident())
    timer = threading.Timer(seconds, alarm.ring)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with suppress(TooLong):
            alarm.stop()
            timer.cancel()


class _Alarm:
    """Raises TooLong in a thread unless it was stopped before.

    Once raised it is met, never taken back: to set no exception in its place leaves Python 3.11 looking for
    one for ever, which slows all threads and never ends under a profiler.
    """

    def __init__(self, thread: int) -> None:
        self._thread = ctypes.c_ulong(thread)
        self._lock = threading.Lock()
        self._is_stopped = self._has_rung = False

    def ring(self) -> None:
        with self._lock:
            if not self._is_stopped:
                self._has_rung = True
                ctypes.pythonapi.PyThreadState_SetAsyncExc(self._thread, ctypes.py_object(TooLong))

    def stop(self) -> None:
        """Ring no more. Raises TooLong if it rang and the thread has not met it yet."""
        with self._lock:
            self._is_stopped = True
        if self._has_rung:
            for _ in range(_CHECKS):
                pass


def drop_connection() -> None:
    """Close the connection of this thread, also in the middle of a transaction that TooLong interrupted."""
    connection.close()
    if connection.in_atomic_block:
        del connections[DEFAULT_DB_ALIAS]


def note_begun(keys: Sequence[int], times: int = 1) -> None:
    """Note in their rows, durably, that reading some bodies begins; -1 time: that it did not."""
    with transaction.atomic():
        statement = f"UPDATE {TABLE} SET begun = begun + %s WHERE id = %s"  # noqa: S608
        sql.write(statement, [[times, key] for key in keys])


def set_aside(keys: Sequence[int], fault: str) -> None:
    """Set bodies aside: no process reads them until a command does. Raises Busy or StoreError."""
    at = sql.timestamp_encoder()(datetime.now(UTC))
    statement = f"UPDATE {TABLE} SET set_aside_at = %s, fault = %s WHERE id = %s RETURNING project_id"  # noqa: S608
    for key in keys:
        try:
            rows = sql.read(statement, at, fault[:FAULT_MAX], key)
        except STORE_ERRORS as error:
            raise_as_store_error(error)
            raise
        for (project,) in rows:
            log.error("acknowledged spans, number %d, are set aside: %s", key, fault)
            publish(Invalidation(int(str(project)), quarantined=True))


def of_error(error: Exception) -> str:
    """Return the fault of a body on which our code raises, without words of the body."""
    log.error("acknowledged spans cannot be read: %s", one_line(error))
    return f"Reading it failed: {type(error).__name__}, traceback {digest(error)}."
