"""The ledger of made-up streams adds up, whatever senders do and however the steps are cut."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.shared.ledger.queries.session_ledger import blocks_of_call, session_ledger
from recorder.core.money.prices import Band, Rates
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.ledger import follower, state
from recorder.ledger.calls import call_of
from recorder.ledger.follower import Follower
from recorder.models import LedgerCall, LedgerDay, LedgerGap, LedgerRedo, LedgerSum, Project, Session, Turn
from recorder.pricing import backfill, price_book
from recorder.projection import removal
from tests.recorder.ledger import made_up
from tests.recorder.ledger.test_follower import ledger, sums, totals

pytestmark = pytest.mark.django_db(transaction=True)

AFTER = ("restart", "redo", "recount", "forget", "reprice", "delete", "withdraw")


def fresh():
    """Return a project of its own for each example: the database is not emptied between them."""
    return Project.objects.create(slug=f"p{Project.objects.count()}")


def send(project, lines, cuts, steps):
    """Send lines in batches that end at `cuts`, with steps of the follower between them."""
    first = 0
    for end in sorted({min(cut, len(lines)) for cut in cuts} | {len(lines)}):
        if end > first:
            ingest(Batch(project.pk, "p", first, lines[first:end], "native"))
            steps.step()
            first = end


def check(project):
    """Check the sums of each call, session and day of a project."""
    turns, of_sessions, of_days = totals(project)
    assert turns == of_sessions == of_days
    ended = Turn.objects.filter(loop__session__project=project, state="done")
    in_ledger = LedgerCall.objects.filter(chain__project=project).count()
    assert in_ledger + LedgerGap.objects.filter(project=project).count() == ended.count()
    for session in Session.objects.filter(project=project):
        found = session_ledger(session.pk)
        cost = sum(turn.cost_nano or 0 for turn in ended.filter(loop__session=session))
        assert found.cost_nano == cost
        assert found.context_nano + found.output_nano + found.undivided_nano == cost
        assert sum(block.carried_nano for block in found.blocks) == found.context_nano
        for call in found.calls:
            here = sum(nano for _, nano in blocks_of_call(call.turn))
            assert here == (call.context_nano or 0)
            assert here + (call.output_nano or 0) + call.undivided_nano == (call.cost_nano or 0)


@pytest.mark.slow
@settings(max_examples=40)
@given(
    made_up.PLANS,
    st.lists(st.integers(1, 150), max_size=6),
    st.lists(st.sampled_from(AFTER), max_size=2),
)
def test_blocks_outputs_and_what_is_undivided_are_the_cost(plan, cuts, after):
    project, steps = fresh(), Follower()
    lines = made_up.lines(plan)
    send(project, lines, cuts, steps)
    follower.run_all()
    check(project)
    assert not LedgerGap.objects.filter(project=project).exists()
    found, added = ledger(project), sums(project)
    for each in after:
        change(project, each)
        follower.run_all()
        check(project)
    if set(after) <= {"restart", "redo", "recount", "forget"}:
        assert (ledger(project), sums(project)) == (found, added)


def change(project, what):
    sessions = list(Session.objects.filter(project=project).order_by("pk").values_list("pk", flat=True))
    if what == "redo":
        LedgerRedo.mark(sessions)
    if what == "recount":
        LedgerRedo.mark(sessions, is_whole=False)
    if what == "forget":
        state.forget(project.pk)
    if what == "reprice":
        rates = Rates(*map(Decimal, ("1.234567", "0.1", "1.25", "2", "5", "5")))
        price_book.add(project.pk, ("made-up-model", "nobody"), [Band(0, rates)], None, "ada")
        backfill.request(project, None, "ada")
        while backfill.step():
            pass
    if what == "delete" and sessions:
        removal.hide(project.pk, sessions[0])
    if what == "withdraw":
        event = b'{"type":"LoopWithdrawn","loop_id":"s.a.1","is_gone":true}'
        ingest(Batch(project.pk, "q", None, [event], "native"))


def test_a_call_that_breaks_the_ledger_is_skipped_once_and_blocks_none_behind_it(
    project, monkeypatch, caplog
):
    plan = [(0, "recorded"), (0, "tool"), (0, "recorded"), (4, "recorded"), (0, "derived")]
    ingest(Batch(project.pk, "p", 0, made_up.lines(plan), "native"))
    broken = Turn.objects.filter(loop__loop_id="s.a.1").order_by("ordinal")[1]
    monkeypatch.setattr("recorder.ledger.calls.call_of", _breaking(broken.pk))

    follower.run_all()

    (gap,) = LedgerGap.objects.all()
    assert (gap.turn, gap.error) == (broken.pk, "ZeroDivisionError")
    assert LedgerCall.objects.count() == 4
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [ZeroDivisionError]
    turns, of_sessions, of_days = totals(project)
    assert turns == of_sessions == of_days
    check(project)
    found = session_ledger(gap.session)
    assert (found.skipped, found.undivided_nano) == (1, broken.cost_nano)

    LedgerRedo.mark([gap.session], is_whole=False)
    follower.run_all()
    check(project)
    monkeypatch.undo()
    LedgerRedo.mark([gap.session])
    follower.run_all()
    assert not LedgerGap.objects.exists()
    assert LedgerCall.objects.count() == 5
    check(project)


def _breaking(turn):
    def broken(ended, *others):
        if ended.id == turn:
            raise ZeroDivisionError("a made-up fault")
        return call_of(ended, *others)

    return broken


def test_sums_that_no_column_holds_are_capped_and_stop_no_day(project):
    ingest(Batch(project.pk, "p", 0, made_up.lines([(0, "recorded"), (4, "recorded")]), "native"))
    follower.run_all()
    LedgerSum.objects.update(cost_nano=2**62, tokens=2**62)
    state.mark_days(set(LedgerSum.objects.values_list("project_id", "day")))

    follower.run_all()

    assert {row[-1] for row in totals_of_days(project)} == {2**62}


def totals_of_days(project):
    return LedgerDay.objects.filter(project=project).values_list("kind", "cost_nano")
