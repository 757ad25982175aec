"""Other prices and policies: the same model costs what was recorded, and the range contains the figure."""

from datetime import UTC, datetime
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from recorder.core.ledger.tokenizers import ACROSS_MAKERS, SAME_MAKER, factor
from recorder.core.ledger.what_if import Call, Choice, Miss, at_model, one_hour_cache, without_judge
from recorder.core.money.prices import Band, Price, Rates, cost
from recorder.core.money.usage import Buckets

AT = datetime(2026, 2, 11, 9, tzinfo=UTC)
SONNET, GPT = ("claude-sonnet-4-6", "anthropic"), ("gpt-5-mini", "openai")
counts = st.integers(0, 400_000)
tokens = st.builds(
    lambda plain, read, short, long, visible, reasoning: Buckets(
        plain, read, short + long, visible, reasoning, long
    ),
    *[counts] * 6,
)
amounts = st.decimals(0, 100, places=5)
rates = st.builds(Rates, *[amounts] * 6)


def price(key, *bands):
    return Price(1, *key, is_own=False, edition="list", bands=tuple(bands))


def flat(*mtok):
    return Rates(*map(Decimal, mtok))


@given(st.lists(tokens, max_size=8), rates, rates)
def test_at_its_own_prices_a_model_costs_what_was_recorded(recorded, low, high):
    own = price(SONNET, Band(0, low), Band(200_000, high))
    calls = [Call(SONNET, each, cost(each, own), AT) for each in recorded]

    found = at_model(calls, Choice(SONNET, [own]))
    twin = at_model(calls, Choice(("claude-twin", "anthropic"), [own]))

    total = sum(call.cost_nano for call in calls)
    assert (found.base_nano, found.nano, found.low_nano, found.high_nano) == (total,) * 4
    assert (twin.base_nano, twin.nano, twin.changed) == (total, total, len(calls))
    assert twin.high_nano - twin.low_nano <= len(calls)  # rounding, at most a nano-dollar a call


@given(st.lists(st.tuples(tokens, st.floats(0, 9_000)), max_size=8), rates, rates)
def test_the_range_contains_the_figure_and_a_sum_is_that_of_its_parts(recorded, own, other):
    mine = price(SONNET, Band(0, own))
    calls = [
        Call(SONNET, each, cost(each, mine), AT, own, miss=Miss("ttl_lapsed", each.cache_write, idle))
        for each, idle in recorded
    ]
    for compute in (lambda some: at_model(some, Choice(GPT, [price(GPT, Band(0, other))])), one_hour_cache):
        found = compute(calls)
        parts = [compute([call]) for call in calls]

        assert found.low_nano <= found.nano <= found.high_nano
        for name in ("base_nano", "nano", "low_nano", "high_nano", "changed"):
            assert getattr(found, name) == sum(getattr(part, name) for part in parts)


def test_another_provider_is_a_range_by_its_tokenizer_and_cache():
    other = price(GPT, Band(0, flat("1", "0.1", "1", "1", "2", "2")))
    call = Call(SONNET, Buckets(1_000, 2_000, 3_000, 500), 1, AT)

    found = at_model([call], Choice(GPT, [other]))

    # 1,000 x 1,000 + 2,000 x 100 + 3,000 x 1,000 + 500 x 2,000 nano-dollars
    assert found.nano == 5_200_000
    assert found.low_nano == 5_200_000 * 8 // 10
    # 2,000 read tokens are 15 steps of 128 and 80 more, which are input: 72,000 more
    assert found.high_nano == (5_200_000 + 80 * 900) * 135 // 100


def test_below_the_least_prefix_and_after_the_life_nothing_is_read():
    other = price(GPT, Band(0, flat("1", "0.1", "1", "1", "2", "2")))
    small = Call(SONNET, Buckets(0, 1_000, 0, 0), 1, AT)
    late = Call(SONNET, Buckets(0, 2_000, 0, 0), 1, AT, miss=Miss("append_only", 0, 301.0))

    assert at_model([small], Choice(GPT, [other])).high_nano == 1_000 * 1_350
    assert at_model([late], Choice(GPT, [other])).high_nano == 2_000 * 1_350


def test_one_hour_turns_lapses_into_reads_and_writes_cost_more():
    own = flat("3", "0.3", "3.75", "6", "15", "15")
    made = price(SONNET, Band(0, own))
    whole = Buckets(0, 0, 10_000, 0)
    lapsed = Call(SONNET, whole, cost(whole, made), AT, own, miss=Miss("ttl_lapsed", 8_000, 600.0))
    too_late = Call(SONNET, whole, cost(whole, made), AT, own, miss=Miss("ttl_lapsed", 8_000, 3_601.0))

    found = one_hour_cache([lapsed, too_late])

    assert found.base_nano == 2 * 10_000 * 3_750
    assert found.nano == (8_000 * 300 + 2_000 * 6_000) + 10_000 * 6_000
    assert (found.low_nano, found.high_nano) == (found.nano, 2 * 10_000 * 6_000)


def test_a_reported_cost_changes_in_proportion():
    own = flat("3", "0.3", "3.75", "6", "15", "15")
    call = Call(SONNET, Buckets(0, 0, 1_000, 0), 1_875_000, AT, own)  # half of the list's

    assert one_hour_cache([call]).nano == 3_000_000


def test_without_judges_their_calls_are_left_out():
    calls = [Call(SONNET, Buckets(), 7, AT), Call(SONNET, Buckets(), 5, AT, is_judge=True)]

    found = without_judge(calls)

    assert (found.base_nano, found.nano, found.changed, found.saved_nano) == (12, 7, 1, 5)


def test_models_of_one_maker_count_the_same_and_others_in_a_range():
    assert factor(SONNET, ("claude-opus-4-8", "bedrock")) == SAME_MAKER
    assert factor(SONNET, GPT) == ACROSS_MAKERS
    assert factor(("<b>", "x"), ("<i>", "x")) == ACROSS_MAKERS


def test_the_fee_of_web_searches_stays_with_another_model_and_another_cache():
    mine, other = price(SONNET, Band(0, flat(3, 15, 0.3, 3.75, 6, 15))), price(GPT, Band(0, flat(*[1] * 6)))
    used, fee = Buckets(1_000, 0, 1_000, 100, 0, 0), 20_000_000
    recorded = cost(used, mine, web_searches=2)
    call = Call(SONNET, used, recorded, AT, mine.rates(0), fee_nano=fee)
    plain = Call(SONNET, used, recorded - fee, AT, mine.rates(0))

    for compute in (lambda calls: at_model(calls, Choice(GPT, [other])), one_hour_cache):
        (found, without) = (compute([each]) for each in (call, plain))
        assert found.nano - without.nano == fee
        assert (found.low_nano - without.low_nano, found.high_nano - without.high_nano) == (fee, fee)
