"""A session as of an event: every table holds what it held then, for this connection only."""

from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest
from django.db import connection
from hypothesis import given, settings
from hypothesis import strategies as st

from recorder.core.records import Loop
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import EventRecord, LoopRecord, Project
from recorder.models import Session as SessionRow
from recorder.projection.as_of import NotOfSession, as_of, record_versions
from tests.support import build
from tests.support.foreign_tapes import tape
from tests.support.memory_store import Play
from tests.support.project_digest import records, records_of

pytestmark = pytest.mark.django_db(transaction=True)

STREAMS = [
    [*build.small_loop("s.a.1")[:-1], build.tool_start("s.a.1"), build.tool_end("s.a.1", is_error=True)],
    [
        build.parallel_start("s.b.1", "s.b.2"),
        *build.small_loop("s.b.1", tokens=7),
        *build.small_loop("s.b.2", tokens=9),
        build.parallel_end("s.b.2", index=1),
    ],
    [
        build.agent_start("s.c.1", parent="s.a.1", kind="Default"),
        build.message_end("s.c.1", message=build.user("Go on.")),
        build.turn_start("s.c.1"),
        build.turn_request("s.c.1"),
        build.message_start("s.c.1"),
        build.message_update("s.c.1", text="Well, "),
        build.message_update("s.c.1", text="hm", kind="Thinking"),
        build.message_update("s.c.1", text="m."),
        build.message_end("s.c.1", message=build.assistant()),
        build.compaction_started("s.c.1"),
        build.compaction_ended("s.c.1"),
        build.turn_end("s.c.1", tokens=11),
        build.agent_end("s.c.1"),
    ],
    [
        build.agent_start("s.d.1"),
        build.ours("ApprovalRequested", loop="s.d.1", kind="command", command="rm -rf x"),
        build.ours("AgentPaused", loop="s.d.1"),
        build.ours("ApprovalResolved", loop="s.d.1", command="rm -rf x", decision="denied"),
    ],
    build.handed_over("s.e.1"),
]


NUMBERS = count(1)


@pytest.fixture
def project():
    return Project.objects.create(slug="default")


def send(project, *events, producer="p", **more):
    lines = [event if isinstance(event, bytes) else build.line(event) for event in events]
    ingest(Batch(project.pk, producer, None, lines, more.pop("form", "native"), **more))


def session_of(project, session_id="s"):
    return SessionRow.objects.get(project=project, session_id=session_id)


def held(project):
    """Return every record in words; configs and sums of money belong to the project, not to a moment."""
    return [each for each in records(project) if not each.startswith(("ModelConfig", "Spending"))]


@settings(max_examples=6)
@given(order=st.lists(st.integers(0, 4), max_size=24), flushed=st.integers(0, 4), chance=st.randoms())
def test_at_every_event_the_tables_hold_what_they_held_then(order, flushed, chance):
    project = Project.objects.create(slug=f"project-{next(NUMBERS)}")
    rests, then = [list(stream) for stream in STREAMS], {}
    for producer in [*order, *(n for n, stream in enumerate(STREAMS) for _ in stream)]:
        if rests[producer]:
            send(project, rests[producer].pop(0), producer=f"p{producer}")
            then[EventRecord.objects.latest("pk").pk] = held(project)
    send(project, producer=f"p{flushed}", flush=True)
    now, session = held(project), session_of(project)

    for event in chance.sample(sorted(then), 12):
        with as_of(session, event):
            assert held(project) == then[event]
    assert held(project) == now


