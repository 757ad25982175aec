"""Standings, pairs, places and "always one config", against what was added up by hand (see four.py)."""

from fractions import Fraction

import pytest

from dashboard.pages.leaderboard import pairwise
from dashboard.shared.standings import tally
from dashboard.shared.standings.statistics import frontier, wilson
from dashboard.shared.standings.tally import CostSum, Entry, Result
from tests.dashboard.pages.leaderboard.expected_standings import COST_NANO, JUDGE_NANO, WINS

A, B, C, D, JUDGE = 1, 2, 3, 4, 9
NAMES = {"A": A, "B": B, "C": C, "D": D}


def result(lineup, won, groups, verdict="judged", judge=JUDGE, **more):
    configs = tuple(NAMES.get(name, 0) for name in lineup)
    entries = tuple(
        Entry(NAMES[name], CostSum(Fraction(COST_NANO[name] * groups * lineup.count(name))))
        for name in dict.fromkeys(lineup)
        if name in NAMES
    )
    place = None if won is None else lineup.index(won)
    judging = CostSum(Fraction(JUDGE_NANO * groups))
    return Result(configs, place, verdict, groups, judge, judging, more.get("entries", entries))


FOUR = [result(lineup, won, groups) for lineup, wins in WINS.items() for won, groups in wins.items()]


def ranking(results):
    return tally.standings(results, {})


def test_standings_of_the_four_match_the_hand_calculation():
    found = {each.config: each for each in ranking(FOUR)}

    assert [(found[c].judged, found[c].wins) for c in (A, B, C, D)] == [(40, 19), (60, 26), (60, 12), (40, 3)]
    assert [found[c].per_task.rounded for c in (A, B, C, D)] == [
        30_000_000,
        18_000_000,
        6_000_000,
        11_250_000,
    ]
    assert [found[c].per_win.rounded for c in (A, B, C, D)] == [
        63_157_895,
        41_538_462,
        30_000_000,
        150_000_000,
    ]
    assert found[B].rate == pytest.approx(0.4333333)
    assert found[B].interval == wilson(26, 60)


def test_rank_follows_the_low_end_of_the_interval():
    # Low ends: A 0.3294 of 19/40, B 0.3157 of 26/60, C 0.1183, D 0.0258.
    assert [(each.config, each.rank) for each in ranking(FOUR)] == [(A, 1), (B, 2), (C, 3), (D, 4)]
    # 4 of 4 never leads: below twenty groups a config has no rank.
    lucky = [*FOUR, Result((7, 8), 0, "judged", 19)]
    assert [(each.config, each.rank) for each in ranking(lucky)][4:] == [(7, None), (8, None)]
    assert ranking([*lucky, Result((7, 8), 0, "judged", 1)])[0].config == 7


def test_the_frontier_of_the_four():
    found = ranking(FOUR)
    points = [(each.per_task.rounded, each.rate) for each in found]

    assert [found[at].config for at in frontier(points)] == [C, B, A]


def test_the_sign_tests_of_the_four():
    found = {
        (lineup.configs, duel.one, duel.other): (duel.wins, duel.losses, duel.p)
        for lineup in pairwise.lineups(FOUR)
        for duel in lineup.duels
    }

    assert found[(B, C), B, C] == (15, 5, pytest.approx(43400 / 1048576))
    assert found[(A, B, C, D), A, D] == (19, 3, pytest.approx(3588 / 4194304))
    assert found[(A, B, C, D), C, D] == (7, 3, pytest.approx(352 / 1024))
    assert len(found) == 6 + 1


def test_head_to_head_counts_the_groups_in_which_both_took_part():
    found = pairwise.duels(FOUR)

    duel = found[B, C]
    assert (duel.groups, duel.wins, duel.losses, duel.share) == (60, 26, 12, pytest.approx(26 / 38))
    assert (found[C, B].wins, found[C, B].losses) == (12, 26)
    assert found[A, D].groups == 40


