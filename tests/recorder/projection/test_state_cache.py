"""A cached State equals one that is loaded from the tables."""

from datetime import timedelta
from threading import Thread
from unittest.mock import patch

import pytest
from django.db import connection, transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from recorder.ingest.commit.pipeline import PORTION_BYTES, Batch, ingest, record
from recorder.models import Project, Session
from recorder.projection import store
from tests.recorder.core.test_restart import STREAMS
from tests.support import build
from tests.support.memory_store import FLUSH
from tests.support.project_digest import digest

pytestmark = pytest.mark.django_db(transaction=True)

kept_only = pytest.mark.skipif("connection.vendor != 'sqlite'", reason="PostgreSQL's nodes keep nothing")


@pytest.fixture
def readings(monkeypatch):
    """Every reading of a Memory from the tables."""
    loaded, original = [], store.load_state

    def counted(*args):
        loaded.append(args)
        return original(*args)

    monkeypatch.setattr(store, "load_state", counted)
    return loaded


def send(project, *events, producer="p"):
    return ingest(Batch(project.pk, producer, None, [build.line(event) for event in events]))


def batches(project, stream, sizes):
    """Cut a stream of events and flushes, each of one of two producers, into groups of batches."""
    group = []
    for n, (event, producer) in enumerate(stream):
        lines = [] if event == FLUSH else [build.line(event)]
        batch = Batch(
            project.pk,
            f"p{producer}",
            None,
            lines,
            flush=event == FLUSH,
            received_at=build.NINE + timedelta(seconds=n),
        )
        group.append(batch)
        if len(group) >= sizes[n % len(sizes)]:
            yield group
            group = []
    if group:
        yield group


@settings(max_examples=40)
@given(
    stream=STREAMS,
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    together=st.sampled_from([1, 500, PORTION_BYTES]),
)
def test_records_are_the_same_with_cached_and_with_loaded_state(stream, sizes, together):
    kept, fresh = (
        Project.objects.create(slug=f"{name}{Project.objects.count()}") for name in ("kept", "fresh")
    )
    with patch("recorder.ingest.commit.pipeline.PORTION_BYTES", together):
        for group in batches(kept, stream, sizes):
            record(group)
    for group in batches(fresh, stream, sizes):
        Project.objects.filter(pk=fresh.pk).update(title="")  # whatever is written, nothing is kept
        record(group)

    assert digest(kept) == digest(fresh)


@kept_only
def test_a_loop_that_goes_on_is_not_read_again(project, readings):
    send(project, build.agent_start(), build.turn_start())
    assert len(readings) == 1

    for n in range(5):
        send(project, build.message_update(text=f"{n} "))
    send(project, build.message_end(message=build.assistant("Done.")))

    assert len(readings) == 1
    assert Session.objects.get().events == 8


@kept_only
def test_nor_is_any_when_projects_take_turns(project, readings):
    other = Project.objects.create(slug="other")
    for each in (project, other):
        send(each, build.agent_start(), build.turn_start())

    for _ in range(3):
        for each in (project, other):
            send(each, build.message_update())

    assert len(readings) == 2


HELD = {
    "another loop": [build.message_update("m.a.1")],
    "its session": [build.agent_start("s.c.3")],
    "what waits for it": [build.agent_start("x.a.1")],
    "a session that waits for it": [build.agent_start("h.a.1")],
    "orphans of it": [build.agent_start("u.a.1")],
    "orphans that it adopts": [build.agent_start("j.a.1", adopts="u.a.1")],
    "a call that ran it": [build.agent_start("v.a.1", session="y")],
    "a call that ran its session": [build.agent_start("v.b.2")],
}


@kept_only
@pytest.mark.parametrize("events", HELD.values(), ids=HELD)
def test_what_the_tables_hold_and_the_memory_does_not_is_read(project, readings, events):
    for event in (
        build.agent_start("s.b.2"),
        build.agent_start("m.a.1", session="s"),
        build.agent_start("w.a.1", parent="x.a.1"),
        build.agent_start("g.a.1"),
        build.ours("SubAgentLinked", None, parent_loop_id="h.a.1", child_session_id="g"),
        build.message_update("u.a.1"),
        build.turn_start("s.b.2"),
        build.tool_start("s.b.2"),
        build.tool_end("s.b.2", child="v.a.1"),
    ):
        send(project, event)
    connection.close()
    send(project, build.agent_start("b.a.1"))
    before = len(readings)

    send(project, *events)

    assert len(readings) == before + 1


@kept_only
def test_another_producers_own_loop_of_the_same_id_is_read(project, readings):
    send(project, build.agent_start(session="one"), producer="q")
    send(project, build.agent_start(session="two"))
    connection.close()
    send(project, build.message_update())
    before = len(readings)

    send(project, build.message_update(), producer="q")

    assert len(readings) == before + 1
    assert {each.session_id: each.events for each in Session.objects.all()} == {"one": 2, "two": 2}


@kept_only
def test_what_is_above_a_loop_is_read_once_a_line_may_link_it(project, readings):
    for event in (
        build.agent_start("q.a.1"),
        build.agent_start("r.a.1", parent="q.a.1"),
        build.agent_start("s.a.1", parent="r.a.1"),
    ):
        send(project, event)
    connection.close()
    send(project, build.message_update("s.a.1"))
    before = len(readings)

    send(project, build.agent_start("t.a.1", parent="s.a.1"))

    assert len(readings) == before + 1
    assert Session.objects.get(session_id="t").parent.loop_id == "s.a.1"


@kept_only
def test_new_ids_are_not_searched_in_every_table(project, readings):
    send(project, build.agent_start(), build.turn_start())

    send(project, build.agent_start("t.a.1"), build.turn_start("t.a.1"))
    send(project, build.message_update(), producer="q")
    send(project, build.agent_start("s.a.1"))
    send(project, build.message_update("s.b.2"))

    assert len(readings) == 1
    assert Session.objects.count() == 2


def in_a_thread(work):
    def run():
        work()
        connection.close()

    thread = Thread(target=run)
    thread.start()
    thread.join()


@pytest.mark.parametrize("run", [lambda work: work(), in_a_thread], ids=["here", "on another connection"])
def test_records_written_by_others_are_loaded(project, readings, run):
    send(project, build.agent_start(), build.turn_start())

    run(lambda: Session.objects.update(title="Renamed", title_given=True))
    send(project, build.message_update())

    assert Session.objects.get().title == "Renamed"
    assert len(readings) == 2


def test_records_written_by_the_caller_afterwards_are_loaded(project, readings):
    with transaction.atomic():
        send(project, build.agent_start(), build.turn_start())
        Session.objects.update(title="Renamed", title_given=True)
    send(project, build.message_update())

    assert Session.objects.get().title == "Renamed"
    assert len(readings) == 2


def test_what_was_not_committed_is_forgotten(project, readings):
    send(project, build.agent_start(), build.turn_start())
    with transaction.atomic():
        send(project, build.turn_end(tokens=7))
        transaction.set_rollback(True)

    send(project, build.message_update())

    assert Session.objects.get().turns == 0
    assert len(readings) >= 2


def test_a_new_connection_remembers_nothing(project, readings):
    send(project, build.agent_start(), build.turn_start())
    connection.close()

    send(project, build.message_update())

    assert len(readings) == 2


@kept_only
def test_a_memory_is_read_anew_before_it_grows_large(project, readings, monkeypatch):
    monkeypatch.setattr("recorder.projection.state_cache.MAX_LINES", 20)
    send(project, build.agent_start(), build.turn_start())

    for _ in range(40):
        send(project, build.message_update())

    assert 2 <= len(readings) <= 4