ODD = [
    build.agent_start("s.o.1"),  # whose config its first answer names, and whose title its end
    build.tool_start("s.o.1", call="early", at=1),
    build.tool_start("s.o.1", call="early", args={"b": 1, "a": [2]}, timestamp=build.time(1)),
    build.ours("ApprovalRequested", loop="s.o.1", tool_call_id="denied", command="rm"),
    build.tool_end("s.o.1", call="denied", is_error=True, timestamp=build.time(2)),
    build.tool_end("s.o.1", call="early", duration_ms=40),
    build.turn_start("s.o.1"),
    build.tool_start("s.o.1", timestamp=build.time(3)),
    build.progress("s.o.1"),
    build.tool_end("s.o.1", is_error=True),
    build.message_end("s.o.1", message=build.assistant("A *bold* answer.")),
    build.turn_end("s.o.1", tokens=3, cost=0.0123, message=build.assistant("- - **Bold**", tokens=3)),
    build.turn_end("s.o.1", tokens=2, turn_index=7, message=build.tool_result()),
    build.turn_start("s.o.1", by="Continuation"),
    build.ours("ErrorRaised", loop="s.o.1", scope="turn", message="It broke."),
    build.turn_end("s.o.1", tokens=4, message=build.assistant("", stop="error", error="Overloaded.")),
    build.turn_start("s.o.1"),
    build.turn_start("s.o.1"),
    build.agent_end("s.o.1", tokens=9, messages=[build.user("Name it."), build.assistant("- - *So.*")]),
    build.turn_end("s.o.1", tokens=1),  # late
    build.agent_start("s.o.1", config_snapshot={"model": "m", "provider": "p"}, title="Given"),
    build.message_end("s.o.1", message=build.user("[Agent stopped: no more turns]")),
    build.turn_end("s.o.1", tokens=1, message=build.assistant("Bye.", provider="openai")),
    build.agent_end("s.o.1", tokens=8, rejection=""),
    build.agent_start("s.o.2", parent="s.o.1", kind="Default"),
    build.agent_end("s.o.2", tokens=5, outcome="failed", error="  Out of \n memory "),
    build.agent_start("s.o.3", config_snapshot={"model": "m", "provider": "anthropic"}),
    build.tool_end("s.o.3", child="s.o.2"),
    build.agent_end("s.o.3", tokens=6),
]


def test_lines_that_records_do_not_reflect_are_read(project):
    then = {}
    for event in ODD:
        send(project, event)
        then[EventRecord.objects.latest("pk").pk] = held(project)
    for event in reversed(then):
        with as_of(session_of(project), event):
            assert held(project) == then[event]


