"""The work for a call does not grow with the number of calls before it: statements and rows are counted."""

import json

import pytest
from django.db import connection

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.ledger.follower import Follower
from recorder.models import LedgerBlock, LedgerCall, LedgerSum
from tests.recorder.ledger.long_session import CALLS, KEPT, LOOP, turns
from tests.support import build

pytestmark = pytest.mark.django_db(transaction=True)


class Counter:
    """Counts statements, and those that write."""

    def __init__(self):
        self.all = self.writing = 0

    def __call__(self, execute, statement, params, many, context):
        self.all += 1
        self.writing += statement.startswith(("INSERT", "UPDATE", "DELETE"))
        return execute(statement, params, many, context)


def step(project, events):
    """Send events and make the ledger; return how many statements ran, and how many rows there are."""
    lines = [json.dumps(event, separators=(",", ":")).encode() for event in events]
    ingest(Batch(project.pk, "p", None, lines, "native"))
    counter, follower = Counter(), Follower()
    with connection.execute_wrapper(counter):
        while follower.step():
            pass
    rows = [model.objects.count() for model in (LedgerCall, LedgerBlock, LedgerSum)]
    return counter.all, counter.writing, rows


def test_statements_and_rows_of_a_step_do_not_grow(project):
    sent = [build.user("Begin.")]
    step(project, [build.agent_start(LOOP)])
    found = [step(project, turns(number * CALLS, sent)) for number in range(8)]

    assert found[-1][0] <= found[1][0] + CALLS / 2
    assert found[-1][1] == found[1][1]
    assert found[-1][0] < 5.5 * CALLS  # every other call is a miss: its two requests are compared
    grown = [
        [after - before for before, after in zip(found[at - 1][2], found[at][2], strict=True)]
        for at in (2, 7)
    ]
    assert grown[0] == grown[1] == [CALLS, 2 * CALLS, 0]


def test_a_call_after_an_hour_reads_its_window_and_not_the_session(project):
    """A live session: each call is a step of its own."""
    sent = [build.user("Begin.")]
    step(project, [build.agent_start(LOOP)])
    events = [event for number in range(4) for event in turns(number * CALLS, sent)]
    ends = [index for index, event in enumerate(events, start=1) if event["type"] == "TurnEnd"]
    found = [step(project, events[start:end])[0] for start, end in zip([0, *ends[:-1]], ends, strict=True)]

    assert max(found[-5:]) <= max(found[KEPT : KEPT + 5])
