"""The ingest pipeline: groups of batches in one transaction, and nothing half stored."""

from datetime import UTC, datetime
from unittest.mock import patch

import pytest
from django.db import OperationalError, connection
from hypothesis import given, settings
from hypothesis import strategies as st

from recorder.database.errors import Busy, busy
from recorder.ingest.commit.pipeline import Batch, Gap, ingest, record
from recorder.journal.read import texts
from recorder.models import Anomaly, EventRecord, JournalEvent, LoopRecord, Producer, Project, Session, Turn
from tests.support.build import (
    agent_end,
    agent_start,
    line,
    message_update,
    ours,
    time,
    turn_end,
    turn_start,
    usage,
)
from tests.support.project_digest import digest

pytestmark = pytest.mark.django_db(transaction=True)

GOOD = [line(agent_start("s.a.1")), line(turn_start("s.a.1")), line(agent_end("s.a.1"))]
COUNTS = ("input", "output", "cache_read", "cache_write", "reasoning", "total_tokens")
LINES = [line(turn_start("s.a.1", index=n)) for n in range(12)]


def batch(project, first, lines, producer="p", **more):
    return Batch(project.pk, producer, first, lines, **more)


def raws():
    return list(texts(JournalEvent.objects.values_list("id", flat=True)).values())


def test_a_gap_refuses_its_own_batch_only(project):
    first, second, third = record(
        [batch(project, 0, GOOD[:1]), batch(project, 2, GOOD[2:]), batch(project, 1, GOOD[1:])]
    )

    assert first.upto == 0
    assert isinstance(second, Gap)
    assert second.from_ == 1
    assert third.upto == 2
    assert raws() == GOOD


def test_batches_of_one_group_may_overlap(project):
    answers = record([batch(project, 0, GOOD[:2]), batch(project, 1, GOOD[1:]), batch(project, 0, GOOD)])

    assert [(each.accepted, each.duplicates) for each in answers] == [(2, 0), (1, 1), (0, 3)]
    assert raws() == GOOD


def test_a_conflict_within_a_group_is_detected(project):
    _, second = record([batch(project, 0, GOOD[:1]), batch(project, 0, GOOD[1:2])])

    assert [each.code for each in second.rejected] == ["seq_conflict"]


def test_answers_come_in_the_order_of_the_batches_whatever_their_projects(project):
    other = Project.objects.create(slug="other")
    batches = [
        batch(each, None, GOOD[:n]) for n, each in [(1, other), (2, project), (1, other), (3, project)]
    ]

    assert [answer.accepted for answer in record(batches)] == [1, 2, 1, 3]


SENT = st.lists(st.sampled_from([*GOOD, LINES[3], b"{", b'{"type":"Newer","loop_id":"s.a.1"}']), max_size=6)


@settings(max_examples=60)
@given(
    sends=st.lists(
        st.tuples(st.none() | st.integers(0, 8), SENT, st.sampled_from("pq"), st.booleans()), max_size=8
    ),
    size=st.sampled_from([1, 150, 400]),
)
def test_a_batch_that_is_fed_in_parts_is_answered_and_recorded_as_a_whole(sends, size):
    whole, parts = (
        Project.objects.create(slug=f"{name}{Project.objects.count()}") for name in ("whole", "parts")
    )
    at = datetime(2026, 11, 1, tzinfo=UTC)
    groups = [
        [batch(each, first, lines, name, flush=flush, received_at=at) for first, lines, name, flush in sends]
        for each in (whole, parts)
    ]

    expected = record(groups[0])
    with patch("recorder.ingest.commit.pipeline.PORTION_BYTES", size):
        answers = record(groups[1])

    assert [_without_times(each) for each in answers] == [_without_times(each) for each in expected]
    assert digest(parts) == digest(whole)


def _without_times(answer):
    return answer.from_ if isinstance(answer, Gap) else answer


def test_a_gap_of_a_new_producer_leaves_no_producer(project):
    with pytest.raises(Gap):
        ingest(batch(project, 3, GOOD))

    assert not Producer.objects.exists()


@settings(max_examples=60)
@given(sends=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=12))
def test_whatever_is_sent_again_or_too_early_the_journal_is_the_stream(sends):
    project = Project.objects.create(slug=f"p{Project.objects.count()}")
    high = -1
    for start, length in sends:
        lines = LINES[start : start + length]
        (answer,) = record([batch(project, start, lines)])
        if start > high + 1:
            assert isinstance(answer, Gap)
            assert answer.from_ == high + 1
        else:
            high = answer.upto
    stored = JournalEvent.objects.filter(project=project).order_by("id")

    assert list(texts([each.pk for each in stored]).values()) == LINES[: high + 1]
    assert [each.seq for each in stored] == list(range(high + 1))


@pytest.mark.parametrize("odd", ["\x00", "\ud800", "\u202e", "\U0010ffff", "é", "'; DROP TABLE x; --", "%s"])
def test_odd_text_is_recorded_the_same_on_both_databases(project, odd):
    start = {
        **agent_start("s.a.1"),
        "title": odd,
        "metadata": {odd: [odd]},
        "continuation_kind": {"Rerun": {"tag": odd}},
    }

    receipt = ingest(batch(project, 0, [line(start), line({**agent_end("s.a.1"), "rejection": odd})]))

    assert receipt.accepted == 2
    assert Session.objects.get().status == "rejected"