def test_always_one_of_the_four():
    a, b = pairwise.always(A, FOUR), pairwise.always(B, FOUR)

    assert (a.groups, a.paid.rounded, a.alone.rounded, a.same) == (40, 2_730_000_000, 1_200_000_000, 19)
    assert a.factor == pytest.approx(2.275)
    assert (b.groups, b.paid.rounded, b.alone.rounded, b.same) == (60, 3_270_000_000, 1_080_000_000, 26)


def test_rules_are_counted_separately_and_fallbacks_are_no_wins():
    found = ranking([*FOUR, result("ABCD", "A", 5, "rule"), result("ABCD", "A", 3, "fallback")])
    best = next(each for each in found if each.config == A)

    assert (best.groups, best.judged, best.wins) == (48, 40, 19)
    assert (best.ruled, best.picked, best.fallback) == (5, 5, 3)
    assert best.cost.rounded == 1_200_000_000
    assert tally.judged([result("AB", "A", 1, "rule")]) == []


def test_a_config_twice_in_a_group_takes_part_once_and_wins_with_either_branch():
    twice = [result("ABA", "A", 10), Result((A, B, A), 2, "judged", 10), result("ABA", "B", 10)]
    a = next(each for each in ranking(twice) if each.config == A)

    assert (a.groups, a.judged, a.wins, a.places) == (30, 30, 20, (10, 0, 10))
    assert a.per_task.rounded == round(20 * 2 * 30_000_000 / 30)  # one result of the three has no costs
    assert pairwise.lineups(twice) == []
    assert pairwise.duels(twice)[A, B].wins == 20
    # Alone, an average branch of its two: 10 * 0.030 for the first and the third result.
    assert pairwise.always(A, twice).alone.rounded == 600_000_000


def test_a_sum_with_unpriced_parts_says_so_and_a_sum_without_prices_is_none():
    sums = result("AB", "A", 2, entries=(Entry(A, CostSum(Fraction(7), 1)), Entry(B, CostSum(None, 2))))
    a, b = ranking([sums])

    assert (a.per_task.rounded, a.per_task.is_whole) == (4, False)
    assert (b.per_task.rounded, b.per_win.rounded, b.cost.unpriced) == (None, None, 2)
    assert pairwise.always(A, [sums]).factor is None


def test_branches_of_unknown_config_are_in_no_lineup_and_not_ranked():
    sums = [result("A?", "A", 3), Result((0, A), 0, "judged", 2)]

    assert [(each.config, each.judged, each.wins) for each in ranking(sums)] == [(A, 5, 3)]
    assert pairwise.lineups(sums) == []
    assert pairwise.duels(sums) == {}


def test_wins_by_place_for_each_judge_and_size():
    sums = [
        Result((A, B), 0, "judged", 9, JUDGE),
        Result((B, A), 1, "judged", 1, JUDGE),
        Result((A, B, C), 2, "judged", 4, JUDGE),
        Result((A, B), 1, "judged", 2, 8),
        Result((A, B), None, "judged", 5, JUDGE),
    ]
    two, three, other = pairwise.places(sums)

    assert (two.judge, two.wins, two.expected) == (JUDGE, (9, 1), 5)
    assert (two.favour.place, two.favour.p) == (0, pytest.approx(22 / 1024))
    # A stood first in nine of the ten: it may be the config and not the judge.
    assert (two.usual, two.usual_share) == (A, pytest.approx(0.9))
    assert (three.wins, three.favour.place) == ((0, 0, 4), 2)
    assert (other.judge, other.wins) == (8, (0, 2))


def test_the_share_of_what_was_sent_that_the_cache_had():
    entries = (Entry(A, prompted=100, cached=25), Entry(B))
    a, b = ranking([result("AB", "A", 1, entries=entries)])

    assert (a.cache_hits, b.cache_hits) == (0.25, None)


def test_nothing_is_nothing():
    assert ranking([]) == []
    assert pairwise.places([]) == []
    assert pairwise.lineups([]) == []
