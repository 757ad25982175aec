"""Pruning: old bodies are deleted, protected ones stay whole, and records and totals do not change."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings
from hypothesis import strategies as st

from recorder.demo.remove import forget_demo
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.journal import append
from recorder.journal.delta.encoding import sources
from recorder.journal.read import fingerprints, texts
from recorder.models import EventRecord, JournalEvent, LoopRecord, Pin, Producer, Project, Pruning, Session
from recorder.operations import retention, retention_pins
from recorder.operations.integrity_check import findings
from recorder.projection import store
from tests.phi_core.scenarios import FOLDER
from tests.recorder.old_bodies import NOW, bodies, consolidate, left, play, prune
from tests.support.build import agent_end, agent_start, line
from tests.support.long_loop import LongLoop
from tests.support.project_digest import records

pytestmark = pytest.mark.django_db(transaction=True)

TAPES = sorted(FOLDER.glob("*.events.jsonl"))
OPEN = "09-process-killed-in-tool"


def test_bodies_go_when_they_are_old_and_consolidated(project):
    play(project, "01-tools-two-prompts", 40)
    young = play(project, "05-sub-agents", 29)
    consolidate()
    before = records(project)

    done = prune(project)

    assert list(bodies().values()) == young
    assert done.lines == JournalEvent.objects.exclude(pruned_on=None).count() > 20
    assert records(project) == before
    assert list(findings()) == []
    assert prune(project).lines == 0


def test_nothing_goes_that_is_not_consolidated(project):
    lines = play(project, "01-tools-two-prompts", 40)

    done = prune(project)

    assert (done.lines, done.unconsolidated) == (0, len(lines))
    assert list(bodies().values()) == lines
    out = StringIO()
    call_command("prune", stdout=out)
    assert f"{len(lines)} not consolidated; nothing is pruned before it is consolidated" in out.getvalue()


def test_nothing_goes_from_a_project_that_keeps_it_for_good(project):
    project.retention_days = None
    project.save()
    lines = play(project, "01-tools-two-prompts", 4000)
    consolidate()

    assert prune(project) is None
    assert list(bodies().values()) == lines
    out = StringIO()
    call_command("prune", stdout=out)
    assert "default: bodies are never deleted" in out.getvalue()


def test_today_and_yesterday_are_never_pruned(project):
    project.retention_days = 0
    project.save()
    play(project, "01-tools-two-prompts", 1)
    consolidate()

    assert prune(project).lines == 0


def test_other_projects_keep_theirs(project):
    other = Project.objects.create(slug="other")
    lines = play(other, "01-tools-two-prompts", 40)
    consolidate()

    assert prune(project).lines == 0
    assert list(bodies().values()) == lines


def test_a_pinned_session_stays_until_it_is_let_go(project):
    lines = play(project, "01-tools-two-prompts", 40)
    consolidate()
    session = Session.objects.get()
    retention_pins.pin(session, "ada")
    retention_pins.pin(session, "bob")

    assert (prune(project).pinned, list(bodies().values())) == (len(lines), lines)
    retention_pins.unpin(session)
    assert prune(project).lines == len(lines)


def test_a_pin_goes_with_the_demo_and_stays_at_a_rebuild(project):
    lines = [line(event) for event in (agent_start("s.a.1"), agent_end("s.a.1"))]
    other = [line(event) for event in (agent_start("d.a.1"), agent_end("d.a.1"))]
    ingest(Batch(project.pk, "p", None, lines))
    ingest(Batch(project.pk, "demo", None, other, is_demo=True))
    for session in Session.objects.all():
        retention_pins.pin(session, "ada")

    call_command("rebuild", stdout=StringIO(), stderr=StringIO())
    assert set(Pin.objects.values_list("session_id", flat=True)) == {"s", "d"}
    forget_demo(project)
    assert list(Pin.objects.values_list("session_id", flat=True)) == ["s"]


def test_what_runs_stays_and_goes_when_it_has_ended(project):
    lines = play(project, OPEN, 40, "p")
    consolidate()

    pruned = prune(project)
    assert pruned.open > 0
    assert LoopRecord.objects.filter(status="running").exists()
    open_lines = EventRecord.objects.filter(loop__status="running").values_list("pk", flat=True)
    assert not JournalEvent.objects.filter(pk__in=open_lines).exclude(pruned_on=None).exists()

    ingest(Batch(project.pk, "p", None, [], flush=True))
    consolidate()
    assert prune(project).open == 0
    assert not left().exists()
    assert Producer.objects.get(name="p").high == len(lines) - 1


def test_an_open_question_keeps_its_session(project):
    queries = {
        "type": "ApprovalRequested",
        "session_id": "s",
        "loop_id": "s.a.1",
        "approval_id": "q",
        "kind": "tool",
        "timestamp": agent_start()["timestamp"],
    }
    lines = [line(event) for event in (agent_start("s.a.1"), queries, agent_end("s.a.1"))]
    play(project, lines, 40, "p")
    consolidate()
    assert Session.objects.get().waiting == 1

    assert prune(project).open == len(lines)
    assert list(bodies().values()) == lines


def test_lines_that_others_are_made_of_stay(project):
    play(project, list(LongLoop(12).lines()), 40, "p")
    newest = JournalEvent.objects.order_by("-pk").values_list("pk", flat=True)[:5]
    consolidate()
    JournalEvent.objects.filter(pk__in=list(newest)).update(consolidated_at=None)
    before = bodies()

    done = prune(project)

    assert done.needed > 0
    assert done.lines > 0
    assert texts(list(newest)) == {pk: before[pk] for pk in newest}
    assert bodies() == {pk: before[pk] for pk in left().values_list("pk", flat=True)}
    assert list(findings()) == []


PLAYED = st.lists(
    st.tuples(st.sampled_from(TAPES), st.sampled_from((5, 31, 40, 40, 90)), st.sampled_from("pq")),
    min_size=1,
    max_size=4,
)


@settings(max_examples=12)
@given(PLAYED, st.randoms(use_true_random=False), st.integers(1, 40))
def test_whatever_was_recorded_all_that_must_stay_is_whole(played, random, at_once):
    project = Project.objects.create(slug=f"p{Project.objects.count()}")
    for number, (tape, days, producer) in enumerate(played):
        play(project, tape.read_bytes().splitlines(), days, f"{producer}{days}{number % 2}")
    mine = JournalEvent.objects.filter(project=project, size__gt=0).order_by("pk")
    keys = list(mine.values_list("pk", flat=True))
    unread = set(random.sample(keys, random.randrange(len(keys)) // 3))
    append.mark_consolidated([pk for pk in keys if pk not in unread], NOW)
    sessions = Session.objects.filter(project=project).order_by("pk")
    pinned = [each for each in sessions if random.random() < 0.3]
    for session in pinned:
        retention_pins.pin(session, "ada")
    before, records_before = texts(keys), records(project)
    before_prints = fingerprints(keys)

    broken = _break_off(project, random, at_once)
    done = prune(project)

    gone = set(mine.exclude(pruned_on=None).values_list("pk", flat=True))
    stays = set(keys) - gone
    must = _must_stay(project, keys, unread, pinned)
    made_of = {source for pk, pieces in mine.filter(pk__in=stays).values_list("pk", "pieces")
               for source in sources(pk, pieces)}  # fmt: skip
    assert stays == must | (made_of & set(keys))
    assert texts(keys) == {pk: before[pk] for pk in stays}
    assert fingerprints(keys) == before_prints
    assert records(project) == records_before
    assert done.lines + broken == len(gone)
    assert not _faults(keys)


def _break_off(project, random, at_once):
    """Prune, killed somewhere: between two transactions or within one; return how many bodies went."""
    places = random.randrange(12)
    retention.BATCH_LINES, usual = at_once, retention.BATCH_LINES
    note, calls = store.note_pruned, []

    def breaks(*given):
        calls.append(given)
        note(*given)
        if len(calls) > places:
            raise KeyboardInterrupt

    store.note_pruned = breaks
    try:
        retention.prune(project, NOW, lambda _: _kill(random))
    except KeyboardInterrupt:
        pass
    finally:
        store.note_pruned, retention.BATCH_LINES = note, usual
        Pruning.objects.filter(project=project).delete()
    return JournalEvent.objects.filter(project=project).exclude(pruned_on=None).count()


def _kill(random):
    if random.random() < 0.2:
        raise KeyboardInterrupt


def _must_stay(project, keys, unread, pinned):
    day = (NOW - timedelta(days=project.retention_days)).replace(hour=0, minute=0, second=0, microsecond=0)
    young = set(JournalEvent.objects.filter(pk__in=keys, received_at__gte=day).values_list("pk", flat=True))
    rows = EventRecord.objects.filter(pk__in=keys).select_related("loop", "session")
    groups = set(Session.objects.filter(group_records__status="running").values_list("pk", flat=True))
    return young | unread | {
        row.pk
        for row in rows
        if row.session in pinned
        or row.session_id in groups
        or (row.session and row.session.waiting)
        or (row.loop.status in ("running", "pending") if row.loop else row.session and row.session.open_loops)
    }  # fmt: skip


def _faults(keys):
    return [finding for finding in findings() if finding.startswith("journal") or "database" in finding]


@pytest.mark.parametrize("form", ["native", "cagent", "aidaemon", "grida"])
def test_what_consolidation_has_read_of_any_runtime_goes(project, form):
    tapes = {
        "native": TAPES[0],
        "cagent": FOLDER.parent / "cagent/transfer-task.v19.db",
        "aidaemon": FOLDER.parent / "aidaemon/events.hand-made.db",
        "grida": FOLDER.parent / "grida/lifecycle.hand-made.sse",
    }
    call_command("import_runs", tapes[form], stdout=StringIO(), stderr=StringIO())
    call_command("consolidate", stdout=StringIO(), stderr=StringIO())
    records_before = records(project.pk)

    done = retention.prune(project, NOW + timedelta(days=60))

    assert done.lines > 0
    assert done.unconsolidated == 0
    assert left().count() == done.open + done.needed
    is_open = Session.objects.filter(waiting__gt=0) or LoopRecord.objects.filter(status="running")
    assert bool(done.open) == bool(is_open)
    assert records(project.pk) == records_before


@pytest.mark.sqlite
def test_what_is_due_is_found_by_an_index_of_its_own(project):
    with CaptureQueriesContext(connection) as queries:
        retention.due(project, NOW)
        prune(project)
    statements = [
        each["sql"] for each in queries if "IS NOT NULL" in each["sql"] and "journalevent" in each["sql"]
    ]
    with connection.cursor() as cursor:
        plans = [cursor.execute(f"EXPLAIN QUERY PLAN {sql}").fetchall() for sql in statements]

    assert len(plans) == 2
    assert all("lines_to_prune" in str(plan) for plan in plans)