@pytest.mark.parametrize(
    "name",
    [
        *("phi-core/02-continue-rerun-branch", "phi-core/03-parallel-judge", "phi-core/05-sub-agents"),
        *("phi-core/08-rejections-and-errors", "cagent/two-turns.reconstructed"),
        *("cagent/exec-json-cut-by-error.hand-made", "cagent/all-event-types.hand-made"),
        "cagent/transfer-task.reconstructed",
    ],
)
def test_at_any_event_of_a_tape_the_tables_hold_what_they_held_then(project, name):
    then, form = {}, "cagent" if name.startswith("cagent") else "native"
    lines = tape(f"{name}.events.jsonl")
    for first in range(0, len(lines), size := len(lines) // 24 + 1):
        send(project, *lines[first : first + size], form=form)
        if SessionRow.objects.exists():
            then[EventRecord.objects.latest("pk").pk] = held(project)
    session = SessionRow.objects.filter(parent=None).earliest("pk")
    events = list(EventRecord.objects.filter(session=session, pk__in=then).values_list("pk", flat=True))
    assert len(events) >= 3
    for event in events:
        with as_of(session, event):
            assert held(project) == then[event]


def test_at_any_event_of_a_tape_of_several_sessions_each_is_as_it_was(project):
    then = {}
    for line in tape("grida/lifecycle.hand-made.sse"):
        send(project, line, form="grida")
        newest = EventRecord.objects.order_by("pk").last()
        if newest is not None and newest.session_id is not None:
            then[newest.pk] = newest.session, records_of(project, [newest.session_id])
    assert len({session for session, _ in then.values()}) > 1
    for event, (session, held_then) in then.items():
        with as_of(session, event):
            assert records_of(project, [session.pk]) == held_then


@settings(max_examples=10)
@given(st.lists(st.integers(0, 2), max_size=30), st.floats(0, 1))
def test_totals_are_those_of_the_pure_fold_of_what_came_before(order, share):
    project = Project.objects.create(slug=f"project-{next(NUMBERS)}")
    rests, sent = [list(stream) for stream in STREAMS], []
    for producer in [*order, *(n for n, stream in enumerate(STREAMS) for _ in stream)]:
        if rests[producer]:
            sent.append((rests[producer].pop(0), producer))
            send(project, sent[-1][0], producer=f"p{producer}")
    recorded = EventRecord.objects.filter(journal__project=project)
    events = list(recorded.order_by("pk").values_list("pk", flat=True))
    number = 1 + round(share * (len(events) - 1))
    play = Play()
    for event, producer in sent[:number]:
        play.feed(event, producer=producer + 1)

    with as_of(session_of(project), events[number - 1]):
        seen = session_of(project)
        loops = LoopRecord.objects.filter(session=seen)
        assert {name: getattr(seen, name) for name in TOTALS} == totals(play.session("s"))
        assert {loop.loop_id: (loop.status, loop.turns, loop.input_tokens) for loop in loops} == {
            loop.loop_id: (loop.status, loop.turns, loop.input_tokens) for loop in play.of(Loop)
        }


TOTALS = (
    *("status", "outcome", "title", "activity", "loops", "open_loops", "turns", "tool_calls", "errors"),
    *("compactions", "groups", "waiting", "events", "input_tokens", "output_tokens"),
)


def totals(session):
    return {name: getattr(session, name) for name in TOTALS}


def test_nobody_else_sees_the_past(project):
    send(project, *build.small_loop("s.a.1"))
    first = EventRecord.objects.order_by("pk").first().pk

    with as_of(session_of(project), first):
        assert LoopRecord.objects.get().status == "running"
        with ThreadPoolExecutor(1) as others:
            assert others.submit(status_elsewhere).result() == "completed"
            assert others.submit(send_elsewhere, project.pk).result() is None
        assert EventRecord.objects.count() == 1
    assert LoopRecord.objects.count() == 2


def status_elsewhere():
    try:
        return LoopRecord.objects.get().status
    finally:
        connection.close()


def send_elsewhere(project):
    try:
        send(Project.objects.get(pk=project), *build.small_loop("s.a.2"))
    finally:
        connection.close()


def test_what_breaks_off_in_the_past_comes_back_to_the_present(project):
    send(project, *build.small_loop("s.a.1"))
    first = EventRecord.objects.order_by("pk").first().pk

    with pytest.raises(ZeroDivisionError), as_of(session_of(project), first):
        raise ZeroDivisionError
    assert LoopRecord.objects.get().status == "completed"


@pytest.mark.parametrize("event", [0, 10**9])
def test_an_event_that_is_none_of_the_session_has_no_past(project, event):
    send(project, *build.small_loop("s.a.1"))

    with pytest.raises(NotOfSession), as_of(session_of(project), event):
        pass


def test_versions_go_on_where_they_ended_and_are_made_again_when_other_lines_come_before(
    project, monkeypatch
):
    begun = []
    monkeypatch.setattr(record_versions.RecordVersions, "_begin", lambda self: begun.append(begin(self)))
    send(project, *build.small_loop("s.a.1"), tool_end_with_child())
    session, last = session_of(project), EventRecord.objects.order_by("pk").last().pk
    for event in (last - 2, last, last - 1):
        with as_of(session, event):
            assert EventRecord.objects.latest("pk").pk == event
    assert len(begun) == 1

    send(project, build.agent_start("kid.a.1", parent="s.a.1", session="kid"), producer="q")
    with as_of(session, last):
        assert SessionRow.objects.count() == 1
    assert len(begun) == 2


begin = record_versions.RecordVersions._begin


def tool_end_with_child():
    return build.tool_end("s.a.1", child="kid.a.1")


def test_a_sub_agent_sees_who_spawned_it(project):
    send(project, *tape("cagent/transfer-task.reconstructed.events.jsonl"), form="cagent")
    child = SessionRow.objects.exclude(parent=None).get()
    last = EventRecord.objects.filter(session=child).order_by("pk").last().pk
    with as_of(child, last):
        seen = SessionRow.objects.select_related("parent__session").get(pk=child.pk)
        assert (seen.parent, seen.parent.session) == (child.parent, child.parent.session)
        assert seen.parent.session.title == child.parent.session.title
