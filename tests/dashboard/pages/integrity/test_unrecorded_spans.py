"""Spans that changed no record, on the integrity page."""

import json
import re
from html import unescape

import pytest
from django.db import connection
from django.db.models import Count, Max
from django.test.utils import CaptureQueriesContext

from dashboard.pages.integrity.queries.lists import SOURCES
from recorder.access import tokens
from recorder.core.sources import OTLP
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.ingest.otlp.endpoint import PRODUCER
from recorder.models import AccessToken, Project
from tests.recorder.core.formats.otlp.spans.lines import START, pairs
from tests.support import build

LOGS = [json.dumps({
    "resourceLogs": [{"scopeLogs": [{"scope": {"name": "x"}, "logRecords": [
        {"timeUnixNano": str(START), "eventName": name, "attributes": []},
    ]}]}],
}).encode() for name in ("user_prompt", "frame dropped")]  # fmt: skip
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def send(project):
    """Return a function that sends a trace of spans of one scope."""

    def send(attributes, *, spans=1, trace=1, scope="flask", service="shop", token=0, into=project):
        body = [
            {
                "traceId": f"{trace:032x}",
                "spanId": f"{number:016x}",
                "name": "GET /",
                "startTimeUnixNano": str(START),
                "endTimeUnixNano": str(START + number),
                "attributes": pairs(attributes),
            }
            for number in range(1, spans + 1)
        ]
        resource = {"attributes": pairs({"service.name": service})}
        lines = [
            {
                "resourceSpans": [
                    {"resource": resource, "scopeSpans": [{"scope": {"name": scope}, "spans": [each]}]}
                ]
            }
            for each in body
        ]
        batch = [json.dumps(line).encode() for line in lines]
        ingest(Batch(into.pk, PRODUCER, None, batch, OTLP, token=token))

    return send


def token_of(project, name):
    tokens.issue(project, name, ["ingest"])
    return AccessToken.objects.get(name=name).pk


def test_they_are_grouped_by_sender_with_token_and_attributes(project, send, see):
    token = token_of(project, "build server")
    send({"http.method": "GET", "http.route": "/"}, spans=12, token=token)
    send({"http.method": "GET"}, trace=2, token=token)
    send({"db.system": "pg"}, trace=3, scope="sql", token=token)

    page = see()
    rows = page.partition("Spans without a record</h2>")[2].partition("</section>")[0].split("<tr ")[1:]

    assert ["shop · sql" in row for row in rows] == [True, False]
    assert "2 traces" in rows[1]
    assert "1 trace<" in rows[0]
    assert "1 span with" in rows[0]
    assert all("build server" in row for row in rows)
    assert ">db.system</code>" in rows[0]
    assert "No model call, tool call or agent" in rows[0]
    assert "No problems." not in page


def test_they_are_no_orphan_events_but_log_records_are(project, send, feed, see):
    feed(build.turn_start("lost.1"))
    send({"a": 1}, spans=3)
    ingest(Batch(project.pk, PRODUCER, None, LOGS, OTLP))

    page = see("?list=orphans")

    assert page.partition("<tbody>")[2].count("<tr") == 3
    assert "TurnStart" in page
    assert "user_prompt" in page
    assert "log frame dropped" in page
    assert "frame GET" not in page


def test_the_list_has_the_spans_of_each_trace(project, send, see):
    send({"http.method": "GET", "http.route": "/"}, spans=1_200, token=token_of(project, "ci"))

    page = see("?list=unrecorded")

    row = page.partition("<tbody>")[2].partition("</tbody>")[0]
    assert re.findall(r"<code[^>]*>([^<]+)</code>", row) == ["http.method", "http.route"]
    for shown in ("shop · flask", "ci", ">1,200<"):
        assert shown in row


def test_a_filter_by_token_finds_its_spans(project, send, see):
    send({"a": 1}, token=token_of(project, "one"))
    send({"b": 1}, trace=2, token=token_of(project, "two"))

    page = see("?list=unrecorded&producer=two")

    assert page.partition("<tbody>")[2].count("<tr") == 1
    assert ">b</code>" in page
    assert ">a</code>" not in page


def test_hostile_names_are_text(project, send, see):
    send({HOSTILE: 1, "\u202eevil\n": 1}, scope=HOSTILE, service=HOSTILE, token=token_of(project, HOSTILE))

    for query in ("", "?list=unrecorded"):
        page = see(query)
        assert HOSTILE not in page
        assert page.count("&lt;img src=x") >= 3
        assert "\u202e" not in page


def test_a_token_that_is_not_known_is_a_dash(send, see):
    send({})
    page = see("?list=unrecorded")
    assert "no attributes" in page
    assert ">\N{EN DASH}<" in page


def test_other_projects_are_not_shown(send, see):
    send({"a": 1}, into=Project.objects.create(slug="other"))
    assert "No problems." in see()


def test_many_traces_take_as_many_queries_as_few_and_are_listed_on_pages(send, see):
    def queries_of(query):
        with CaptureQueriesContext(connection) as queries:
            page = see(query)
        return len(queries), page

    def fill(begin, end):
        for trace in range(begin, end):
            send({f"name{trace}": 1}, trace=trace, scope="flask")

    fill(1, 3)
    few = queries_of("")[0], queries_of("?list=unrecorded")[0]
    fill(3, 61)
    many, page = queries_of("?list=unrecorded")

    assert (queries_of("")[0], many) == few
    assert page.partition("<tbody>")[2].count("<tr") == 50
    older = unescape(re.search(r'href="(\?[^"]*before=\d+)"', page)[1])
    assert see(older).partition("<tbody>")[2].count("<tr") == 10


@pytest.mark.django_db
def test_groups_by_sender_are_read_from_an_index_that_covers_them():
    """The rows have the state of their unit, which may be megabytes."""
    rows = SOURCES["unrecorded"].rows(1).order_by().values("unrecorded_sender")
    figures = Count("pk"), Max("last_received_at"), Count("unrecorded_token", distinct=True)
    plan = rows.annotate(**dict(zip(("count", "last", "tokens"), figures, strict=True))).explain()

    if connection.vendor == "sqlite":
        assert "COVERING INDEX units_without_a_loop" in plan
