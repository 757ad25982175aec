"""Formatting of figures."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.rendering import number_format

UNITS = {"k": 1_000, "M": 1_000_000, "B": 1_000_000_000}


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (None, "–"),  # noqa: RUF001  the sign on screen
        (0, "0"),
        (999, "999"),
        (1_000, "1.0k"),
        (1_234, "1.2k"),
        (9_999, "10.0k"),
        (12_345, "12.3k"),
        (99_960, "100k"),
        (148_213, "148k"),
        (999_400, "999k"),
        (999_600, "1.00M"),
        (1_800_000, "1.80M"),
        (38_210_000, "38.2M"),
        (168_000_000, "168M"),
        (2_500_000_000, "2.50B"),
        (2**53, "9,007,199B"),
    ],
)
def test_tokens_are_exact_below_a_thousand_and_then_three_figures(count, text):
    assert number_format.tokens(count) == text


@given(st.integers(1_000, 999 * 10**9))
def test_an_abbreviated_count_is_within_five_percent_of_the_exact_one(count):
    text = number_format.tokens(count)
    assert abs(float(text[:-1]) * UNITS[text[-1]] - count) <= count * 0.05
    assert len(text) <= 5


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (None, "–"),  # noqa: RUF001  the sign on screen
        (0, "0ms"),
        (-5, "0ms"),
        (400, "400ms"),
        (999, "999ms"),
        (6_400, "6.4s"),
        (9_949, "9.9s"),
        (9_950, "10s"),
        (48_000, "48s"),
        (59_600, "1m 00s"),
        (64_000, "1m 04s"),
        (3_599_600, "1h 00m"),
        (7_620_000, "2h 07m"),
        (100_800_000, "1d 04h"),
        (59 * 86_400_000, "59d 00h"),
        (60 * 86_400_000, "60d 00h"),
        (2 * 2_629_746_000 - 1_000, "60d 20h"),
        (2 * 2_629_746_000, "2 months"),
        (253 * 86_400_000, "8 months"),
    ],
)
def test_a_duration_has_at_most_two_units(ms, text):
    assert number_format.duration(ms) == text


@given(st.integers(0, 10**10))
def test_a_timedelta_reads_like_its_milliseconds(ms):
    assert number_format.duration(timedelta(milliseconds=ms)) == number_format.duration(ms)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0"),
        (0.00002, "0.02ms"),
        (0.2, "200ms"),
        (15, "15s"),
        (15.5, "15.5s"),
        (60, "1m"),
        (90, "1m 30s"),
        (3_600, "1h"),
        (7_200.5, "2h 0.5s"),
        (302_400, "3d 12h"),
    ],
)
def test_a_round_time_has_only_units_that_are_not_zero(seconds, words):
    assert number_format.round_time(timedelta(seconds=seconds)) == words


@pytest.mark.parametrize(
    ("nano", "words"),
    [
        (0, "$0"),
        (5 * 10**7, "$0.05"),
        (10**9, "$1"),
        (2 * 10**12, "$2,000"),
        (20_000, "$0.00002"),
        (1, "$0.000000001"),
    ],
)
def test_a_round_amount_is_written_in_full(nano, words):
    assert number_format.round_money(nano) == words


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (212, "212 B"),
        (999, "999 B"),
        (1_940, "1.9 kB"),
        (48_000, "48 kB"),
        (999_600, "1.0 MB"),
        (5_600_000_000, "5.6 GB"),
        (3_000_000_000_000_000, "3,000 TB"),
    ],
)
def test_sizes_carry_their_unit(count, text):
    assert number_format.size(count) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0%"), (0.023, "2.3%"), (0.0994, "9.9%"), (0.0996, "10%"), (0.71, "71%"), (1, "100%")],
)
def test_a_share_has_a_decimal_only_below_ten(share, text):
    assert number_format.percent(share) == text


TIMES = "\N{MULTIPLICATION SIGN}"


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (None, number_format.NONE),
        (0, "0%"),
        (2.275, "228%"),
        (9.994, "999%"),
        (9.996, "10" + TIMES),
        (233.6, "234" + TIMES),
        (12_345, "12,345" + TIMES),
    ],
)
def test_a_ratio_is_in_percent_below_a_thousand_and_a_multiple_above(share, text):
    assert number_format.ratio(share) == text


@pytest.mark.parametrize(
    ("count", "words", "text"),
    [
        (1, "turn", "1 turn"),
        (0, "turn", "0 turns"),
        (1_234, "turn", "1,234 turns"),
        (2, "branch,branches", "2 branches"),
    ],
)
def test_a_number_agrees_with_its_noun(count, words, text):
    assert number_format.plural(count, words) == text


def test_win_rates_have_one_decimal():
    assert [number_format.rate(share) for share in (41 / 80, 0, 1)] == ["51.3%", "0.0%", "100.0%"]
    assert (number_format.points(0.40493), number_format.rate(None)) == ("40.5", number_format.NONE)


def test_a_p_value_is_never_formatted_as_zero():
    assert [number_format.odds(p) for p in (1, 0.0574, 0.00004)] == ["1.0000", "0.0574", "<0.0001"]
    assert number_format.odds(None) == number_format.NONE


@pytest.mark.parametrize(
    ("nano", "unpriced", "text"),
    [
        (0, 0, "$0"),
        (1, 0, "<$0.0001"),
        (99_999, 0, "<$0.0001"),
        (100_000, 0, "$0.00010"),
        (4_200_000, 0, "$0.0042"),
        (9_960_000, 0, "$0.0100"),
        (42_100_000, 0, "$0.0421"),
        (70_000_000, 0, "$0.0700"),
        (99_960_000, 0, "$0.100"),
        (742_000_000, 0, "$0.742"),
        (999_600_000, 0, "$1.00"),
        (41_830_000_000, 0, "$41.83"),
        (999_996_000_000, 0, "$1,000"),
        (1_622_400_000_000, 0, "$1,622"),
        (4_150_000_000, 3, "$4.15 +"),
        (10, 1, "<$0.0001 +"),
        (-742_000_000, 0, "-$0.742"),
        (None, 2, "no price"),
        (0, 2, "no price"),
        (None, 0, number_format.NONE),
    ],
)
def test_smaller_amounts_have_more_decimals(nano, unpriced, text):
    assert number_format.money(nano, unpriced) == text
