"""A deleted session is gone: its lines, records and sums; every other line and record stays as it was."""

import re

import pytest
from django.db import connection
from django.utils import timezone

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.journal.delta.encoding import sources
from recorder.journal.read import texts
from recorder.models import (
    AuditEntry,
    Deletion,
    EventRecord,
    JournalEvent,
    ModelConfig,
    Pin,
    Project,
    QuarantinedLine,
    Session,
)
from recorder.operations import deletion
from recorder.operations.audit import COMMAND, Actor
from recorder.operations.integrity_check import findings
from recorder.projection.rebuild import DeletionPending, rebuild
from tests.phi_core.scenarios import FOLDER
from tests.support.build import line
from tests.support.project_digest import records
from tests.support.small_loop import Loop

pytestmark = pytest.mark.django_db(transaction=True)

NOW = timezone.now()
PLANTED = "zanzibar-lighthouse-9417"
LONG = "The common system prompt of all sessions. " * 40


def events(session, text, long=LONG):
    """Return the lines of a session with a long text that others repeat, and one of its own."""
    return list(map(line, Loop(session, "a.1").whole(f"{long} {text}")))


def play(project, lines, producer="p"):
    return ingest(Batch(project.pk, producer, None, lines, received_at=NOW))


def tape(project, name, producer=None):
    lines = (FOLDER / f"{name}.events.jsonl").read_bytes().splitlines()
    play(project, lines, producer or name)
    return lines


def delete(project, *sessions, **options):
    return [
        each for session in sessions for each in deletion.delete_session(project, session, COMMAND, **options)
    ]


def bodies(project):
    rows = JournalEvent.objects.filter(project=project, size__gt=0).order_by("pk")
    return list(texts(rows.values_list("pk", flat=True)).values())


def own_bytes():
    return sum(len(bytes(own)) for own in JournalEvent.objects.values_list("own", flat=True))


def without_keys(project):
    """Return the records of a project without the colours of configs, which count those before them."""
    return [re.sub(r'"slot": \d+', "", each) for each in records(project)]


def test_a_session_goes_and_all_other_lines_stay_byte_for_byte(project):
    first = events("gone", f"first {PLANTED}")
    second, third = events("stays", "second"), events("stays-too", "third")
    for lines in (first, second, third):
        play(project, lines)
    gone = set(EventRecord.objects.filter(session__session_id="gone").values_list("pk", flat=True))
    copied = {
        source
        for pk, pieces in JournalEvent.objects.exclude(pk__in=gone).values_list("pk", "pieces")
        for source in sources(pk, pieces)
    }
    assert copied & gone  # else this tests nothing

    (done,) = delete(project, "gone")

    assert bodies(project) == second + third
    assert (done.lines, done.size, done.loops) == (len(first), sum(map(len, first)), 1)
    assert done.finished_at is not None
    assert set(Session.objects.values_list("session_id", flat=True)) == {"stays", "stays-too"}
    assert list(findings()) == []


def test_lines_that_come_after_it_are_encoded_against_what_is_left(project):
    play(project, events("gone", "first"))
    delete(project, "gone")
    after = events("next", "second") + events("one-more", "third")

    play(project, after)

    assert bodies(project) == after
    assert list(findings()) == []


def test_the_text_that_many_lines_had_copied_is_stored_once(project):
    long = "".join(f"word{number} " for number in range(4_000))
    lines = {name: events(name, name, long) for name in ("gone", "b", "c", "d")}
    for each in lines.values():
        play(project, each)

    before = own_bytes()

    delete(project, "gone")

    assert own_bytes() <= before
    assert bodies(project) == [*lines["b"], *lines["c"], *lines["d"]]


@pytest.mark.parametrize("order", [("a", "b", "c"), ("c", "a", "b"), ("b", "c", "a")])
def test_deletions_after_each_other_leave_the_rest_readable(project, order):
    lines = {name: events(name, name) for name in ("a", "b", "c", "d")}
    for each in lines.values():
        play(project, each)
    for name in order:
        delete(project, name)
        del lines[name]
        assert bodies(project) == [raw for each in lines.values() for raw in each]
        assert list(findings()) == []


@pytest.mark.parametrize("name", ["01-tools-two-prompts", "03-parallel-judge", "06-compaction-block-based"])
def test_the_records_are_those_of_a_database_that_never_had_it(project, name):
    other, last = Project.objects.create(slug="other"), events("last", "last")
    play(project, events("gone", PLANTED), "p")
    for each in (project, other):
        tape(each, name, "q")
        play(each, last, "r")

    delete(project, "gone")

    assert without_keys(project) == without_keys(other)
    before = records(project)
    rebuild(project)
    assert records(project) == before


def test_what_is_sent_again_is_acknowledged_and_not_recorded(project):
    lines = events("gone", PLANTED)
    play(project, lines)
    delete(project, "gone")

    again = ingest(Batch(project.pk, "p", 0, lines))
    elsewhere = ingest(Batch(project.pk, "q", 0, lines))

    assert (again.duplicates, again.accepted, again.upto) == (len(lines), 0, len(lines) - 1)
    assert (elsewhere.dropped, elsewhere.accepted, elsewhere.upto) == (len(lines), 0, len(lines) - 1)
    assert Deletion.objects.get().dropped == len(lines)
    assert not JournalEvent.objects.exists()
    assert not Session.objects.exists()
    assert not QuarantinedLine.objects.exists()
    assert list(findings()) == []


