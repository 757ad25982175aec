"""Ledger segments: exactly one for every possible loop."""

from itertools import product
from typing import get_args

from recorder.core.money.segments import Segment, segment
from recorder.core.records import Role, Status

KINDS = ("Initial", "Default", "Compaction", "Rerun", "Branch")


def of(role="normal", status="completed", continuation_kind="Initial", is_selected=None):
    return segment(role=role, status=status, continuation_kind=continuation_kind, is_selected=is_selected)


def test_every_loop_has_a_segment_and_every_segment_has_loops():
    combinations = product(get_args(Role), get_args(Status), KINDS, (None, True, False))

    assert {of(*combination) for combination in combinations} == set(get_args(Segment))


def test_the_verdict_decides_the_segment_of_a_branch_whatever_its_status():
    assert of("branch", is_selected=True) == "winner"
    assert of("branch", is_selected=False) == "losers"
    assert of("branch", "rejected", is_selected=False) == "losers"
    assert of("branch", "aborted", "Rerun", is_selected=False) == "losers"


def test_a_branch_without_a_verdict_is_undecided_until_it_is_cut_off():
    assert of("branch", "running") == "undecided"
    assert of("branch", "aborted") == "stopped"


def test_the_role_of_a_loop_precedes_its_status():
    assert of("judge", "aborted") == "judge"
    assert of("compaction", "aborted", "Compaction") == "compaction"
    assert of("sub_agent", "rejected", "Rerun") == "sub_agents"


def test_an_aborted_rerun_is_still_a_rerun():
    assert of(continuation_kind="Rerun") == "reruns"
    assert of(status="aborted", continuation_kind="Rerun") == "reruns"


def test_any_other_loop_is_stopped_or_single():
    assert of(status="aborted") == "stopped"
    assert of(status="rejected") == "stopped"
    assert of(status="running") == "single"
    assert of(continuation_kind="Branch") == "single"
