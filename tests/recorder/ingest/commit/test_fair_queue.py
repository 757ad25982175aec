"""Waiting rows are read in turn by project and token: who sends much delays only itself."""

import pytest

from recorder.ingest.commit import bisect, span_backlog
from recorder.ingest.commit.fair_queue import FairQueue, WaitingRow
from recorder.ingest.commit.span_backlog import Backlog
from recorder.models import LoopRecord, Project, WaitingSpans
from tests.recorder.ingest.commit.test_waiting_spans import body, span_line

SIZE = 1_000


def queue_of(*flows, size=SIZE):
    """Return a queue of one row for each given project and token, in this order; keys count from 1."""
    queue = FairQueue()
    for key, (project, token) in enumerate(flows, 1):
        queue.append(WaitingRow(key, project, token, size, since=float(key)))
    return queue


def portions(queue, size=SIZE):
    """Take all rows; return the projects and tokens of each portion."""
    taken = []
    while queue:
        rows = queue.portion(size)
        queue.remove(rows)
        taken.append([(row.project, row.token) for row in rows])
    return taken


def test_projects_take_turns_and_in_a_project_its_tokens():
    queue = queue_of(*[(1, 1)] * 4, (1, 2), (2, 1), (2, 1))

    assert portions(queue) == [[(1, 1)], [(2, 1)], [(1, 2)], [(2, 1)], [(1, 1)], [(1, 1)], [(1, 1)]]


def test_a_flow_has_a_portion_a_turn_however_small_its_rows_are():
    queue = queue_of(*[(1, 1)] * 6, *[(2, 1)] * 3)

    assert portions(queue, 3 * SIZE) == [[(1, 1)] * 3, [(2, 1)] * 3, [(1, 1)] * 3]


def test_small_flows_are_read_together():
    queue = queue_of(*[(1, 1)] * 4, (2, 1), (3, 1))

    assert portions(queue, 3 * SIZE) == [[(1, 1)] * 3, [(2, 1), (3, 1), (1, 1)]]


def test_rows_of_a_flow_keep_their_order_and_a_row_above_the_size_is_alone():
    queue = queue_of(*[(1, 1)] * 3)
    queue.append(WaitingRow(4, 1, 1, 99 * SIZE, since=4.0))
    queue.append(WaitingRow(5, 1, 1, SIZE, since=5.0))

    keys = []
    while queue:
        rows = queue.portion(2 * SIZE)
        queue.remove(rows)
        keys.append([row.key for row in rows])

    assert keys == [[1, 2], [3], [4], [5]]


def test_a_row_that_was_begun_and_not_finished_is_alone():
    queue = queue_of((1, 1), (2, 1), (3, 1))
    next(row for row in queue if row.project == 2).begun = 1

    assert portions(queue, 9 * SIZE) == [[(1, 1)], [(2, 1)], [(3, 1)]]


def test_what_is_not_removed_is_next_again():
    queue = queue_of((1, 1), (2, 1))

    assert queue.portion(SIZE) == queue.portion(SIZE)


def test_a_reader_learns_what_waits_of_its_project():
    queue = queue_of((1, 1), (2, 1), (1, 2), (1, 1))

    assert queue.has(1, 1)
    assert queue.has(2, 2)
    assert not queue.has(2, 1), "its row came later"
    assert not queue.has(3, 99)
    assert [queue.oldest_since(project) for project in (None, 1, 2, 3)] == [1.0, 1.0, 2.0, None]
    queue.remove(queue.portion(SIZE))
    assert [queue.oldest_since(project) for project in (None, 1, 2)] == [2.0, 3.0, 2.0]


@pytest.mark.parametrize("is_other_project", [True, False], ids=["two projects", "two tokens"])
@pytest.mark.parametrize("rows", [20, 40])
def test_one_body_behind_many_of_another_sender_is_read_in_the_second_transaction(
    project, monkeypatch, is_other_project, rows
):
    """The bound is the same for twice as many rows."""
    monkeypatch.setattr(span_backlog, "PORTION_BYTES", 2 * len(span_line(1)))
    other = Project.objects.create(slug="other") if is_other_project else project
    backlog = Backlog()
    backlog.store([body(project, [span_line(number)], token=1) for number in range(1, rows + 1)])
    backlog.store([body(other, [span_line(1, trace=2)], token=2)])
    (last,) = WaitingSpans.objects.filter(token=2)

    transactions = 0
    while WaitingSpans.objects.filter(pk=last.pk).exists():
        backlog.done(bisect.record(backlog.next()))
        transactions += 1

    assert transactions == 2
    assert LoopRecord.objects.filter(session__project=other, turns=1).count() == 1
    assert WaitingSpans.objects.count() == rows - 3
