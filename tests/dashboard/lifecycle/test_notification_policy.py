"""The notification policy: every lifecycle event and reason has exactly one row."""

from itertools import product
from typing import get_args

import pytest

from dashboard.lifecycle.events import REASONS, Reason, Type
from dashboard.lifecycle.notification_policy import POLICY, ROWS, key
from recorder.core.formats import grida

# The rows that notify, from the contract of the stream, and ours.
OURS = {"waste-found"}
NOTIFIES = {"approval-requested", "turn-finished, finish", "turn-finished, error", *OURS}


def frames():
    """Yield every kind of event of the stream."""
    for kind in get_args(Type):
        if kind != "turn-finished":
            yield {"type": kind, "session_id": "s", "at": 0}
            continue
        for reason, blocked in product(get_args(Reason), (False, True)):
            yield {"type": kind, "session_id": "s", "reason": reason, "pending_approval": blocked, "at": 0}


def test_every_event_and_reason_has_a_row_and_every_row_an_event():
    assert {key(frame) for frame in frames()} == set(POLICY)
    assert len(POLICY) == len(ROWS)


def test_the_stream_uses_the_event_types_and_reasons_of_grida_and_one_of_ours():
    assert set(get_args(Type)) == set(grida.EVENTS) | OURS
    assert set(get_args(Reason)) == set(grida.OUTCOMES) == set(REASONS.values())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
def test_a_row_notifies_as_the_contract_says(row):
    assert bool(row.says) == (row.key in NOTIFIES)


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "turn-retrying"},
        {"type": "turn-finished", "reason": "timeout"},
        {"type": "turn-finished"},
        {"type": "constructor"},
        {},
    ],
)
def test_an_unknown_event_has_no_row(frame):
    assert key(frame) not in POLICY


def test_an_approval_that_is_open_blocks_a_finish_only():
    assert (
        key({"type": "turn-finished", "reason": "error", "pending_approval": True}) == "turn-finished, error"
    )
