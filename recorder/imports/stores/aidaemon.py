"""Imports the rows of aidaemon's tables events and token_usage that are not recorded yet.

The position that was read in a store is saved with its producer. A store is recognised by its path or, after
it was moved, by the last row that was read.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from recorder.core.formats.aidaemon import USAGE, fingerprint
from recorder.core.formats.base import Fields, encode_event, parse_arguments
from recorder.imports.report import Report, UnusableError
from recorder.imports.sqlite_snapshot import columns, fields, opened
from recorder.imports.submit import Sender
from recorder.journal.producers import IMPORT_PREFIX
from recorder.models import Producer, Project

FORMAT = "aidaemon"
BATCH = 500
EVENTS = "events"
_NEEDED = {"id", "session_id", "event_type", "data", "created_at"}
_PREFIX = f"{IMPORT_PREFIX}aidaemon:"


def import_aidaemon(
    project: Project,
    path: Path,
    report: Report,
    on_progress: Callable[[int], None],
    *,
    flush: bool,
) -> None:
    """Import what is new in a store."""
    try:
        with opened(path) as store:
            _check(store)
            _import(project, store, path, report)
    except UnusableError as error:
        report.problem(path, str(error))
    except sqlite3.DatabaseError as error:
        report.problem(path, f"the store cannot be read ({error}); what came before is imported")
    on_progress(path.stat().st_size)


def _check(store: sqlite3.Connection) -> None:
    if missing := _NEEDED - columns(store, EVENTS):
        raise UnusableError(f"its table events lacks {', '.join(sorted(missing))}: not aidaemon's")


def _import(project: Project, store: sqlite3.Connection, path: Path, report: Report) -> None:
    name, cursor = _producer(project, store, path)
    sender = Sender(project, name, report, form=FORMAT, goes_on=True)
    rows = _rows(store, EVENTS, cursor.get(EVENTS, 0))
    if columns(store, USAGE):
        rows = _both(rows, _rows(store, USAGE, cursor.get(USAGE, 0)))
    while batch := list(islice(rows, BATCH)):
        first = sender.sent
        for row in batch:
            if "data" in row and not isinstance(parse_arguments(row["data"]), dict):
                why = "its data is not a JSON object; the row is stored unchanged, the rest is imported"
                report.problem(path, f"{row.get('table', EVENTS)} row {row['id']}: {why}")
        for rejected in sender.send([encode_event(row) for row in batch]):
            row = batch[rejected.seq - first]
            place = f"{row.get('table', EVENTS)} row {row['id']}"
            report.reject(path, place, rejected)
    sender.close()


def _both(events: Iterator[Fields], usage: Iterator[Fields]) -> Iterator[Fields]:
    yield from events
    yield from usage


def _rows(store: sqlite3.Connection, table: str, after: int) -> Iterator[Fields]:
    named: Fields = {} if table == EVENTS else {"table": table}
    for row in store.execute(f"SELECT * FROM {table} WHERE id > ? ORDER BY id", (after,)):  # noqa: S608  ours
        yield {**named, **fields(row)}


def _producer(project: Project, store: sqlite3.Connection, path: Path) -> tuple[str, dict[str, int]]:
    """Return the producer of a store, and how far it was read."""
    producers = Producer.objects.filter(project=project, format=FORMAT, name__startswith=_PREFIX).order_by(
        "pk"
    )
    mine = _PREFIX + hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:32]
    for producer in sorted(producers, key=lambda each: each.name != mine):
        cursor = (producer.reading or {}).get("cursor", {})
        read = _read_to(store, cursor, is_path=producer.name == mine)
        if read is not None:
            return producer.name, read
    first = next(_rows(store, EVENTS, 0), {})
    is_used = producers.filter(name=mine).exists()
    return (f"{mine}:{fingerprint(first)[:8]}" if is_used else mine), {}


def _read_to(
    store: sqlite3.Connection, cursor: dict[str, list[object]], *, is_path: bool
) -> dict[str, int] | None:
    """Return the ids of the last rows read, if this is the store that they were read from."""
    last, mark = cursor.get(EVENTS) or (0, "")
    assert isinstance(last, int)
    found = next((row for row in _rows(store, EVENTS, last - 1) if row["id"] == last), None)
    if found is None:
        oldest = next(_rows(store, EVENTS, 0), None)
        if not is_path or (oldest is not None and isinstance(oldest["id"], int) and oldest["id"] <= last):
            return None  # the last row read is missing, though older rows exist: another store
    elif fingerprint(found) != mark:
        return None
    return {table: value for table, (value, _) in cursor.items() if isinstance(value, int)}
