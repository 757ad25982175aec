"""Consolidation: what it finds on real tapes, and that neither chunks nor kills nor rivals change it."""

import random
import threading
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from hypothesis import given, settings
from hypothesis import strategies as st

from recorder.demo.remove import forget_demo
from recorder.ingest import writer
from recorder.ingest.pipeline import Batch, ingest
from recorder.insights.consolidate import consolidate
from recorder.models import DailyJob, EventRecord, Insight, InsightEvidence, JournalEvent, Project, ReadLoop
from recorder.projection.rebuild import rebuild
from tests.recorder.insights.fixtures import learned, working
from tests.recorder.projection.test_store import NOW, TAPES, Projects, lines_of, send
from tests.support import build
from tests.support.build import line

pytestmark = pytest.mark.django_db(transaction=True)

DEMO = Path("recorder/demo/tapes/a-coding-agent.jsonl")
PLANTED = [
    working(f"s{n}.coder.1", "read a.py", "test!", "edit a.py", "test", "commit") for n in range(4)
] + [working("s9.coder.1", "test!", "edit a.py", "test!", "edit b.py", "test")]


@pytest.fixture
def fresh(db, monkeypatch):
    monkeypatch.setattr("recorder.insights.consolidate.PAUSE_S", 0)
    yield Projects()
    writer.close()


def quiet(*_):
    pass


def feed(project, *loops, producer="agent", **more):
    for loop in loops:
        assert not ingest(
            Batch(project.pk, producer, None, [line(each) for each in loop], received_at=NOW, **more)
        ).rejected


def world(project, tapes=6):
    """Record tapes of phi-core, and among them loops in which something is planted."""
    for number, tape in enumerate(TAPES[:tapes]):
        send(project, lines_of(tape), producer=f"p{number}")
        feed(project, *PLANTED[number : number + 1])
    return project


def shown(project, kind):
    return Insight.objects.filter(project=project, kind=kind, is_part=False)


def test_a_finding_dated_in_the_future_counts_at_its_arrival(fresh):
    project = fresh()
    feed(project, *PLANTED)
    assert EventRecord.objects.filter(occurred_at__gt=NOW).exists()

    consolidate(project, quiet)

    assert Insight.objects.exists()
    assert set(Insight.objects.values_list("first_at", "last_at")) == {(NOW, NOW)}


def test_a_planted_pattern_and_an_error_with_its_cure_are_found_on_real_tapes(fresh):
    project = world(fresh(), len(TAPES))

    consolidate(project, quiet)

    found = {" ".join(row.steps): row for row in shown(project, "procedure").filter(times__gte=3)}
    longest = found["edit test commit"]
    assert (longest.times, longest.worked, longest.loops, longest.agent_id) == (4, 4, 4, "coder")
    assert longest.median_ms == 2500
    evidence = InsightEvidence.objects.filter(insight=longest)
    assert {EventRecord.objects.get(pk=each.events[0]).type for each in evidence} == {"ToolExecutionStart"}
    assert {EventRecord.objects.get(pk=each.events[0]).loop_id for each in evidence} == {
        each.loop for each in evidence
    }

    (solution,) = shown(project, "solution").filter(agent_id="coder")
    assert (solution.about, solution.statement) == ("test", "E ValueError: bad line #")
    assert (solution.steps, solution.times, solution.worked) == (["edit"], 6, 5)
    texts = set(InsightEvidence.objects.filter(insight=solution).values_list("text", flat=True))
    assert "E ValueError: bad line 1" in texts


def test_what_an_agent_tried_in_vain_is_counted_as_that_beside_what_helped(fresh):
    project = fresh()
    send(project, lines_of(DEMO))

    consolidate(project, quiet)

    tried, helped = Insight.objects.filter(project=project, kind="solution").order_by("worked")
    assert (tried.about, tried.steps, tried.worked) == ("bash pytest", ["grep", "read_file", "edit_file"], 0)
    assert (helped.about, helped.steps, helped.worked) == ("bash pytest", ["edit_file"], 1)


def test_a_part_of_a_longer_procedure_that_comes_as_often_is_not_shown(fresh):
    project = fresh()
    feed(project, *(working(f"s{n}.a.1", "read x", "edit x", "commit") for n in range(3)))
    consolidate(project, quiet)
    assert [row.steps for row in shown(project, "procedure")] == [["read", "edit", "commit"]]

    feed(project, working("s9.a.1", "read x", "edit x"))
    consolidate(project, quiet)
    assert {(len(row.steps), row.times) for row in shown(project, "procedure")} == {(3, 3), (2, 4)}


