"""The ledger of recorded sessions: it adds up to their cost, however the steps were cut."""

from decimal import Decimal
from pathlib import Path

import pytest

from recorder.core.money.prices import Band, Rates
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.ledger import follower, state
from recorder.ledger.follower import Follower
from recorder.ledger.sums import FIGURES, NO_PART
from recorder.models import LedgerBlock, LedgerCall, LedgerDay, LedgerRedo, LedgerSum, Session, Turn
from recorder.pricing import backfill, price_book
from recorder.projection import removal
from recorder.projection.rebuild import rebuild
from tests.recorder.journal.spans import captures
from tests.support.foreign_tapes import send, tape

pytestmark = pytest.mark.django_db(transaction=True)

TAPES = Path(__file__).parents[2] / "tapes"
DEMO = Path(__file__).parents[3] / "recorder" / "demo" / "tapes"
TRANSCRIPTS = sorted(
    path for form in ("claude-code", "codex", "gemini-cli", "pi") for path in (TAPES / form).rglob("*.jsonl")
)
STREAMS = sorted(TAPES.glob("phi-core/*.events.jsonl")) + sorted(DEMO.glob("*.jsonl"))


def play(project, path):
    lines = [line for line in path.read_bytes().splitlines() if line.strip()]
    ingest(Batch(project.pk, path.name, None, lines, "native"))


def totals(project):
    """Return the cost of all turns, and the sums of the ledger."""
    turns = sum(
        turn.cost_nano or 0 for turn in Turn.objects.filter(loop__session__project=project, state="done")
    )
    of_sessions = sum(
        row.cost_nano for row in LedgerSum.objects.filter(project=project).exclude(kind__in=NO_PART)
    )
    of_days = sum(
        row.cost_nano for row in LedgerDay.objects.filter(project=project).exclude(kind__in=NO_PART)
    )
    return turns, of_sessions, of_days


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
def test_the_sums_of_a_stream_are_its_cost(project, path):
    play(project, path)
    follower.run_all()

    turns, of_sessions, of_days = totals(project)
    assert turns == of_sessions == of_days
    assert LedgerCall.objects.count() == Turn.objects.filter(state="done").count()
    for call in LedgerCall.objects.all():
        assert call.known == sum(call.kinds.values())


def ledger(project):
    """Return the ledger of a project without primary keys."""
    return sorted(
        (
            call.chain.agent_id,
            call.end_event,
            call.number,
            str(call.ranges),
            sorted(call.kinds.items()),
            call.verdict,
            call.lost_tokens,
            call.is_recorded,
        )
        for call in LedgerCall.objects.filter(chain__project=project).select_related("chain")
    ), sorted(
        (
            block.number,
            block.kind,
            block.name,
            block.key,
            block.tokens,
            block.first_call,
            str(block.last_call),
        )
        for block in LedgerBlock.objects.filter(chain__project=project)
    )


def sums(project):
    names = ("day", "agent_id", "model", "kind", "name", *FIGURES)
    return sorted(map(str, LedgerDay.objects.filter(project=project).values_list(*names)))


@pytest.mark.parametrize("capture", captures.CAPTURES)
def test_the_sums_of_a_capture_are_its_cost(project, capture):
    for batch in captures.lines(capture):
        captures.record(project, batch)
    follower.run_all()

    turns, of_sessions, of_days = totals(project)
    assert turns == of_sessions == of_days
    assert LedgerCall.objects.count() == Turn.objects.filter(state="done").count()


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: "-".join(path.parts[-3:]))
def test_the_sums_of_a_transcript_are_its_cost(project, path):
    form = path.relative_to(TAPES).parts[0]
    send(project, tape(path.relative_to(TAPES)), form, flush=True)
    follower.run_all()

    turns, of_sessions, of_days = totals(project)
    assert turns == of_sessions == of_days
    assert LedgerCall.objects.count() == Turn.objects.filter(state="done").count()


@pytest.mark.parametrize("name", ["a-coding-agent", "d-compaction", "c-evaluation-with-judge"])
def test_made_step_by_step_again_and_after_a_rebuild_it_is_the_same(project, name, monkeypatch):
    path = DEMO / f"{name}.jsonl"
    lines = [line for line in path.read_bytes().splitlines() if line.strip()]
    steps = Follower()
    for number, line in enumerate(lines):
        ingest(Batch(project.pk, "p", number, [line], "native"))
        while steps.step():
            pass
    follower.run_all()
    found, added = ledger(project), sums(project)

    for again in (
        lambda: state.forget(project.pk),
        lambda: rebuild(project),
        lambda: LedgerRedo.mark(Session.objects.values_list("pk", flat=True)),
        lambda: LedgerRedo.mark(Session.objects.values_list("pk", flat=True), is_whole=False),
    ):
        again()
        follower.run_all()
        assert ledger(project) == found
        assert sums(project) == added


def test_another_price_changes_the_sums_only(project):
    play(project, DEMO / "a-coding-agent.jsonl")
    follower.run_all()
    found = ledger(project)
    rates = Rates(*map(Decimal, ("1", "0.1", "1.25", "2", "5", "5")))
    turn = Turn.objects.first()
    price_book.add(project.pk, (turn.model, turn.provider), [Band(0, rates)], None, "ada")
    with_list = totals(project)

    backfill.request(project, None, "ada")
    while backfill.step():
        pass
    follower.run_all()

    assert ledger(project) == found
    turns, of_sessions, of_days = totals(project)
    assert turns == of_sessions == of_days != with_list[0]


def test_a_deleted_session_leaves_nothing(project):
    play(project, DEMO / "a-coding-agent.jsonl")
    play(project, DEMO / "d-compaction.jsonl")
    follower.run_all()
    other = Session.objects.get(agent_id="incident-analyst")
    before = sum(row.cost_nano for row in LedgerSum.objects.filter(session=other.pk))

    removal.hide(project.pk, Session.objects.get(agent_id="coding-agent").pk)
    follower.run_all()

    assert set(LedgerCall.objects.values_list("session", flat=True)) == {other.pk}
    assert set(LedgerBlock.objects.values_list("session", flat=True)) == {other.pk}
    assert sum(row.cost_nano for row in LedgerDay.objects.all()) == before
