"""The cost of calls and its sums in loops, sessions and groups."""

from dataclasses import replace
from decimal import Decimal

import pytest

from recorder.core.costs import billing
from recorder.core.money.prices import Band, Price, Rates
from recorder.core.records import Group, Loop, Turn
from tests.support.build import (
    agent_end,
    agent_start,
    assistant,
    parallel_end,
    parallel_start,
    turn_end,
    turn_start,
    usage,
)
from tests.support.memory_store import FLUSH, Play

RATES = Rates(*map(Decimal, ("3", "0.3", "3.75", "6", "15", "15")))
PRICE = Price(7, "m", "anthropic", is_own=False, edition="list", bands=(Band(0, RATES),))
KNOWN = {"model": "m", "provider": "anthropic", "api": "anthropic_messages"}
UNKNOWN = {"model": "new", "provider": "acme"}


def play(*events):
    played = Play()
    played.state.prices = {("m", "anthropic"): [PRICE]}
    return played.feed(*events)


def turn(loop="s.a.1", used=None, config=KNOWN, index=0, **more):
    answer = assistant(model=config["model"], provider=config["provider"])
    return [turn_start(loop, index), {**turn_end(loop, message=answer, **more), "usage": used or usage(100)}]


def end(loop="s.a.1", used=None, **more):
    return {**agent_end(loop, **more), "usage": used or usage(100)}


def money(record):
    return record.cost_nano, record.cost_source, record.unpriced, record.unreconciled


def test_a_turn_is_billed_by_its_buckets_and_counts_in_its_loop_and_session():
    used = {"input": 86, "cache_read": 17_817, "output": 512, "reasoning": 300, "total_tokens": 0}
    played = play(agent_start(config_snapshot=KNOWN), *turn(used=used), end(used=used))

    cost = 86 * 3_000 + 17_817 * 300 + 512 * 15_000
    assert money(played.one(Turn)) == (cost, "computed", 0, 0)
    assert played.one(Turn).price == PRICE.id
    assert money(played.loop()) == money(played.session()) == (cost, "computed", 0, 0)
    assert (played.session().uncached_tokens, played.session().visible_tokens) == (86, 212)


@pytest.mark.parametrize(("provider", "fee"), [("anthropic", 10_000_000), ("vertex", 0)])
def test_web_searches_have_the_fee_of_their_provider(provider, fee):
    config = KNOWN | {"provider": provider}
    played = Play()
    played.state.prices = {("m", provider): [replace(PRICE, provider=provider)]}
    used = usage(100) | {"web_searches": 3}
    played.feed(agent_start(config_snapshot=config), *turn(used=used, config=config), end())

    (call,) = played.of(Turn)
    assert (call.web_searches, *money(call)) == (3, 300_000 + 3 * fee, "computed", 0, 0)
    assert money(played.session()) == money(call)
    assert not billing.reprice(call, call.end_event, [replace(PRICE, provider=provider)])


def test_a_sum_counts_calls_without_a_price_and_excludes_them():
    played = play(
        agent_start(config_snapshot=KNOWN), *turn(), *turn(config=UNKNOWN, index=1), end(used=usage(200))
    )

    assert money(played.loop()) == money(played.session()) == (300_000, "computed", 1, 0)
    assert played.of(Turn)[1].cost_nano is None


def test_a_reported_cost_replaces_the_computed_one_turn_by_turn():
    start = agent_start(config_snapshot=KNOWN)
    played = play(start, *turn(cost=0.25), *turn(index=1), *turn(index=2, config=UNKNOWN, cost="0.5"), end())

    assert [money(each)[:2] for each in played.of(Turn)] == [
        (250_000_000, "reported"),
        (300_000, "computed"),
        (500_000_000, "reported"),
    ]
    assert money(played.loop()) == (750_300_000, "mixed", 0, 0)


def test_a_call_that_does_not_reconcile_has_no_buckets_and_no_computed_cost():
    used = {"input": 10, "output": 1, "cache_read": 20}
    snapshot = {**KNOWN, "api": "open_ai_completions"}
    played = play(agent_start(config_snapshot=snapshot), *turn(used=used), *turn(index=1))

    assert played.of(Turn)[0].uncached_tokens is None
    assert money(played.loop()) == (300_000, "computed", 1, 1)
    assert played.loop().uncached_tokens == 100


def test_usage_of_an_unknown_provider_does_not_reconcile():
    played = play(agent_start(config_snapshot=UNKNOWN), *turn(config=UNKNOWN))

    assert money(played.loop()) == (None, "none", 1, 1)


def test_a_turn_that_failed_without_an_answer_costs_nothing():
    failed = assistant(model="m", provider="unknown", stop="error", error="503")
    ended = {**turn_end(message=failed), "usage": usage(0)}
    played = play(agent_start(config_snapshot=KNOWN), turn_start(), ended)

    assert money(played.loop()) == (0, "computed", 0, 0)


def test_a_loop_whose_turns_report_no_usage_is_billed_as_one_call():
    silent = play(agent_start(config_snapshot=KNOWN), *turn(used=usage(0)), end(used=usage(50)))
    counted = play(agent_start(config_snapshot=KNOWN), *turn(), end(used=usage(50)))

    assert silent.loop().is_one_call
    assert money(silent.session()) == (150_000, "computed", 0, 0)
    assert not counted.loop().is_one_call
    assert money(counted.loop()) == money(counted.session()) == (300_000, "computed", 0, 0)


def test_an_aborted_loop_keeps_the_cost_of_its_turns():
    played = play(agent_start(config_snapshot=KNOWN), *turn(), turn_start(index=1), FLUSH)

    assert money(played.loop()) == money(played.session()) == (300_000, "computed", 0, 0)


BRANCHES = [
    *(
        parallel_start(),
        agent_start("s.a.1", config_snapshot=KNOWN),
        agent_start("s.b.2", config_snapshot=KNOWN),
    ),
    *(*turn("s.a.1"), *turn("s.b.2"), end("s.a.1"), end("s.b.2")),
]


def test_a_judge_is_billed_once_as_a_loop():
    judge = [agent_start("judge", "s", config_snapshot=KNOWN), *turn("judge"), end("judge")]
    played = play(*BRANCHES, *judge, parallel_end(tokens=100))

    assert money(played.one(Group)) == (None, "none", 0, 0)
    assert money(played.session()) == (900_000, "computed", 0, 0)
    assert [loop.segment for loop in played.of(Loop)] == ["winner", "losers", "judge"]


def test_an_evaluation_without_a_judges_loop_has_no_price():
    played = play(*BRANCHES, parallel_end(tokens=100))

    assert money(played.one(Group)) == (None, "none", 1, 1)
    assert money(played.session()) == (600_000, "computed", 0, 0)


@pytest.mark.parametrize(
    ("events", "segment"),
    [
        ([agent_start()], "single"),
        ([agent_start(kind={"Rerun": {"tag": "t"}})], "reruns"),
        ([agent_start(), FLUSH], "stopped"),
        ([agent_start(), agent_end(rejection="no")], "stopped"),
        ([agent_start(kind="Compaction")], "compaction"),
        ([agent_start(parent="other.x.1")], "sub_agents"),
        ([agent_start(parent="other.x.1"), FLUSH], "sub_agents"),
        ([agent_start(), agent_end(), parallel_end("s.a.1")], "winner"),
    ],
)
def test_the_cost_of_a_loop_counts_in_the_segment_of_its_role(events, segment):
    assert Play(*events).loop().segment == segment