def test_killed_at_fifty_points_and_run_again_it_ends_as_if_undisturbed(fresh):
    undisturbed, killed = world(fresh()), world(fresh())
    statements = [0]

    def count(execute, sql, *rest):
        statements[0] += 1
        return execute(sql, *rest)

    with connection.execute_wrapper(count):
        consolidate(undisturbed, quiet)
    chances = random.Random(5)
    kills = 0
    while kills < 50:
        before = ReadLoop.objects.filter(project=killed).count()
        if before == ReadLoop.objects.filter(project=undisturbed).count():
            forget(killed)
        try:
            with connection.execute_wrapper(Kill(chances.randint(1, statements[0]))):
                consolidate(killed, quiet, loops=chances.randint(1, 8))
        except Killed:
            kills += 1
        assert_only_whole_loops(killed)
    consolidate(killed, quiet)

    assert learned(killed) == learned(undisturbed)
    assert learned(undisturbed)[0]


class Killed(BaseException):
    """As a kill: nothing that runs can catch it."""


class Kill:
    """Ends everything at the n-th statement."""

    def __init__(self, left):
        self.left = left

    def __call__(self, execute, sql, *rest):
        self.left -= 1
        if self.left == 0:
            raise Killed
        return execute(sql, *rest)


def forget(project):
    """Begin anew, so that there is something left to kill."""
    Insight.objects.filter(project=project).delete()
    ReadLoop.objects.filter(project=project).delete()
    JournalEvent.objects.filter(project=project).update(consolidated_at=None)


def assert_only_whole_loops(project):
    """No line is marked whose loop was not read, and no loop counts that was not noted."""
    marked = EventRecord.objects.filter(journal__project=project, journal__consolidated_at__isnull=False)
    read = set(ReadLoop.objects.filter(project=project).values_list("loop", flat=True))
    assert set(marked.exclude(loop=None).values_list("loop", flat=True)) <= read
    evidence = InsightEvidence.objects.filter(insight__project=project)
    assert set(evidence.values_list("loop", flat=True)) <= read


CALLS = st.lists(st.sampled_from(["read a", "edit a", "edit b!", "test", "test!", "commit"]), max_size=8)


@settings(max_examples=12)
@given(st.lists(CALLS, min_size=1, max_size=6), st.integers(1, 4), st.data())
def test_neither_chunks_nor_the_time_it_runs_at_change_what_is_learned(fresh, loops, size, data):
    together, apart = fresh(), fresh()
    streams = [working(f"s{n}.a.1", *calls) for n, calls in enumerate(loops)]
    feed(together, *streams)
    consolidate(together, quiet)

    for events in streams:
        cut = data.draw(st.integers(0, len(events)))
        feed(apart, events[:cut])
        consolidate(apart, quiet, loops=size)
        feed(apart, events[cut:])
    consolidate(apart, quiet, loops=size)

    assert learned(apart) == learned(together)


def test_two_at_once_learn_what_one_does(fresh):
    alone, both = world(fresh()), world(fresh())
    consolidate(alone, quiet)
    failed = []

    def work():
        try:
            consolidate(both, quiet, loops=2)
        except Exception as error:  # noqa: BLE001  a thread's error would be lost
            failed.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []
    assert learned(both) == learned(alone)


def test_again_it_does_nothing(fresh):
    project = world(fresh())
    first = consolidate(project, quiet)
    before = learned(project)

    second = consolidate(project, quiet)

    assert first.loops > 10
    assert str(second) == "0 loops read, 0 new insights, 0 events marked; facts: off"
    assert learned(project) == before


def test_of_the_journal_nothing_changes_but_the_mark(fresh):
    project = world(fresh())
    columns = [each.name for each in JournalEvent._meta.fields if each.name != "consolidated_at"]
    before = list(JournalEvent.objects.order_by("pk").values_list(*columns))

    consolidate(project, quiet)

    assert list(JournalEvent.objects.order_by("pk").values_list(*columns)) == before
    assert not JournalEvent.objects.filter(project=project, consolidated_at=None).exists()


