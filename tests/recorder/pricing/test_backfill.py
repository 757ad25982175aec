"""Repricing: one request changes every past figure of a model and only those, and a rebuild agrees."""

from datetime import UTC, datetime
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from recorder.core.money.prices import Band, Rates
from recorder.ingest.commit import writer
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import LoopRecord, Price, Repricing, Session, Spending, Turn
from recorder.pricing import backfill, price_book
from recorder.projection.rebuild import rebuild
from tests.recorder.pricing.test_rollups import added_up, stored_sums
from tests.recorder.projection.test_store import TAPES, lines_of, send
from tests.support import build
from tests.support.build import line
from tests.support.project_digest import digest
from tests.support.wait import until

pytestmark = pytest.mark.django_db(transaction=True)

OPUS = ("claude-opus-4-6", "anthropic")
QWEN = ("qwen2.5-coder:14b", "local")
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def band(*rates):
    return Band(0, Rates(*map(Decimal, rates)))


DEAR = band("1000", "100", "1000", "2000", "5000", "5000")


@pytest.fixture
def tapes(project):
    for number, tape in enumerate(TAPES):
        send(project, lines_of(tape), producer=f"p{number}")
    return project


def own(project, pair, *bands, valid_from=LONG_AGO):
    with transaction.atomic():
        price_book.add(project.pk, pair, bands, valid_from, "somebody")


def finish():
    while backfill.step():
        pass


def costs(model, **more):
    turns = Turn.objects.filter(**more).order_by("pk")
    turns = turns.filter(model=model[0]) if model else turns
    return list(turns.values_list("cost_nano", flat=True))


def others():
    return list(Turn.objects.exclude(model=OPUS[0]).order_by("pk").values_list("pk", "cost_nano", "price"))


def test_a_price_changes_nothing_until_history_is_repriced_and_then_its_model_only(tapes):
    before, untouched, listed = costs(OPUS), others(), list(Price.objects.order_by("pk").values())
    own(tapes, OPUS, DEAR)
    assert costs(OPUS) == before

    job = backfill.request(tapes, OPUS, "ann@example.org")
    finish()

    for turn in Turn.objects.filter(model=OPUS[0], provider="anthropic"):
        expected = (turn.uncached_tokens + turn.cache_write_tokens) * 10**6 + turn.cache_read_tokens * 10**5
        assert turn.cost_nano == expected + (turn.visible_tokens + turn.reasoning_tokens) * 5 * 10**6
    assert others() == untouched
    assert list(Price.objects.filter(is_own=False).order_by("pk").values()) == listed
    job.refresh_from_db()
    spending = [cost for cost in before if cost]
    assert (job.requested_by, job.model, job.changed) == ("ann@example.org", OPUS[0], len(spending))
    assert job.change_nano == sum(costs(OPUS)) - sum(before)
    assert job.finished_at is not None


def test_sums_above_the_calls_follow_and_a_rebuild_agrees(tapes):
    own(tapes, OPUS, DEAR)
    own(tapes, QWEN, DEAR)
    backfill.request(tapes, None, "ann")
    finish()

    assert stored_sums(tapes) == added_up(tapes)
    for loop in LoopRecord.objects.filter(is_one_call=False):
        priced = [turn.cost_nano for turn in loop.turn_records.all() if turn.cost_nano is not None]
        assert loop.cost_nano == (sum(priced) if priced else None)
    for session in Session.objects.all():
        priced = [loop.cost_nano for loop in session.loop_records.all() if loop.cost_nano is not None]
        assert session.cost_nano == (sum(priced) if priced else None)
        assert session.unpriced == sum(loop.unpriced for loop in session.loop_records.all())
    before = digest(tapes)
    rebuild(tapes)
    assert digest(tapes) == before


def test_a_withdrawn_price_gives_back_what_the_list_says(tapes):
    before = digest(tapes)
    own(tapes, OPUS, DEAR)
    backfill.request(tapes, OPUS, "ann")
    finish()
    assert digest(tapes) != before
    with transaction.atomic():
        price_book.withdraw(tapes.pk, Price.objects.get(is_own=True).pk, "ada")
    backfill.request(tapes, OPUS, "ann")
    finish()

    assert digest(tapes) == before
    assert Price.objects.filter(is_own=True).exists()


def one_call(name, config, used):
    start = build.agent_start(name, config_snapshot=config)
    return [start, {**build.agent_end(name), "usage": used}]


def test_a_model_without_a_price_gets_one_also_when_only_the_end_of_the_loop_names_it(project):
    config = {"model": QWEN[0], "provider": QWEN[1], "api": "open_ai_completions"}
    reported = build.assistant(model=QWEN[0], provider=QWEN[1])
    events = [
        *one_call("s.a.1", config, build.usage(1_000)),
        build.agent_start("s.a.2", config_snapshot=config),
        build.turn_end("s.a.2", tokens=7, message=reported, cost="0.5"),
    ]
    ingest(Batch(project.pk, "p", None, [line(event) for event in events]))
    own(project, QWEN, DEAR)
    backfill.request(project, QWEN, "ann")
    finish()

    session = Session.objects.get()
    assert LoopRecord.objects.get(loop_id="s.a.1").cost_nano == 1_000_000_000
    assert (session.cost_nano, session.cost_source, session.unpriced) == (1_500_000_000, "mixed", 0)
    assert stored_sums(project) == added_up(project)
    assert sum(row.cost_nano for row in Spending.objects.filter(span="hour")) == session.cost_nano


def test_it_goes_on_where_it_stopped_and_what_comes_meanwhile_has_the_new_price(tapes, monkeypatch):
    monkeypatch.setattr(backfill, "BATCH_CALLS", 3)
    own(tapes, OPUS, DEAR)
    job = backfill.request(tapes, OPUS, "ann")
    for _ in range(4):
        backfill.step()
    send(tapes, lines_of(TAPES[1]), producer="again")
    job.refresh_from_db()
    assert job.finished_at is None
    assert 0 < job.processed < Turn.objects.count()

    backfill.wanted.set()
    backfill.run_pending()

    before = digest(tapes)
    assert stored_sums(tapes) == added_up(tapes)
    rebuild(tapes)
    assert digest(tapes) == before


def test_it_waits_while_something_else_is_to_be_done(tapes):
    backfill.request(tapes, OPUS, "ann")
    backfill.run_pending(lambda: True)

    assert Repricing.objects.get().position == 0
    backfill.run_pending()
    assert Repricing.objects.get().finished_at is not None


def test_the_process_that_writes_does_it_by_itself(tapes):
    backfill.request(tapes, OPUS, "ann")
    writer.writer().start()

    until(lambda: Repricing.objects.get().finished_at)


def test_the_command_says_what_it_changed(tapes):
    own(tapes, OPUS, DEAR)
    out = StringIO()
    call_command("reprice", model=OPUS[0], provider=OPUS[1], stdout=out)
    assert "calls have another cost" in out.getvalue()
    assert Repricing.objects.get().changed > 0

    call_command("reprice", stdout=out)
    assert Repricing.objects.filter(model="").get().changed == 0
    with pytest.raises(CommandError, match="neither"):
        call_command("reprice", model="m")
    with pytest.raises(CommandError, match="no project"):
        call_command("reprice", project="none")
