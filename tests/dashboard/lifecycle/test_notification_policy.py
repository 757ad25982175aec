"""The policy: every event of the channel has a row, and the page is told what the table says."""

from itertools import product
from typing import get_args

import pytest

from dashboard.lifecycle.events import REASONS, Reason, Type
from dashboard.lifecycle.notification_policy import POLICY, ROWS, key
from recorder.core.formats import grida

# What notifies, as the contract of the channel has it.
NOTIFIES = {"approval-requested", "turn-finished, finish", "turn-finished, error"}


def frames():
    """Yield every frame that the channel may carry."""
    for kind in get_args(Type):
        if kind != "turn-finished":
            yield {"type": kind, "session_id": "s", "at": 0}
            continue
        for reason, blocked in product(get_args(Reason), (False, True)):
            yield {"type": kind, "session_id": "s", "reason": reason, "pending_approval": blocked, "at": 0}


def test_every_event_and_reason_has_a_row_and_every_row_its_event():
    assert {key(frame) for frame in frames()} == set(POLICY)
    assert len(POLICY) == len(ROWS)


def test_the_channel_speaks_the_words_that_we_take_in():
    assert set(get_args(Type)) == set(grida.EVENTS)
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
def test_what_is_unknown_has_no_row(frame):
    assert key(frame) not in POLICY


def test_an_approval_that_is_open_blocks_a_finish_only():
    assert (
        key({"type": "turn-finished", "reason": "error", "pending_approval": True}) == "turn-finished, error"
    )
