"""Failures affect only their own batch: a line that raises, a lock, a full disk."""

import asyncio
import re
import sqlite3
from collections import Counter
from contextlib import suppress

import pytest
from channels.db import database_sync_to_async
from django.db import DatabaseError, DataError, InterfaceError, OperationalError, connection
from hypothesis import given
from hypothesis import strategies as st

from recorder.core.recorder import Recorder
from recorder.database import errors
from recorder.database.errors import Busy, StoreError, raise_as_store_error
from recorder.ingest.commit import bisect, disk_reserve, pipeline
from recorder.ingest.commit.disk_reserve import Reserve
from recorder.ingest.commit.writer import Writer
from recorder.journal import our_bugs
from recorder.journal.batch import Batch
from recorder.journal.read import texts
from recorder.models import EventRecord, JournalEvent, Producer, QuarantinedLine, Session
from recorder.operations import startup_checks
from recorder.operations.integrity_check import findings
from recorder.projection import rebuild as rebuilding
from recorder.pubsub import invalidation
from tests.support.build import agent_start, line, turn_start
from tests.support.project_digest import records

POISON = line(turn_start("s.a.1", index=666))
GOOD = [line(agent_start("s.a.1")), *(line(turn_start("s.a.1", index=n)) for n in range(6))]


class Breakable(Recorder):
    """The recorder, with a bug that one content brings out."""

    def feed(self, *lines):
        if any(getattr(line.event, "turn_index", 0) == 666 for line in lines):
            raise ZeroDivisionError
        return super().feed(*lines)


@pytest.fixture
def writer(project, monkeypatch):
    monkeypatch.setattr(pipeline, "Recorder", Breakable)
    writer = Writer()
    yield writer
    writer.close()


def batch(project, lines, producer="p", first=0):
    return Batch(project.pk, producer, first, lines)


@database_sync_to_async
def stored():
    rows = JournalEvent.objects.filter(producer__name="p").order_by("id")
    lines = texts(rows.values_list("id", flat=True))
    return [(seq, lines[pk]) for seq, pk in rows.values_list("seq", "id")]


@database_sync_to_async
def recorded():
    return Counter(EventRecord.objects.values_list("type", flat=True))


@database_sync_to_async
def refused():
    return list(QuarantinedLine.objects.order_by("seq").values_list("seq", "code", "message"))


@pytest.mark.parametrize("places", [[0], [3], [7], [0, 1], [2, 6], [0, 3, 7]])
async def test_a_line_that_breaks_the_recorder_costs_exactly_itself(project, writer, places):
    lines = list(GOOD)
    for place in places:
        lines.insert(place, POISON)

    receipt = await writer.submit(batch(project, lines))

    assert (receipt.upto, receipt.accepted, receipt.rejected) == (len(lines) - 1, len(lines), [])
    assert await stored() == list(enumerate(lines))
    assert [(seq, code) for seq, code, _ in await refused()] == [(place, "our_bug") for place in places]
    assert await recorded() == Counter(AgentStart=1, TurnStart=len(GOOD) - 1, Unread=len(places))


async def test_the_line_that_broke_it_is_stored_with_the_hash_of_its_traceback(project, writer):
    await writer.submit(batch(project, [POISON, *GOOD, POISON]))

    (_, code, message), (_, _, again) = await refused()
    assert code == "our_bug"
    assert message == again
    assert message.startswith("a bug of ours, traceback ")


async def test_a_line_that_breaks_the_recorder_is_one_line_of_the_log(project, writer, caplog):
    await asyncio.gather(*(writer.submit(batch(project, [*GOOD, POISON], f"p-{n}")) for n in range(3)))

    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 3, messages
    assert not [record for record in caplog.records if record.exc_info]
    for message in messages:
        assert "ZeroDivisionError < test_faults.py:feed:" in message
        assert "\n" not in message


def test_a_line_of_the_log_has_the_place_of_each_frame_and_no_text_of_the_exception():
    def inner():
        raise ValueError("a secret of somebody")

    def outer():
        inner()

    found = []
    for _ in range(2):
        try:
            outer()
        except ValueError as error:
            found.append((our_bugs.one_line(error), our_bugs.digest(error)))
    (text, digest), again = found
    assert again == (text, digest)
    assert re.fullmatch(r"ValueError( < test_faults\.py:\w+:\d+){3}", text)
    assert text.index(":inner:") < text.index(":outer:")
    assert len(digest) == 12