def test_totals_at_the_edge_of_what_counts_may_be_do_not_break(project):
    lines = [line(agent_start("s.a.1"))]
    for n in range(1_100):
        usage = dict.fromkeys(COUNTS, 2**53 - 1)
        lines.append(line({**turn_end("s.a.1"), "turn_index": n, "usage": usage}))

    assert ingest(batch(project, 0, lines)).rejected == []
    assert Session.objects.get().input_tokens == 2**62  # as much as is counted


def test_an_invalidation_is_published_after_the_commit_with_what_was_touched(project, invalidations):
    ingest(batch(project, 0, GOOD[:2]))

    (touched,) = invalidations
    session = Session.objects.get()
    assert touched.project == project.pk
    assert touched.new_sessions == touched.sessions == touched.reshaped == {session.pk}
    assert set(touched.events) == set(JournalEvent.objects.values_list("id", flat=True))
    assert len(touched.turns) == len(touched.loops) == 1


def test_streamed_text_invalidates_its_block_and_not_its_turn(project, invalidations):
    ingest(batch(project, 0, GOOD[:2]))
    invalidations.clear()

    ingest(batch(project, 2, [line(message_update("s.a.1"))]))

    (touched,) = invalidations
    assert touched.blocks
    assert not touched.turns


def test_nothing_is_published_and_nothing_is_stored_when_the_commit_fails(project, invalidations):
    before = digest(project.pk)
    connection.close()
    with connection.execute_wrapper(refuse_commit), pytest.raises(Busy) as refused:
        ingest(batch(project, 0, GOOD))

    assert refused.value.code == "busy"
    assert not invalidations
    assert not raws()
    assert digest(project.pk) == before
    assert ingest(batch(project, 0, GOOD)).accepted == 3


@pytest.mark.parametrize(
    ("name", "code"), [("SQLITE_BUSY", "busy"), ("SQLITE_LOCKED", "busy"), ("SQLITE_FULL", "disk_full")]
)
def test_a_temporary_fault_is_reported_by_its_kind(name, code):
    cause = Exception()
    cause.sqlite_errorname = name
    error = OperationalError()
    error.__cause__ = cause

    assert busy(error).code == code


def refuse_commit(execute, sql, params, many, context):
    """Fail as a disk does, after the lines have been written."""
    if "recorder_producer SET high" in sql:
        raise OperationalError("disk I/O error")
    return execute(sql, params, many, context)


def child_loop(project):
    return LoopRecord.objects.select_related("session").get(session__project=project, loop_id="t.b.1")


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (0, 2, 1), (1, 2, 0)])
def test_a_producer_may_link_the_loops_of_two_others_after_one_of_them(project, order):
    link = ours("SubAgentLinked", None, parent_loop_id="s.a.1", child_session_id="t", tool_call_id="c1")
    batches = [
        batch(project, 0, GOOD, "parent"),
        batch(project, 0, [line(agent_start("t.b.1")), line(agent_end("t.b.1"))], "child"),
        batch(project, 0, [line(link)], "third"),
    ]
    for place in order:
        ingest(batches[place])

    loop = child_loop(project)
    assert (loop.status, loop.session.parent_loop_id) == ("completed", "s.a.1")


def test_a_link_of_two_unknown_sessions_is_an_inconsistency(project):
    ingest(
        batch(project, 0, [line(ours("SubAgentLinked", None, parent_loop_id="s.a.1", child_session_id="t"))])
    )

    assert [*Anomaly.objects.values_list("kind", flat=True)] == ["orphan"]


def test_the_first_link_of_a_sub_agent_counts(project):
    ingest(batch(project, 0, [line(agent_start(f"{name}.a.1")) for name in "srt"]))
    for name in "sr":
        link = ours(
            "SubAgentLinked", None, parent_loop_id=f"{name}.a.1", child_session_id="t", tool_call_id="c1"
        )
        ingest(batch(project, 0, [line(link)], f"link-{name}"))

    assert Session.objects.get(session_id="t").parent_loop_id == "s.a.1"


def rows():
    """Return all loops and turns; PostgreSQL may return them in another order after an update."""
    return [[*model.objects.order_by("pk").values()] for model in (LoopRecord, Turn)]


@pytest.mark.parametrize(
    "name", ["LoopWithdrawn", "LoopReopened", "CallReported", "UsageReported", "CostStated"]
)
def test_a_correction_that_a_producer_sends_changes_no_record(project, name):
    ingest(batch(project, 0, GOOD, "p"))
    before = rows()
    more = {"is_gone": True, "turn_index": 0, "cost": {"total": "1"}, "message": {}, "usage": usage(5)}
    more["timestamp"] = time(5)
    event = ours(name, "s.a.1", session_id="s", **more)
    assert ingest(batch(project, 0, [line(event)], "other")).rejected == []

    assert rows() == before
    assert name in EventRecord.objects.values_list("type", flat=True)