def test_what_is_open_waits(fresh):
    project = fresh()
    running = working("s.a.1", "read a", "test", ended=False)
    feed(project, running, working("t.a.1", "read a", "test"))
    feed(project, [build.turn_start("never.began.1")], [build.parallel_start("s.a.2", "s.a.3", session="s")])
    feed(project, [build.ours("SessionInfo", loop=None, session_id="t", title="A title")])

    consolidate(project, quiet)

    unmarked = EventRecord.objects.filter(journal__consolidated_at=None)
    assert set(unmarked.values_list("loop__loop_id", flat=True)) == {"s.a.1", "s.a.2"}
    assert list(Insight.objects.values_list("times", flat=True)) == [1]

    feed(project, [build.turn_end("s.a.1"), build.agent_end("s.a.1")])
    consolidate(project, quiet)
    assert list(Insight.objects.values_list("times", flat=True)) == [2]


def test_what_comes_after_a_loop_was_read_is_marked_and_counts_nothing(fresh):
    project = fresh()
    feed(project, working("s.a.1", "read a", "test"))
    consolidate(project, quiet)

    feed(project, [build.tool_end("s.a.1", "c9"), build.turn_end("s.a.1")])
    done = consolidate(project, quiet)

    assert (done.loops, done.lines) == (0, 2)
    assert Insight.objects.get().times == 1


def test_a_rebuild_keeps_what_was_learned(fresh):
    project = world(fresh())
    consolidate(project, quiet)
    before = learned(project)

    rebuild(project)
    assert learned(project) == before

    assert consolidate(project, quiet).loops == 0
    assert learned(project) == before


def test_what_the_demo_taught_goes_with_it(fresh):
    project = fresh()
    real = working("s.a.1", "read a", "test!", "edit a", "test")
    feed(project, real)
    consolidate(project, quiet)
    before = learned(project)

    feed(project, working("d.a.1", "read a", "test!", "edit a", "test"), producer="demo", is_demo=True)
    consolidate(project, quiet)
    assert Insight.objects.filter(is_demo=True).exists()
    forget_demo(project)

    assert learned(project) == before


def test_only_the_newest_loops_are_stored_as_evidence(fresh):
    project = fresh()
    feed(project, *(working(f"s{n}.a.1", "read a", "test") for n in range(25)))

    consolidate(project, quiet, loops=3)

    insight = Insight.objects.get()
    assert (insight.times, insight.loops) == (25, 25)
    read = sorted(ReadLoop.objects.values_list("loop", flat=True))
    evidence_loops = InsightEvidence.objects.filter(insight=insight).values_list("loop", flat=True)
    assert sorted(evidence_loops) == read[-20:]


def test_projects_learn_apart(fresh):
    one, other = fresh(), fresh()
    for project in (one, other):
        feed(project, working("s.a.1", "read a", "test"))

    consolidate(None, quiet)

    assert Insight.objects.get(project=one).times == Insight.objects.get(project=other).times == 1
    assert not JournalEvent.objects.filter(consolidated_at=None).exists()


def test_hostile_text_is_stored_as_text(fresh):
    project = fresh()
    text = "<script>alert(1)</script> error \x00 \ud800 " + "x" * 5000
    events = [
        build.agent_start("s.a.1"),
        build.turn_start("s.a.1"),
        build.tool_start("s.a.1", "c1", "<b>" * 100, {"command": ["\x00"]}),
        build.tool_end("s.a.1", "c1", "<b>" * 100, is_error=True) | {"result": text},
        build.tool_start("s.a.1", "c2", "<b>" * 100, {"command": ["\x00"]}),
        build.tool_end("s.a.1", "c2", "<b>" * 100) | {"result": {"content": 3}},
        build.agent_end("s.a.1"),
    ]
    feed(project, events)

    consolidate(project, quiet)

    (row,) = Insight.objects.all()
    assert len(row.about) <= 60
    assert row.statement.startswith("<script>alert(#)</script> error \ufffd \ufffd xxx")


def test_the_command_says_what_it_did(fresh):
    world(Project.objects.create(slug="default"))
    output = StringIO()

    call_command("consolidate", project="default", stdout=output)

    assert "loops read" in output.getvalue()
    assert "facts: off" in output.getvalue()
    assert not DailyJob.objects.exists()
    call_command("consolidate", stdout=output)
    assert DailyJob.objects.get().done_at == DailyJob.objects.get().begun_at
    with pytest.raises(CommandError, match="there is no project 'nowhere'"):
        call_command("consolidate", project="nowhere")
