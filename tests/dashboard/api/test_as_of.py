"""`?at=`: a session as of any of its events equals that of a project fed only the lines up to it."""

import pytest

from recorder.access import tokens
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import EventRecord, Project
from tests.support import build
from tests.support.foreign_tapes import tape

pytestmark = pytest.mark.django_db(transaction=True)

KEYS = ("id", "url", "parent_loop", "children", "parallel_group")
CLOCK = ("last_active_at", "ended_at", "started_at", "created_at", "duration_ms")
TAPES = [
    ("phi-core/02-continue-rerun-branch.events.jsonl", "native"),
    ("phi-core/03-parallel-judge.events.jsonl", "native"),
    ("phi-core/06-compaction-block-based.events.jsonl", "native"),
    ("cagent/all-event-types.hand-made.events.jsonl", "cagent"),
]


@pytest.fixture
def project():
    return Project.objects.create(slug="default")


def fetch(client, project, session_id, **params):
    token = tokens.issue(project, "reader", ["read"])
    return client.get(f"/api/v1/sessions/{session_id}", params, headers={"Authorization": f"Bearer {token}"})


def send(project, lines, form="native", **more):
    ingest(Batch(project.pk, "p", None, list(lines), form, **more))


def plain(item):
    """Return an item without primary keys and without times that depend on when lines were received."""
    if isinstance(item, list):
        return [plain(each) for each in item]
    if isinstance(item, dict):
        return {name: plain(value) for name, value in item.items() if name not in (*KEYS, *CLOCK)}
    return item


@pytest.mark.parametrize(("path", "form"), TAPES)
def test_every_event_gives_the_session_as_of_it(client, project, path, form):
    lines = tape(path)
    send(project, lines, form)
    session = EventRecord.objects.exclude(session=None).order_by("pk").first().session
    recorded = EventRecord.objects.filter(session=session, journal__kind="line").order_by("pk")
    for number in range(1, len(lines), max(1, len(lines) // 9)):
        event = recorded.filter(journal__seq__lt=number).last()
        if event is None:
            continue
        then = Project.objects.create(slug=f"then-{number}")
        send(then, lines[: event.journal.seq + 1], form)
        as_of = fetch(client, project, session.session_id, at=event.pk)
        expected = fetch(client, then, session.session_id)
        assert as_of.status_code == expected.status_code  # 404: lines before the first start
        if expected.status_code == 200:
            assert plain(as_of.json()) == plain(expected.json())


@pytest.mark.parametrize(("path", "form"), TAPES)
def test_the_last_event_gives_the_current_session(client, project, path, form):
    send(project, tape(path), form)
    session = EventRecord.objects.exclude(session=None).order_by("pk").first().session
    last = EventRecord.objects.filter(session=session).order_by("pk").last()
    assert (
        fetch(client, project, session.session_id, at=last.pk).json()
        == fetch(client, project, session.session_id).json()
    )


def test_the_same_event_gives_the_same_response_after_more_events(client, project):
    send(project, map(build.line, build.small_loop("s.a.1")))
    event = EventRecord.objects.order_by("pk")[2].pk
    before = fetch(client, project, "s", at=event).content
    send(project, map(build.line, build.small_loop("s.a.2")))
    assert fetch(client, project, "s", at=event).content == before


def test_a_session_aborted_later_is_running_as_of_an_earlier_event(client, project):
    send(project, map(build.line, [build.agent_start("s.a.1"), build.turn_start("s.a.1")]))
    send(project, [], flush=True)
    event = EventRecord.objects.order_by("pk").last().pk
    assert fetch(client, project, "s", at=event).json()["status"] == "running"
    assert fetch(client, project, "s").json()["status"] == "aborted"


def test_the_inclusive_cost_counts_sub_agents_up_to_the_event(client, project):
    send(project, tape("cagent/transfer-task.reconstructed.events.jsonl"), "cagent")
    parent = EventRecord.objects.exclude(session=None).order_by("pk").first().session
    now = fetch(client, project, parent.session_id).json()
    last = EventRecord.objects.filter(session=parent).order_by("pk").last()
    then = fetch(client, project, parent.session_id, at=last.pk).json()
    assert then["inclusive_cost_usd"] == now["inclusive_cost_usd"] == "0.10176380"[:-1]
    early = EventRecord.objects.filter(session=parent).order_by("pk")[60]
    assert (
        fetch(client, project, parent.session_id, at=early.pk).json()["inclusive_cost_usd"]
        < now["inclusive_cost_usd"]
    )


@pytest.mark.parametrize(
    ("at", "status"), [("x", 400), ("-1", 400), ("", 400), ("9" * 30, 400), ("999999", 404)]
)
def test_an_invalid_or_unknown_event_is_refused(client, project, at, status):
    send(project, map(build.line, build.small_loop("s.a.1")))
    response = fetch(client, project, "s", at=at)
    assert response.status_code == status
    assert response.json()["code"] == {400: "bad_query", 404: "not_found"}[status]


def test_an_event_of_another_session_is_refused(client, project):
    send(project, map(build.line, build.small_loop("s.a.1")))
    send(project, map(build.line, build.small_loop("t.a.1", session="t")))
    event = EventRecord.objects.order_by("pk").last().pk
    assert fetch(client, project, "s", at=event).status_code == 404
