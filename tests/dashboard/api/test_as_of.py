"""`?at=`: a session folded to any of its events is what a project that had heard no more would show."""

import pytest

from recorder.access import tokens
from recorder.ingest.pipeline import Batch, ingest
from recorder.models import EventRecord, Project
from tests.support import build
from tests.support.foreign_tapes import tape

pytestmark = pytest.mark.django_db(transaction=True)

OURS = (
    "id",
    "url",
    "parent_loop",
    "children",
    "parallel_group",
)  # keys
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


def ask(client, project, session_id, **params):
    token = tokens.issue(project, "reader", ["read"])
    return client.get(f"/api/v1/sessions/{session_id}", params, headers={"Authorization": f"Bearer {token}"})


def send(project, lines, form="native", **more):
    ingest(Batch(project.pk, "p", None, list(lines), form, **more))


def plain(item):
    """Return an item without keys, and without times that are only those of receiving."""
    if isinstance(item, list):
        return [plain(each) for each in item]
    if isinstance(item, dict):
        return {name: plain(value) for name, value in item.items() if name not in (*OURS, *CLOCK)}
    return item


@pytest.mark.parametrize(("path", "form"), TAPES)
def test_every_event_gives_what_was_known_then(client, project, path, form):
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
        told = ask(client, project, session.session_id, at=event.pk)
        known = ask(client, then, session.session_id)
        assert told.status_code == known.status_code  # 404: what comes before the first start
        if known.status_code == 200:
            assert plain(told.json()) == plain(known.json())


@pytest.mark.parametrize(("path", "form"), TAPES)
def test_the_last_event_gives_the_present(client, project, path, form):
    send(project, tape(path), form)
    session = EventRecord.objects.exclude(session=None).order_by("pk").first().session
    last = EventRecord.objects.filter(session=session).order_by("pk").last()
    assert (
        ask(client, project, session.session_id, at=last.pk).json()
        == ask(client, project, session.session_id).json()
    )


def test_the_same_event_twice_gives_the_same_answer_whatever_came_since(client, project):
    send(project, map(build.line, build.small_loop("s.a.1")))
    event = EventRecord.objects.order_by("pk")[2].pk
    before = ask(client, project, "s", at=event).content
    send(project, map(build.line, build.small_loop("s.a.2")))
    assert ask(client, project, "s", at=event).content == before


def test_what_was_cut_off_later_still_ran_then(client, project):
    send(project, map(build.line, [build.agent_start("s.a.1"), build.turn_start("s.a.1")]))
    send(project, [], flush=True)
    event = EventRecord.objects.order_by("pk").last().pk
    assert ask(client, project, "s", at=event).json()["status"] == "running"
    assert ask(client, project, "s").json()["status"] == "aborted"


def test_sub_agents_count_as_far_as_they_had_come(client, project):
    send(project, tape("cagent/transfer-task.reconstructed.events.jsonl"), "cagent")
    parent = EventRecord.objects.exclude(session=None).order_by("pk").first().session
    now = ask(client, project, parent.session_id).json()
    last = EventRecord.objects.filter(session=parent).order_by("pk").last()
    then = ask(client, project, parent.session_id, at=last.pk).json()
    assert then["inclusive_cost_usd"] == now["inclusive_cost_usd"] == "0.10176380"[:-1]
    early = EventRecord.objects.filter(session=parent).order_by("pk")[60]
    assert (
        ask(client, project, parent.session_id, at=early.pk).json()["inclusive_cost_usd"]
        < now["inclusive_cost_usd"]
    )


@pytest.mark.parametrize(
    ("at", "status"), [("x", 400), ("-1", 400), ("", 400), ("9" * 30, 400), ("999999", 404)]
)
def test_an_event_that_is_none_of_the_session_is_refused(client, project, at, status):
    send(project, map(build.line, build.small_loop("s.a.1")))
    answer = ask(client, project, "s", at=at)
    assert answer.status_code == status
    assert answer.json()["code"] == {400: "bad_query", 404: "not_found"}[status]


def test_an_event_of_another_session_is_refused(client, project):
    send(project, map(build.line, build.small_loop("s.a.1")))
    send(project, map(build.line, build.small_loop("t.a.1", session="t")))
    event = EventRecord.objects.order_by("pk").last().pk
    assert ask(client, project, "s", at=event).status_code == 404
