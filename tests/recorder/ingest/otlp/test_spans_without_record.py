"""Spans that changed no record: what is kept of them, and when it is deleted."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from recorder.core.sources import OTLP
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.ingest.otlp.endpoint import PRODUCER
from recorder.journal.removal.masks import mask_states
from recorder.journal.spans import without_record
from recorder.masking.project_rules import masker_of
from recorder.models import LoopRecord, Project, SpanUnit
from recorder.operations.retention import prune
from recorder.projection.rebuild import rebuild
from tests.recorder.core.formats.otlp.spans.lines import START, TRACE, pairs
from tests.recorder.journal.spans import captures

pytestmark = pytest.mark.django_db(transaction=True)

CALL = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 7}


@pytest.fixture
def project():
    return Project.objects.create(slug="p")


def line(attributes, *, number=1, trace=TRACE, service="shop", scope="flask", parent=0, signal="Spans"):
    """Return a span, or a log record, as the endpoint stores it."""
    body = {
        "traceId": trace,
        "spanId": f"{number:016x}",
        "name": "GET /",
        "startTimeUnixNano": str(START + number),
        "endTimeUnixNano": str(START + number + 1),
        "timeUnixNano": str(START + number),
        "attributes": pairs(attributes),
        **({"parentSpanId": f"{parent:016x}"} if parent else {}),
    }
    inner = {"scope": {"name": scope}, "spans" if signal == "Spans" else "logRecords": [body]}
    resource = {"attributes": pairs({"service.name": service})}
    whole = {f"resource{signal}": [{"resource": resource, f"scope{signal}": [inner]}]}
    return json.dumps(whole).encode()


def send(project, *lines, token=0, **more):
    ingest(Batch(project.pk, PRODUCER, None, list(lines), OTLP, token=token, **more))


def rows_of(project):
    return [
        (each.unrecorded_spans, each.unrecorded_token, each.unrecorded_sender, each.unrecorded_names.split())
        for each in without_record.found(project.pk).order_by("pk")
    ]


def test_spans_without_a_loop_are_listed_with_sender_token_and_names(project):
    send(project, line({"http.method": "GET"}), line({"db.system": "pg"}, number=2, scope="sql"), token=5)
    send(project, line({"http.route": "/"}, number=3), token=6)

    assert rows_of(project) == [(3, 6, "shop · flask, sql", ["http.method", "db.system", "http.route"])]
    rebuild(project)  # which forgets the token
    assert rows_of(project) == [(3, 0, "shop · flask, sql", ["http.method", "db.system", "http.route"])]


def test_a_span_that_is_sent_twice_counts_once(project):
    for _ in range(2):
        send(project, line({"http.method": "GET"}))
    assert [spans for spans, *_ in rows_of(project)] == [1]


def test_a_model_call_that_comes_later_takes_its_trace_off(project):
    send(project, line({"http.method": "GET"}, number=2, parent=1))
    send(project, line({"http.method": "GET"}, trace="b" * 32))
    assert len(rows_of(project)) == 2

    send(project, line(CALL, number=1))

    assert [spans for spans, *_ in rows_of(project)] == [1]
    assert LoopRecord.objects.count() == 1
    rows = SpanUnit.objects.filter(unrecorded_spans=None).values_list("unrecorded_sender", "unrecorded_names")
    assert list(rows) == [("", "")]


def test_units_that_are_joined_have_the_names_of_both(project):
    """Traces of Gemini CLI are joined by their conversation."""
    about = {"scope": "gemini-cli", "service": "gemini-cli"}
    conversation = {"gen_ai.conversation.id": "c"}
    send(project, line({"one": 1} | conversation, **about))
    send(project, line({"two": 2}, trace="b" * 32, **about))
    assert [spans for spans, *_ in rows_of(project)] == [1, 1]

    send(project, line(conversation, number=2, trace="b" * 32, **about))

    ((spans, _, _, names),) = rows_of(project)
    assert (spans, names) == (3, ["one", "gen_ai.conversation.id", "two"])


def test_captures_of_agents_leave_nothing_without_a_record(project):
    for batch in captures.lines("frameworks/langgraph/02-tool"):
        captures.record(project, batch)
    assert rows_of(project) == []


def test_log_records_alone_are_not_listed(project):
    send(project, line({"k": "v"}, signal="Logs"))
    assert rows_of(project) == []


def test_what_is_listed_is_bounded_and_storable(project):
    hostile = {f"{n} \x00\n\u202e<b>" + "x" * 10_000: 1 for n in range(100)}
    spans = [line(hostile, number=n + 1, service=f"s{n}" * 50, scope=f"c{n}" * 50) for n in range(9)]
    send(project, *spans)

    (row,) = without_record.found(project.pk)
    names = row.unrecorded_names.split("\n")
    assert len(names) == without_record.NAMES_MAX
    assert max(map(len, names)) == without_record.NAME_MAX
    assert len(row.unrecorded_names) <= without_record.TEXT_MAX
    assert len(row.unrecorded_sender) == without_record.SENDER_MAX
    assert "\x00" not in row.unrecorded_names
    assert "\u202e" not in row.unrecorded_names


def test_names_are_masked_afterwards_too(project):
    send(project, line({"http.method": "GET"}))
    secret = "AKIA" + "Q7ZT3XW5LKJH2GFD"
    SpanUnit.objects.update(unrecorded_names=f"http.method\n{secret}", unrecorded_sender=secret)

    mask_states(project.pk, masker_of(project.pk))

    ((_, _, sender, names),) = rows_of(project)
    assert secret not in sender
    assert names[0] == "http.method"
    assert secret not in names


def test_they_are_forgotten_with_the_bodies_of_their_time(project):
    now = datetime.now(UTC)
    project.retention_days = None
    project.save()
    send(project, line({"old": 1}), received_at=now - timedelta(days=40))
    send(project, line({"new": 1}, trace="b" * 32), received_at=now - timedelta(days=5))
    prune(project, now)
    assert len(rows_of(project)) == 2, "the project keeps bodies"

    project.retention_days = 30
    project.save()
    prune(project, now)

    assert [names for *_, names in rows_of(project)] == [["new"]]


def test_another_project_has_its_own(project):
    send(project, line({"http.method": "GET"}))
    assert rows_of(Project.objects.create(slug="other")) == []
