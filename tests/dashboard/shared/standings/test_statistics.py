"""Statistics against values worked out by hand, and against their definitions."""

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.shared.standings.statistics import (
    at_least,
    favour,
    frontier,
    percentile,
    sign_test,
    significance,
    wilson,
)

WINS = st.integers(1, 100).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of)))


def test_forty_one_wins_of_eighty():
    # p = 0.5125, z² = 3.841459. Middle: (0.5125 + 3.841459/160) / (1 + 3.841459/80)
    #   = (0.5125 + 0.0240091) / 1.0480182 = 0.5365091 / 1.0480182 = 0.5119273.
    # Half: 1.959964/1.0480182 * sqrt(0.5125*0.4875/80 + 3.841459/(4*80²))
    #   = 1.8701621 * sqrt(0.0031230 + 0.0001501) = 1.8701621 * 0.0572110 = 0.1069939.
    found = wilson(41, 80)

    assert (found.low, found.high) == pytest.approx((0.4049334, 0.6189212), abs=1e-6)
    assert f"{100 * found.low:.1f}-{100 * found.high:.1f}" == "40.5-61.9"


def test_no_win_of_ten_and_ten_of_ten():
    # With p = 0 middle and half are both z²/2n / (1 + z²/n): from 0 to z²/(n + z²) = 3.841459/13.841459.
    assert wilson(0, 10).low == 0
    assert wilson(0, 10).high == pytest.approx(0.2775328)
    assert wilson(10, 10).low == pytest.approx(1 - 0.2775328)
    assert wilson(10, 10).high == 1


def test_without_groups_there_is_no_interval():
    assert wilson(0, 0) is None


@given(WINS)
def test_an_interval_holds_its_rate_and_mirrors_that_of_the_losses(wins_of):
    wins, of = wins_of
    found, losses = wilson(wins, of), wilson(of - wins, of)

    assert 0 <= found.low <= wins / of <= found.high <= 1
    assert (found.low, found.high) == pytest.approx((1 - losses.high, 1 - losses.low))


@given(WINS)
def test_more_of_the_same_makes_an_interval_narrower(wins_of):
    wins, of = wins_of
    few, many = wilson(wins, of), wilson(10 * wins, 10 * of)

    assert many.high - many.low < few.high - few.low


def test_nine_against_one():
    # 2 * (10 + 1) / 2^10 = 22/1024.
    assert sign_test(9, 1) == pytest.approx(22 / 1024)
    assert sign_test(1, 9) == pytest.approx(22 / 1024)


def test_six_against_four_and_five_against_five():
    # 2 * (210 + 120 + 45 + 10 + 1) / 1024 = 772/1024; five against five cannot be nearer to even.
    assert sign_test(6, 4) == pytest.approx(772 / 1024)
    assert sign_test(5, 5) == 1


def test_without_wins_nothing_is_tested():
    assert sign_test(0, 0) is None
    assert favour([0, 0]) is None
    assert favour([7]) is None


@given(WINS, st.integers(2, 12))
def test_a_tail_is_the_sum_of_its_terms(wins_of, places):
    k, n = wins_of
    p = Fraction(1, places)
    terms = (comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))

    assert at_least(k, n, 1 / places) == pytest.approx(float(sum(terms)), abs=1e-12)


def test_a_hundred_thousand_tries_are_no_trouble():
    # The central limit with continuity: 50,500 is 3.1591 deviations above, one tail 0.00079136.
    assert at_least(50_500, 100_000, 0.5) == pytest.approx(0.000791, rel=0.01)


def test_a_judge_that_takes_the_first_of_three():
    # Eight of ten: (45 * 2² + 10 * 2 + 1) / 3^10 = 201/59049; times three places.
    found = favour([8, 1, 1])

    assert (found.place, found.is_doubtful) == (0, True)
    assert found.p == pytest.approx(3 * 201 / 59049)


def test_with_two_places_it_is_the_sign_test():
    assert favour([1, 9]).p == sign_test(1, 9)
    assert favour([5, 5]).p == 1
    assert not favour([5, 5]).is_doubtful


@given(st.lists(st.integers(0, 6), min_size=2, max_size=4).filter(sum))
def test_the_chance_of_a_favourite_is_never_understated(wins):
    n, k, most = sum(wins), len(wins), max(wins)

    def ways(places, left):
        if places == 0:
            return int(left == 0)
        return sum(comb(left, i) * ways(places - 1, left - i) for i in range(min(most - 1, left) + 1))

    true = 1 - ways(k, n) / k**n
    assert favour(wins).p >= true - 1e-9
    if 2 * most > n:
        assert favour(wins).p == pytest.approx(true)


def test_the_frontier_of_four():
    # B (2, 0.5) is dearer than A (1, 0.3) and wins more; C (3, 0.4) is dearer than B and wins less; D
    # (4, 0.6) is dearest and wins most.
    assert frontier([(1, 0.3), (2, 0.5), (3, 0.4), (4, 0.6)]) == [0, 1, 3]


def test_of_equal_points_neither_beats_the_other():
    assert frontier([(2, 0.5), (2, 0.5), (1, 0.5), (1, 0.5)]) == [2, 3]
    assert frontier([(1, 0.2), (1, 0.4)]) == [1]
    assert frontier([]) == []


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=12))
def test_the_frontier_is_what_nothing_else_beats(points):
    def beaten(point):
        return any(
            cost <= point[0] and rate >= point[1] and (cost, rate) != tuple(point) for cost, rate in points
        )

    assert sorted(frontier(points)) == [at for at, point in enumerate(points) if not beaten(point)]


def test_ninety_five_of_a_hundred_do_not_exceed_the_percentile():
    # Of twenty the nineteenth; of ten 9.5, so the tenth; of one itself.
    assert percentile(95, range(20, 0, -1)) == 19
    assert percentile(95, [7, 3, 5, 1, 2, 4, 6, 8, 9, 10]) == 10
    assert percentile(95, [4]) == 4
    assert percentile(50, [1, 2, 3, 4]) == 2


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40), st.integers(1, 100))
def test_no_smaller_value_is_the_percentile(values, percent):
    found = percentile(percent, values)
    below, reached = sum(v < found for v in values), sum(v <= found for v in values)

    assert 100 * below < percent * len(values) <= 100 * reached


def test_significance_is_at_the_five_percent_level():
    assert significance(0.7) == "not significant"
    assert significance(0.05) == "not significant"
    assert significance(22 / 1024) == "significant"
