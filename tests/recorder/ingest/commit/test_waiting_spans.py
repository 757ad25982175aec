"""Spans of several senders at once are stored, acknowledged, and read afterwards."""

import asyncio
import json

import pytest
from asgiref.sync import async_to_sync
from channels.db import database_sync_to_async

from dashboard.server import waiting_spans
from recorder.access import tokens
from recorder.core.sources import OTLP
from recorder.database.errors import Busy
from recorder.ingest.commit import bisect, span_backlog
from recorder.ingest.commit.span_backlog import PRODUCER, Backlog
from recorder.ingest.commit.writer import Writer
from recorder.ingest.limits.decoding import uncounted
from recorder.ingest.otlp import endpoint
from recorder.journal.batch import Batch
from recorder.journal.read import texts
from recorder.models import JournalEvent, LoopRecord, Project, QuarantinedLine, WaitingSpans
from tests.recorder.journal.spans import captures
from tests.support.endpoint_clients import HOST, request
from tests.support.wait import LONGEST_S, until

TAPE = "frameworks/pydantic-ai/02-tool"


@pytest.fixture
def writer(project):
    writer = Writer()
    yield writer
    writer.close()


def span_line(number, trace=1):
    attributes = [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
        {"key": "gen_ai.request.model", "value": {"stringValue": "m"}},
        {"key": "gen_ai.usage.input_tokens", "value": {"intValue": 10}},
    ]
    at = 10**18 + number * 10**9
    times = {"startTimeUnixNano": str(at), "endTimeUnixNano": str(at + 1)}
    span = {"traceId": f"{trace:032x}", "spanId": f"{number:016x}", "name": "chat m"} | times
    span["attributes"] = attributes
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()


def body(project, lines, **more):
    return Batch(project.pk, PRODUCER, None, lines, OTLP, may_wait=True, **more)


def is_read():
    return not WaitingSpans.objects.exists()


def stored_lines():
    keys = JournalEvent.objects.filter(kind="line").order_by("pk").values_list("pk", flat=True)
    return [texts(keys)[key] for key in keys]


async def submitted(writer, batches):
    return await asyncio.gather(*(writer.submit(batch) for batch in batches))


def stopped(writer, batches):
    """Store batches as a process does that ends before it reads them."""
    writer.close()
    return Backlog().store(batches)


def test_bodies_of_several_senders_are_acknowledged_and_then_read(project, writer):
    given = [line for lines in captures.lines(TAPE) for line in lines]

    receipts = async_to_sync(submitted)(writer, [body(project, [line]) for line in given * 2])

    assert sum(receipt.accepted for receipt in receipts) >= len(given)
    assert any(receipt.is_unread for receipt in receipts)
    until(is_read)
    assert sorted(stored_lines()) == sorted(set(given)), "each line once"
    other = Project.objects.create(slug="other")
    captures.record(other, given)
    assert captures.shape(project) == captures.shape(other)


def test_a_small_body_that_comes_alone_is_read_before_it_is_acknowledged(project, writer):
    receipt = async_to_sync(writer.submit)(body(project, [span_line(1)]))

    assert not receipt.is_unread
    assert LoopRecord.objects.get().turns == 1


def test_a_large_body_waits_also_alone(project, writer, monkeypatch):
    monkeypatch.setattr(span_backlog, "ALONE_BYTES", 100)

    receipt = async_to_sync(writer.submit)(body(project, [span_line(1)]))

    assert (receipt.is_unread, receipt.accepted, receipt.rejected) == (True, 1, [])
    until(is_read)
    assert LoopRecord.objects.get().turns == 1


def test_the_next_process_reads_what_waits_in_the_order_of_arrival(project, writer):
    stopped(writer, [body(project, [span_line(number)]) for number in range(1, 21)])
    assert not JournalEvent.objects.exists()

    other = Writer()
    other.start()
    until(is_read)
    other.close()

    assert stored_lines() == [span_line(number) for number in range(1, 21)]
    assert LoopRecord.objects.get().turns == 20


def test_the_end_of_a_process_reads_what_waits(project, writer, monkeypatch):
    monkeypatch.setattr(span_backlog, "IDLE_S", 60)
    monkeypatch.setattr(span_backlog, "ALONE_BYTES", 0)
    async_to_sync(writer.submit)(body(project, [span_line(1)]))
    assert WaitingSpans.objects.count() == 1

    writer.close()

    assert is_read()
    assert LoopRecord.objects.get().turns == 1


def test_a_row_lives_until_the_transaction_that_reads_it(project, writer, monkeypatch):
    """A store that is busy keeps the body; it is read when the store is back."""
    monkeypatch.setattr(span_backlog, "RETRY_S", 0.01)
    record, calls = bisect.record, []

    def busy_at_first(batches, unread=None):
        calls.append(len(batches))
        if len(calls) == 1:
            raise Busy("busy")
        return record(batches, unread)

    monkeypatch.setattr(bisect, "record", busy_at_first)
    stopped(writer, [body(project, [span_line(1)])])

    other = Writer()
    other.start()
    until(is_read)
    other.close()

    assert len(calls) == 2
    assert LoopRecord.objects.get().turns == 1


