"""Acknowledged spans that break their reader stop no other producer, also across `kill -9`."""

import json
import urllib.request

import pytest

from recorder.ingest.commit.span_backlog import ALONE_BYTES
from recorder.ingest.commit.unreadable_spans import BEGUN_MAX, UNFINISHED
from tests.faults.poisoned.reader import ARMED, BEGUN, POISON
from tests.faults.support.compare_ledgers import compare
from tests.faults.support.producers import at_work, stop
from tests.faults.support.span_sender import SpanSender
from tests.nodes.nodes import Reader
from tests.support.wait import LONGEST_S, until

pytestmark = pytest.mark.slow


def send_poison(server):
    """Send a body of spans so large that it is acknowledged before it is read."""
    span = {
        "traceId": f"{1:032x}",
        "spanId": f"{1:016x}",
        "name": POISON.decode(),
        "startTimeUnixNano": "1790000000000000000",
        "endTimeUnixNano": "1790000001000000000",
        "attributes": [{"key": "padding", "value": {"stringValue": "y" * ALONE_BYTES}}],
    }
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{server.url}/v1/traces", body, headers)
    with urllib.request.urlopen(request, timeout=LONGEST_S) as answer:
        assert answer.status == 200


def wait_for_acknowledgements(producers):
    """Return once each producer has more lines acknowledged than now."""
    before = [each.acked for each in producers]
    until(
        lambda: all(each.acked > had for each, had in zip(producers, before, strict=True)),
        lambda: f"{before} lines are acknowledged, and no more",
    )


def test_spans_on_which_processes_end_are_set_aside_and_stop_no_other_producer(server):
    server.environment["DJANGO_SETTINGS_MODULE"] = "tests.faults.poisoned.settings"
    server.start()
    (server.folder / ARMED).touch()
    producers, spans = at_work(2, server.port, server.token, seed=1), SpanSender(2, server.port, server.token)
    for producer in producers:
        producer.start()
    wait_for_acknowledgements(producers)

    send_poison(server)
    for _ in range(BEGUN_MAX):
        until((server.folder / BEGUN).exists, "the poisoned spans are not read")
        server.kill()
        (server.folder / BEGUN).unlink()
        server.start()
    spans.start()
    wait_for_acknowledgements([*producers, spans])

    until(lambda: "are set aside" in server.log())
    page = Reader(server).read("/p/default/integrity?list=spans")
    (row,) = server.manage("spans", "list").splitlines()
    for shown in ("Spans set aside", "browser tests", UNFINISHED):
        assert shown in page
    assert row.endswith(UNFINISHED)
    assert not (server.folder / BEGUN).exists(), "they were read again"
    spans.stopping.set()
    spans.join()
    stop(producers)
    assert not spans.faults
    outcome = compare(server, producers)
    assert outcome.is_clean, outcome
    (server.folder / ARMED).unlink()
    assert server.manage("spans", "retry").endswith(": read")
    assert not server.manage("spans", "list")