def test_later_lines_of_an_open_session_are_dropped_and_others_recorded(project):
    open_loop, other = Loop("gone", "a.1"), Loop("stays", "a.1")
    play(project, [line(open_loop.start()), *map(line, open_loop.whole_turn("one")), line(other.start())])
    delete(project, "gone")

    late = ingest(
        Batch(project.pk, "p", None, [*map(line, open_loop.whole_turn("two")), line(open_loop.end())])
    )
    kept = ingest(Batch(project.pk, "p", None, [*map(line, other.whole_turn("three")), line(other.end())]))
    ingest(Batch(project.pk, "p", None, [], flush=True))

    assert (late.accepted, late.dropped) == (0, 7)
    assert (kept.accepted, kept.dropped) == (7, 0)
    assert Session.objects.get().session_id == "stays"
    assert Session.objects.get().turns == 1
    assert list(findings()) == []


def test_a_loop_id_that_another_session_has_too_is_recorded_there(project):
    """Loop ids need not begin with the session: the loop that its producer began last counts."""
    mine = Loop("gone", "x")
    yours = Loop("stays", "x")
    mine.id = yours.id = "loop-1"
    play(project, list(map(line, mine.whole("one"))), "p")
    play(project, [line(yours.start())], "q")
    delete(project, "gone")

    assert ingest(Batch(project.pk, "q", None, [*map(line, yours.whole_turn("two"))])).dropped == 0
    assert ingest(Batch(project.pk, "p", None, [*map(line, mine.whole_turn("three"))])).accepted == 0
    play(project, [line(yours.start())], "p")  # it begins a loop of the other session now
    assert ingest(Batch(project.pk, "p", None, [*map(line, yours.whole_turn("four"))])).dropped == 0


def test_sub_agents_stay_by_default(project):
    tape(project, "05-sub-agents")
    before = {each.session_id for each in Session.objects.all()}
    parent = Session.objects.filter(sub_agents__gt=0).first()
    spawned = {each.session_id for each in deletion.sub_agents([parent])}
    assert spawned

    delete(project, parent.session_id)
    assert {each.session_id for each in Session.objects.all()} == before - {parent.session_id}
    left = records(project)
    rebuild(project)
    assert records(project) == left
    assert list(findings()) == []


def test_sub_agents_go_with_it_on_request(project):
    tape(project, "05-sub-agents")
    parent = Session.objects.filter(sub_agents__gt=0).first()
    spawned = {each.session_id for each in deletion.sub_agents([parent])}

    delete(project, parent.session_id, with_sub_agents=True)

    assert not Session.objects.filter(session_id__in={*spawned, parent.session_id}).exists()
    assert list(findings()) == []


def test_pins_configs_orphans_and_rejected_lines_go_with_it(project):
    lines, others = events("gone", PLANTED), events("stays", "x")
    orphan = line(
        {"type": "TurnStart", "loop_id": "gone.never.9", "turn_index": 0, "timestamp": "2026-02-11T09:00:00Z"}
    )
    play(project, [orphan, *lines, b'{"type": "TurnStart", "loop_id": "gone.a.1"}', *others])
    Pin.objects.create(project=project, session_id="gone")
    assert QuarantinedLine.objects.exists()

    delete(project, "gone")

    assert bodies(project) == others
    assert not Pin.objects.exists()
    assert not QuarantinedLine.objects.exists()
    assert ModelConfig.objects.count() == 1
    assert list(findings()) == []


def test_an_interrupted_deletion_hides_the_session_and_is_resumed(project, monkeypatch):
    lines = events("stays", "x")
    play(project, events("gone", PLANTED))
    play(project, lines)
    found = deletion.find(project, ["gone"])
    begun = deletion.begin(project, found, COMMAND)
    assert list(Session.objects.filter(project=project).values_list("session_id", flat=True)) == ["stays"]
    assert list(Project.objects.all()) == [project]
    assert bodies(project)[-len(lines) :] == lines
    with pytest.raises(DeletionPending):
        rebuild(project)

    done = deletion.resume()

    assert [each.pk for each in done] == [each.pk for each in begun]
    assert bodies(project) == lines
    assert deletion.resume() == []


def test_it_is_in_the_audit_log(project):
    play(project, events("gone", PLANTED))
    deletion.delete_session(project, "gone", Actor("user", "ada", "192.0.2.7"))

    entry = AuditEntry.objects.get()
    assert (entry.actor_kind, entry.actor, entry.action) == ("user", "ada", "session.delete")
    assert (entry.target, entry.address, entry.before["loops"]) == ("gone", "192.0.2.7", 1)


def test_a_session_that_is_not_there_is_refused(project):
    with pytest.raises(deletion.NotFound):
        delete(project, "nowhere")
    assert not Deletion.objects.exists()


def test_nothing_of_its_text_is_left_in_any_table(project):
    """Scan every column of every table; the id of the session is no text of it."""
    play(project, events("gone", PLANTED, f"{LONG} {PLANTED}"))
    play(project, events("stays", "other"))
    delete(project, "gone")

    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            assert PLANTED not in repr(
                [[bytes(v) if isinstance(v, memoryview) else v for v in row] for row in cursor]
            )
