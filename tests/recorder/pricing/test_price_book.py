"""Prices of a project: those of the list at a model's first use, its own, and the calls they apply to."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import transaction

from recorder.core.money.prices import Band, Rates
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import LoopRecord, Price, Project, Session, Turn
from recorder.pricing import price_book, price_list
from recorder.projection.rebuild import rebuild
from tests.support import build
from tests.support.build import NINE, line, small_loop
from tests.support.project_digest import digest

pytestmark = pytest.mark.django_db

SONNET = ("claude-sonnet-4-5", "anthropic")
FREE = Band(0, Rates(*map(Decimal, ("10", "1", "10", "20", "50", "50"))))


@pytest.fixture
def project():
    return Project.objects.create(slug="p")


def send(project, *events):
    ingest(Batch(project.pk, "p", None, [line(event) for event in events]))


def held(project, pair):
    with transaction.atomic():
        return list(price_book.prices(project.pk, {pair}).get(pair, []))


def test_a_model_costs_one_look_up_and_its_tiers_are_stored(project, monkeypatch):
    (row,) = held(project, SONNET)
    monkeypatch.setattr(price_list, "listed", None)

    assert held(project, SONNET) == [row]
    small, large = row.bands
    assert (small.rates.input, small.rates.cache_read, small.rates.cache_write_1h) == tuple(
        map(Decimal, ("3", "0.3", "6"))
    )
    assert (large.over, large.rates.input, large.rates.output) == (200_000, Decimal(6), Decimal("22.5"))


@pytest.mark.parametrize(
    "pair", [("qwen2.5-coder:14b", "local"), ("claude-sonnet-4-5", "acme"), ("x" * 512, "openai")]
)
def test_a_model_that_the_list_does_not_know_is_noted_without_a_price(project, pair):
    (row,) = held(project, pair)

    assert row.bands == ()


def test_a_kind_of_token_without_a_rate_costs_what_it_is_a_kind_of(project):
    (row,) = held(project, ("gpt-4o", "openai"))

    rates = row.bands[0].rates
    assert (rates.cache_write, rates.reasoning) == (rates.input, rates.output)
    assert rates.cache_read < rates.input


def test_a_newer_list_adds_an_edition_only_where_it_says_something_else(project, monkeypatch):
    held(project, SONNET)
    monkeypatch.setattr(price_list, "edition", lambda: "list 2")
    (same,) = held(project, SONNET)
    monkeypatch.setattr(price_list, "edition", lambda: "list 3")
    monkeypatch.setattr(price_list, "listed", lambda *_: [price_list.Listed((FREE,))])
    send(project, *small_loop())

    old, new = held(project, SONNET)
    assert old == same
    assert (new.edition, new.bands) == ("list 3", (FREE,))
    assert new.after_event == Turn.objects.get().loop.end_event
    assert held(project, SONNET) == [old, new]


def test_a_rebuild_prices_every_call_as_it_was_priced(project):
    send(project, *small_loop("s.a.1", tokens=1_000))
    pair = ("claude-sonnet-4-6", "anthropic")
    with transaction.atomic():
        price_book.add(project.pk, pair, [FREE], NINE - timedelta(days=9), "somebody")
    send(project, *small_loop("s.a.2", tokens=1_000))
    with transaction.atomic():
        price_book.withdraw(project.pk, Price.objects.get(is_own=True).pk, "ada")
    send(project, *small_loop("s.a.3", tokens=1_000))
    before = digest(project)
    costs = list(Turn.objects.order_by("pk").values_list("cost_nano", flat=True))

    rebuild(project)

    assert costs == [3_000_000, 10_000_000, 3_000_000]
    assert list(Turn.objects.order_by("pk").values_list("cost_nano", flat=True)) == costs
    assert digest(project) == before


def test_bands_are_read_as_they_were_written():
    assert price_book.decode_bands(price_book.encode_bands([FREE])) == (FREE,)


def test_a_call_costs_the_same_under_every_counting_convention(project):
    same = Rates(*map(Decimal, ("3", "0.3", "3.75", "6", "15", "15")))
    shapes = {
        "anthropic_messages": ("anthropic", 86, 0),
        "open_ai_responses": ("openai", 17_903, 18_415),
        "google_generative_ai": ("google", 17_903, 18_415),
        "bedrock_converse_stream": ("bedrock", 86, 598),
    }
    for api, (provider, given, total) in shapes.items():
        with transaction.atomic():
            price_book.add(project.pk, ("m", provider), [Band(0, same)], NINE - timedelta(days=1), "somebody")
        usage = {"input": given, "output": 512, "reasoning": 300, "cache_read": 17_817, "total_tokens": total}
        config = {"model": "m", "provider": provider, "api": api}
        message = {"role": "assistant", "content": [], "model": "m", "provider": provider, "usage": usage}
        name = f"s.{api}.1"
        send(
            project,
            build.agent_start(name, config_snapshot=config),
            build.turn_end(name, message=message, usage=usage),
            build.agent_end(name, usage=usage),
        )

    # 86 x 3 + 17,817 x 0.3 + 512 x 15 = 13,283.1 millionths of a dollar; what was thought is in the 512
    assert list(Turn.objects.values_list("cost_nano", flat=True)) == [13_283_100] * 4
    assert list(LoopRecord.objects.values_list("cost_nano", flat=True)) == [13_283_100] * 4
    assert Session.objects.get().cost_nano == 4 * 13_283_100
    buckets = ("uncached_tokens", "cache_read_tokens", "visible_tokens", "reasoning_tokens")
    assert set(Turn.objects.values_list(*buckets)) == {(86, 17_817, 212, 300)}