async def test_batches_beside_one_that_breaks_are_answered_as_if_it_were_not_there(project, writer):
    receipts = await asyncio.gather(
        *(writer.submit(batch(project, GOOD, f"good-{n}")) for n in range(5)),
        writer.submit(batch(project, [POISON])),
        *(writer.submit(batch(project, GOOD, f"more-{n}")) for n in range(5)),
    )

    assert [receipt.accepted for receipt in receipts] == [len(GOOD)] * 5 + [1] + [len(GOOD)] * 5


async def test_a_batch_without_numbers_that_breaks_is_numbered_through(project, writer):
    receipt = await writer.submit(Batch(project.pk, None, None, [GOOD[0], POISON, *GOOD[1:]]))

    assert receipt.upto == len(GOOD)
    assert await database_sync_to_async(Producer.objects.count)() == 1


async def test_sending_what_broke_again_changes_nothing(project, writer):
    lines = [GOOD[0], POISON, *GOOD[1:]]
    await writer.submit(batch(project, lines))
    before = await stored()

    again = await writer.submit(batch(project, lines))

    assert (again.accepted, again.duplicates, again.rejected) == (0, len(lines), [])
    assert await stored() == before
    assert await database_sync_to_async(Session.objects.count)() == 1


async def test_a_batch_that_must_wait_behind_what_breaks_is_stored_whole_or_not_at_all(
    project, writer, monkeypatch
):
    lines = [POISON, *GOOD]
    monkeypatch.setattr(bisect, "record", busy_after(4))
    with pytest.raises(Busy):
        await writer.submit(Batch(project.pk, None, None, lines))
    assert await database_sync_to_async(JournalEvent.objects.count)() == 0
    monkeypatch.undo()

    receipt = await writer.submit(Batch(project.pk, None, None, lines))

    assert (receipt.upto, receipt.accepted) == (len(lines) - 1, len(lines))


def busy_after(times):
    """Return the way of a batch into the store, which cannot write any more after so many times."""
    left = iter(range(times))

    def record(*given):
        if next(left, None) is None:
            raise Busy("busy")
        return pipeline.record(*given)

    return record


async def test_a_batch_that_breaks_publishes_its_invalidations_at_the_commit(project, writer):
    seen = []

    def look(touched):
        seen.append((JournalEvent.objects.count(), connection.in_atomic_block))

    invalidation.subscribe(look)
    try:
        await writer.submit(batch(project, [POISON, *GOOD]))
    finally:
        invalidation.unsubscribe(look)

    assert set(seen) == {(len(GOOD) + 1, False)}


async def test_a_rebuild_costs_a_line_that_breaks_it_no_more_and_reads_it_once_it_breaks_no_more(
    project, writer, monkeypatch
):
    await writer.submit(batch(project, [GOOD[0], POISON, *GOOD[1:]]))
    monkeypatch.setattr(rebuilding, "Recorder", Breakable)
    before = await all_records(project)
    await rebuilt(project)
    assert await all_records(project) == before

    monkeypatch.undo()
    await rebuilt(project)

    assert await recorded() == Counter(AgentStart=1, TurnStart=len(GOOD))
    assert await database_sync_to_async(lambda: list(findings()))() == []


@database_sync_to_async
def all_records(project):
    return records(project.pk)


@database_sync_to_async
def rebuilt(project):
    assert rebuilding.rebuild(project) == 0


