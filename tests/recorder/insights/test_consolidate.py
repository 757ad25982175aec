"""Consolidation: what it finds on real tapes."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from recorder.demo.remove import forget_demo
from recorder.insights.consolidate import consolidate
from recorder.models import DailyJob, EventRecord, Insight, InsightEvidence, JournalEvent, Project, ReadLoop
from recorder.projection.rebuild import rebuild
from tests.recorder.insights.fixtures import learned, working
from tests.recorder.insights.projects import PLANTED, feed, quiet, world
from tests.recorder.projection.test_store import NOW, TAPES, lines_of, send
from tests.support import build

pytestmark = pytest.mark.django_db(transaction=True)

DEMO = Path("recorder/demo/tapes/a-coding-agent.jsonl")


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
    with pytest.raises(CommandError, match="There is no project"):
        call_command("consolidate", project="nowhere")
