"""Everywhere a session ends with the last of its loops, in whatever order and portions its lines arrive."""

import csv
import io
import json
import random
from datetime import datetime
from itertools import count

import pytest
from django.contrib.auth.models import User
from django.http import QueryDict
from django.test import Client
from django.utils import timezone
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dashboard.pages.session.as_of import viewing_as_of
from dashboard.pages.session.header.queries.session import headers
from dashboard.pages.sessions.params import Filters
from dashboard.pages.sessions.queries.list import matching
from dashboard.pages.sessions.queries.rows import rows
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import EventRecord, Project, Session
from recorder.projection.rebuild import rebuild
from tests.recorder.imports.field_cases import cases as transcripts
from tests.recorder.journal.spans import captures
from tests.recorder.journal.spans.cases import cases
from tests.support import build

pytestmark = pytest.mark.django_db(transaction=True)
NUMBERS = count(1)
SPANS = [*captures.CAPTURES, *(f"cases/{name}" for name in cases.NAMES)]
PORTIONS = st.integers(1, 8)


@pytest.fixture
def reader():
    client = Client()
    client.force_login(User.objects.create_superuser("reader"))
    return client


def project():
    return Project.objects.create(slug=f"p{next(NUMBERS)}")


def span_lines(capture):
    name = capture.removeprefix("cases/")
    batches = captures.lines(capture) if name == capture else cases.batches(name)
    return [line for batch in batches for line in batch]


def send_spans(of, lines, size):
    for at in range(0, len(lines), size):
        captures.record(of, lines[at : at + size])


def send_transcripts(of, case, order):
    """Send the files of a case line by line, the files interleaved; then they end, in another order."""
    streams, form = transcripts.streams(case), transcripts.form_of(case)
    left = {stream.producer: 0 for stream in streams}
    unsent = list(streams)
    while unsent:
        stream = order.choice(unsent)
        start = left[stream.producer]
        left[stream.producer] = end = start + order.randint(1, 6)
        transcripts.send(of, stream, form, start, end)
        unsent = [each for each in unsent if left[each.producer] < len(each.lines)]
    for stream in order.sample(streams, len(streams)):
        transcripts.flush(of, stream, form)


def latest_end(session):
    loops = session.loop_records.exclude(status="pending")
    ends = list(loops.values_list("ended_at", flat=True))
    return None if None in ends else max(ends, default=None)


def assert_ends(of, reader):
    """Check every session of a project in list, header, filter, downloads and replay."""
    found = list(Session.objects.filter(project=of))
    downloaded = {row["session_id"]: row for row in csv.DictReader(io.StringIO(get(reader, of, "csv")))}
    items = {item["session_id"]: item for item in json.loads(get(reader, of, "json"))["items"]}
    pks = [session.pk for session in found]
    listed, headed = rows(of.pk, pks), headers(pks)
    for session in found:
        wanted = latest_end(session)
        assert session.ended_at == wanted, session.session_id
        if wanted is None:
            continue
        assert listed[session.pk].ended_at == headed[session.pk].ended_at == wanted
        for each in (downloaded[session.session_id], items[session.session_id]):
            assert datetime.fromisoformat(each["ended_at"]) == wanted
        lasted = (wanted - session.created_at).total_seconds()
        assert session.pk in that_took(of, lasted - 0.01)
        assert session.pk not in that_took(of, lasted + 0.01)
        last = EventRecord.objects.filter(session=session).order_by("-pk").values_list("pk", flat=True)[0]
        with viewing_as_of(session, last):
            assert headers([session.pk])[session.pk].ended_at == wanted


def get(reader, of, suffix):
    return b"".join(reader.get(f"/p/{of.slug}/sessions.{suffix}?since=all")).decode()


def that_took(of, seconds):
    filters = Filters.parse(QueryDict(f"since=all&q=duration:>={max(seconds, 0) * 1000:.0f}ms"))
    return set(matching(of.pk, filters, timezone.now()).values_list("pk", flat=True))


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(capture=st.sampled_from(SPANS), seed=st.integers(0, 99), size=PORTIONS)
def test_spans_in_any_order_end_their_sessions_with_the_last_loop(reader, capture, seed, size):
    of, lines = project(), span_lines(capture)

    send_spans(of, random.Random(seed).sample(lines, len(lines)), size)

    assert_ends(of, reader)


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=st.sampled_from(transcripts.CASES), seed=st.integers(0, 99))
def test_transcripts_in_any_order_end_their_sessions_with_the_last_loop(reader, case, seed):
    of = project()

    send_transcripts(of, case, random.Random(seed))

    assert_ends(of, reader)


LOOPS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=6)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(times=LOOPS, seed=st.integers(0, 99), size=PORTIONS)
@example(times=[(0, 50), (10, 20)], seed=0, size=1)
def test_events_of_loops_in_any_order_end_their_session_with_the_last_loop(reader, times, seed, size):
    of, order = project(), random.Random(seed)
    started = [build.agent_start(f"s.a.{n}", at=begin) for n, (begin, _) in enumerate(times)]
    ended = [build.agent_end(f"s.a.{n}", at=begin + lasted) for n, (begin, lasted) in enumerate(times)]
    lines = []
    for n in order.sample(range(len(times)), len(times)):  # some end before others start
        lines.insert(order.randint(0, len(lines)), started[n])
        lines.insert(order.randint(lines.index(started[n]) + 1, len(lines)), ended[n])

    for at in range(0, len(lines), size):
        ingest(Batch(of.pk, "agent", None, [json.dumps(line).encode() for line in lines[at : at + size]]))

    assert_ends(of, reader)
    rebuild(of)
    assert_ends(of, reader)