def because(kind, **attributes):
    """Return a Django error as the backends raise it: with the driver's own as its cause."""
    cause = Exception("of the driver")
    for name, value in attributes.items():
        setattr(cause, name, value)
    error = kind("said so")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (because(OperationalError, sqlite_errorname="SQLITE_BUSY"), "busy"),
        (because(OperationalError, sqlite_errorname="SQLITE_READONLY"), "busy"),
        (because(OperationalError, sqlite_errorname="SQLITE_FULL"), "disk_full"),
        (because(OperationalError, sqlite_errorname="SQLITE_IOERR_READ"), "busy"),
        (because(DatabaseError, sqlite_errorname="SQLITE_CORRUPT"), "busy"),
        (because(OperationalError, sqlite_errorname="SQLITE_CORRUPT_INDEX"), "busy"),
        (because(OperationalError, sqlstate="53100"), "disk_full"),
        (because(OperationalError, sqlstate="57P01"), "busy"),
        (because(OperationalError, sqlstate=None), "busy"),
        (because(InterfaceError), "busy"),
    ],
)
def test_a_temporary_fault_is_reported_as_temporary(error, code, monkeypatch):
    monkeypatch.setattr(errors, "DAMAGE", errors.DamageReports())
    with pytest.raises(Busy) as raised:
        raise_as_store_error(error)
    assert raised.value.code == code


@pytest.mark.parametrize("name", ["SQLITE_NOTADB", "SQLITE_IOERR_FSYNC"])
def test_a_fault_that_stays_ends_the_process(name):
    with pytest.raises(StoreError):
        raise_as_store_error(because(OperationalError, sqlite_errorname=name))


@pytest.mark.parametrize(
    ("name", "ends"), [("SQLITE_IOERR_FSYNC", True), ("SQLITE_IOERR_DIR_FSYNC", True), ("SQLITE_FULL", False)]
)
@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL ends by itself")
def test_a_failed_sync_ends_the_server_although_its_exception_is_caught(name, ends, monkeypatch):
    reasons = []
    monkeypatch.setattr(errors.SYNCS, "when_failed", reasons.append)
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorname = name

    with suppress(OperationalError), connection.wrap_database_errors:
        raise error

    assert [text.startswith("The disk did not keep what was written to") for text in reasons] == [True] * ends


def test_damage_ends_the_process_once_it_is_reported_again(monkeypatch):
    clock = iter([10.0, 11.9, 12.0])
    monkeypatch.setattr(errors, "DAMAGE", errors.DamageReports())
    monkeypatch.setattr(errors.time, "monotonic", lambda: next(clock))
    damage = because(DatabaseError, sqlite_errorname="SQLITE_CORRUPT")

    for _ in range(2):
        with pytest.raises(Busy):
            raise_as_store_error(damage)
    with pytest.raises(StoreError, match="is damaged"):
        raise_as_store_error(damage)


def test_a_report_of_damage_is_forgotten_after_a_minute():
    reports = errors.DamageReports()
    assert [reports.is_repeated(at) for at in (0.0, 61.0, 62.0, 63.0)] == [False, False, False, True]


@pytest.mark.parametrize(
    "error",
    [
        because(OperationalError, sqlite_errorname="SQLITE_ERROR"),
        because(OperationalError, sqlstate="54000"),
        because(DataError, sqlstate="22003"),
    ],
)
def test_a_fault_of_a_statement_is_ours(error):
    assert raise_as_store_error(error) is None


def test_disk_space_is_reserved_released_and_reserved_again(tmp_path, monkeypatch):
    monkeypatch.setattr(disk_reserve, "RESERVE_BYTES", 65536)
    held = Reserve(tmp_path)

    assert held.keep()
    assert (tmp_path / "reserve").stat().st_blocks * 512 >= 65536
    held.give_up()
    assert not held.is_kept
    assert not list(tmp_path.iterdir())
    assert held.keep()


@given(st.integers(0, 4095), st.binary(min_size=1, max_size=64))
def test_a_damaged_file_is_never_changed_by_the_look_at_it(tmp_path, settings, place, noise):
    path = tmp_path / "damaged.sqlite3"
    path.write_bytes(b"not a database at all".ljust(4096, b"."))
    content = bytearray(path.read_bytes())
    content[place : place + len(noise)] = noise
    path.write_bytes(content)
    name, connection.settings_dict["NAME"] = connection.settings_dict["NAME"], str(path)
    try:
        found = startup_checks.damage()
    finally:
        connection.settings_dict["NAME"] = name

    assert connection.vendor != "sqlite" or (found is not None and "sqlite3" in found)
    assert path.read_bytes() == content
