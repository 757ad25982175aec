"""Costs of blocks: exact sums, and the same as pricing each token by its place."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from recorder.core.ledger.costs import UNITS, Billed, Costed, carried, divide, to_nano
from recorder.core.money.prices import Band, Price, Rates, cost
from recorder.core.money.usage import Buckets

RATES = Rates(*map(Decimal, ("5", "0.5", "6.25", "10", "25", "25")))
ODD = Rates(*map(Decimal, ("0.0375", "0.00751", "0.1", "0.3333333", "0.6", "2.4")))
COUNT = st.integers(0, 5_000)


def billed(rates=RATES, reported=None, **counts):
    parts = {"uncached": 0, "cache_read": 0, "cache_write": 0, "visible": 0, "reasoning": 0}
    parts |= {"cache_write_1h": 0} | counts
    price = Price(1, "m", "p", False, "", bands=(Band(0, rates),))
    exact = cost(Buckets(**parts), price)
    return Billed(**parts, cost_nano=exact if reported is None else reported, rates=rates)


@given(COUNT, COUNT, COUNT, COUNT, COUNT, st.sampled_from([RATES, ODD]), st.none() | st.integers(1, 10**9))
def test_context_and_output_add_up_to_the_cost(uncached, read, write, visible, reasoning, rates, reported):
    call = billed(
        rates,
        reported,
        uncached=uncached,
        cache_read=read,
        cache_write=write,
        cache_write_1h=write // 3,
        visible=visible,
        reasoning=reasoning,
    )
    divided = divide(call)

    if divided is None:  # a cost without any token
        assert call.cost_nano
        assert not (call.prompt)
        assert not visible
        assert not reasoning
        return
    assert divided.context + divided.output == call.cost_nano * UNITS
    assert divided.context >= 0
    assert divided.output >= -UNITS


def test_a_cost_without_rates_is_not_divided():
    call = Billed(
        uncached=1,
        cache_read=0,
        cache_write=0,
        cache_write_1h=0,
        visible=1,
        reasoning=0,
        cost_nano=3,
        rates=None,
    )
    assert divide(call) is None


@st.composite
def chains(draw):
    """Blocks with tokens, and calls with windows over them."""
    tokens = dict(enumerate(draw(st.lists(st.integers(0, 40), min_size=1)), start=1))
    calls = []
    for _ in range(draw(st.integers(1, 6))):
        chosen = sorted(draw(st.sets(st.sampled_from(sorted(tokens)), min_size=1)))
        window = draw(st.permutations(chosen)) if draw(st.booleans()) else chosen
        ranges = []
        for number in window:
            if ranges and ranges[-1][1] + 1 == number:
                ranges[-1][1] = number
            else:
                ranges.append([number, number])
        prompt = sum(tokens[number] for number in window)
        read = draw(st.integers(0, prompt))
        write = draw(st.integers(0, prompt - read))
        rates = draw(st.sampled_from([RATES, ODD]))
        call = billed(rates, cache_read=read, cache_write=write, uncached=prompt - read - write, visible=3)
        calls.append((ranges, window, call))
    return tokens, calls


@given(chains())
def test_carried_is_each_token_at_the_rate_of_its_place(chain):
    tokens, calls = chain
    expected = dict.fromkeys(tokens, 0)
    for _, window, call in calls:
        place, bands = 0, divide(call).bands
        for number in window:
            for _ in range(tokens[number]):
                is_written = place < bands.write_upto
                rate = (
                    bands.read if place < bands.read_upto else bands.write if is_written else bands.uncached
                )
                expected[number] += rate
                place += 1

    found, rest = carried([Costed(r, c.prompt, divide(c).bands) for r, _, c in calls], tokens)

    assert found == expected
    assert rest == 0


@given(chains(), st.integers(1, 200))
def test_a_window_of_another_size_than_the_prompt_costs_what_the_prompt_costs(chain, more):
    tokens, calls = chain
    ranges, _, call = calls[0]
    call = billed(cache_read=call.cache_read, uncached=call.uncached + more, visible=1)
    divided = divide(call)

    found, rest = carried([Costed(ranges, call.prompt, divided.bands)], tokens)

    assert sum(found.values()) + rest == divided.context
    if sum(tokens[n] for first, last in ranges for n in range(first, last + 1)):
        assert rest == 0


@given(st.lists(st.integers(0, 10**15)))
def test_rounded_units_add_up(units):
    found = to_nano(units)

    assert sum(found) == (2 * sum(units) + UNITS) // (2 * UNITS)
    assert all(abs(nano * UNITS - exact) <= UNITS for nano, exact in zip(found, units, strict=True))