def test_a_line_that_breaks_our_code_is_stored_and_its_neighbours_are_read(project, writer, monkeypatch):
    monkeypatch.setattr(span_backlog, "ALONE_BYTES", 0)
    record = bisect.record

    def breaks(batches, unread=None):
        if unread is None and any(span_line(2) in batch.lines for batch in batches):
            raise ZeroDivisionError
        return record(batches, unread)

    monkeypatch.setattr(bisect, "record", breaks)

    async_to_sync(writer.submit)(body(project, [span_line(number) for number in (1, 2, 3)]))

    until(is_read)
    assert QuarantinedLine.objects.get().code == "our_bug"
    assert LoopRecord.objects.get().turns == 2
    assert len(stored_lines()) == 3


def test_beyond_the_limit_bodies_are_read_before_they_are_acknowledged(project, writer, monkeypatch):
    monkeypatch.setattr(span_backlog, "WAITING_BYTES", 10)

    given = [body(project, [span_line(number)]) for number in range(1, 9)]
    receipts = async_to_sync(submitted)(writer, given)

    assert not any(receipt.is_unread for receipt in receipts)
    assert LoopRecord.objects.get().turns == 8


def test_a_late_body_is_read_although_batches_come(project, monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(span_backlog, "monotonic", lambda: clock[0])
    backlog = Backlog()
    backlog.is_due()
    backlog.store([body(project, [span_line(1)])])
    backlog.worked()
    assert not backlog.is_due(), "batches come, and it is young"

    clock[0] += span_backlog.LAG_S
    backlog.worked()
    assert backlog.is_due()

    clock[0] += 60
    backlog.next()
    backlog.done([])
    backlog.store([body(project, [span_line(2)])])
    backlog.worked()
    clock[0] += 2 * span_backlog.IDLE_S
    assert backlog.is_due(), "a pause"


def test_portions_are_bounded_by_bytes(project, monkeypatch):
    monkeypatch.setattr(span_backlog, "PORTION_BYTES", 3 * len(span_line(1)))
    backlog = Backlog()
    backlog.store([body(project, [span_line(number)]) for number in range(1, 8)])

    sizes = []
    while backlog:
        sizes.append(len(backlog.next()))
        backlog.done([])

    assert sizes == [3, 3, 1]


def test_a_body_keeps_what_came_with_it(project):
    given = body(project, [span_line(1), span_line(2)], token=7, is_demo=True)
    backlog = Backlog()
    backlog.store([given])

    (found,) = backlog.next()

    assert found.waited == WaitingSpans.objects.get().pk
    for name in ("project", "producer", "lines", "format", "token", "is_demo", "received_at"):
        assert getattr(found, name) == getattr(given, name), name


def test_another_node_may_read_the_same_row(project):
    one, other = Backlog(), Backlog()
    one.store([body(project, [span_line(1)])])
    other.is_due()
    batches = [*one.next(), *other.next()]

    for batch in batches:
        bisect.record([batch])

    assert is_read()
    assert len(stored_lines()) == 1


@pytest.mark.parametrize(
    ("bad", "waits"),
    [
        ({}, True),
        ({"traceId": "0" * 32}, False),
        ({"spanId": "xyz"}, False),
        ({"spanId": None}, False),
        ({"attributes": [{"key": "k", "value": {"doubleValue": float("nan")}}]}, False),
        ({"attributes": json.loads("[" * 130 + "]" * 130)}, False),
    ],
)
def test_only_what_cannot_be_rejected_waits(bad, waits):
    span = json.loads(span_line(1))["resourceSpans"][0]["scopeSpans"][0]["spans"][0] | bad
    content = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()

    _, may_wait = endpoint._read("traces", content, uncounted, is_json=True, encoding=endpoint.IDENTITY)

    assert may_wait == waits


@pytest.mark.parametrize("path", ["/p/default/sessions", "/api/v1/sessions"])
def test_pages_and_the_read_api_show_what_was_acknowledged_before(project, monkeypatch, path):
    """Reading is delayed for long, but a reader hurries it."""
    monkeypatch.setattr(waiting_spans, "WAIT_S", LONGEST_S)  # a slow machine takes longer than a moment
    monkeypatch.setattr(span_backlog, "IDLE_S", 60)
    monkeypatch.setattr(span_backlog, "ALONE_BYTES", 0)
    secret = tokens.issue(project, "both", ["ingest", "read"])
    pairs = [HOST, (b"authorization", f"Bearer {secret}".encode())]
    json_kind = (b"content-type", b"application/json")
    answer = request("/v1/traces", span_line(1), method="POST", headers=[*pairs, json_kind])
    assert (answer.status, answer.json) == (200, {})
    assert WaitingSpans.objects.count() == 1

    found = request(path, headers=pairs)

    assert is_read()
    if path.startswith("/api"):
        assert [each["session_id"] for each in found.json["items"]] == [f"{1:032x}"]


async def test_the_metrics_show_how_much_waits(project, writer, monkeypatch):
    monkeypatch.setattr(span_backlog, "IDLE_S", 60)
    monkeypatch.setattr(span_backlog, "ALONE_BYTES", 0)
    await writer.submit(body(project, [span_line(1)]))

    assert writer.backlog.bytes == len(span_line(1)) + span_backlog.ROW_COST
    assert writer.backlog.oldest_s() > 0
    await writer.spans_read(project.pk)
    assert (writer.backlog.bytes, writer.backlog.oldest_s()) == (0, 0)
    assert await database_sync_to_async(is_read)()
