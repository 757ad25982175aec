"""The block ledger of a session whose bodies were pruned: it stays, and `mask --history` masks its texts."""

import pytest

from recorder.ledger import follower, state
from recorder.masking.project_rules import masker_of, save
from recorder.models import LedgerBlock, LedgerRedo, Session
from recorder.operations.audit import COMMAND
from recorder.operations.masking import history as masking_history
from tests.recorder.ledger.test_follower import ledger, sums, totals
from tests.recorder.old_bodies import consolidate, prune
from tests.recorder.operations.masking.test_pruned_history import OLD
from tests.recorder.operations.secret_sessions import RULES, SECRET, play
from tests.support import build

pytestmark = pytest.mark.django_db(transaction=True)


def turn(loop, index, *, call=""):
    usage = {"input": 10, "output": 5, "cache_read": 3_000 * index, "cache_write": 3_000}
    answer = {**build.assistant(f"Answer {index}."), "usage": usage}
    tool = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": call}}
    answer["content"] = [*answer["content"], *([tool] if call else [])]
    events = [build.turn_start(loop, index=index, at=index), build.message_end(loop, answer)]
    if call:
        events += [build.tool_start(loop, args={"command": call}), build.tool_end(loop)]
    return [*events, build.turn_end(loop, at=index, message=answer, usage=usage, turn_index=index)]


def session(loop, call):
    """Return the lines of a session whose second call is sent the result of a tool."""
    start = [build.agent_start(loop), build.message_end(loop, build.user("Ask."))]
    events = [*start, *turn(loop, 0, call=call), *turn(loop, 1), build.agent_end(loop)]
    return list(map(build.line, events))


def recorded(project):
    """Record an old session with a secret in a tool's arguments, make its ledger, and prune its bodies."""
    play(project, session("old.a.1", f"go {SECRET}"), at=OLD)
    follower.run_all()
    consolidate()
    assert prune(project).lines
    return Session.objects.get(session_id="old")


def rows():
    return [{**row, "detail": ""} for row in LedgerBlock.objects.order_by("pk").values()]


def test_after_pruning_the_ledger_stays_whatever_is_made_again(project):
    old = recorded(project)
    found, added = ledger(project), sums(project)
    assert old.pruned_on
    assert len(found[0]) == 2

    for again in (
        lambda: LedgerRedo.mark([old.pk]),
        lambda: LedgerRedo.mark([old.pk], is_whole=False),
        lambda: state.forget(project.pk),
    ):
        again()
        follower.run_all()
        assert (ledger(project), sums(project)) == (found, added)
        turns, of_sessions, of_days = totals(project)
        assert turns == of_sessions == of_days


def test_the_arguments_that_name_a_block_are_masked_and_nothing_else_changes(project):
    recorded(project)
    (block,) = LedgerBlock.objects.exclude(detail="")
    assert SECRET in block.detail
    before, added = rows(), sums(project)
    save(project.pk, RULES)

    counted = masking_history.preview(project)
    assert LedgerBlock.objects.filter(detail__contains=SECRET).exists()
    done = masking_history.run(project, COMMAND)

    assert LedgerBlock.objects.get(pk=block.pk).detail == masker_of(project.pk).mask_text(block.detail)
    assert not LedgerBlock.objects.filter(detail__contains=SECRET).exists()
    assert (rows(), sums(project)) == (before, added)
    assert done.records == counted.records


def test_a_detail_that_ends_within_a_secret_is_masked(project):
    recorded(project)
    play(project, session("young.a.1", f"{'x' * 185} {SECRET}"))
    follower.run_all()
    (block,) = LedgerBlock.objects.filter(detail__startswith="xxx")
    assert SECRET[:6] in block.detail
    assert SECRET not in block.detail
    save(project.pk, RULES)

    masking_history.run(project, COMMAND)

    block.refresh_from_db()
    assert SECRET[:6] not in block.detail
    assert len(block.detail) <= 200
