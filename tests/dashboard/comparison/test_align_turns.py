"""Alignment of turns in table rows."""

import random

import pytest

from dashboard.comparison.align_turns import rows
from dashboard.rendering.sequence_match import longest_common_subsequence
from tests.support.count_calls import count_calls


def longest(a, b):
    """Return the length of a longest common subsequence, as the textbook has it."""
    row = [0] * (len(b) + 1)
    for x in a:
        last, row = row, [0]
        for j, y in enumerate(b):
            row.append(last[j] + 1 if x == y else max(last[j + 1], row[j]))
    return row[-1]


def row_letters(*branches):
    """Return the rows as people see them: a letter for a turn, a dot for a gap."""
    return [
        "".join("." if place is None else branches[n][place] for n, place in enumerate(row))
        for row in rows(branches)
    ]


def test_matches_are_a_longest_common_subsequence():
    chance = random.Random(4)
    for _ in range(1_000):
        a = [chance.choice("abcd") for _ in range(chance.randrange(12))]
        b = [chance.choice("abcd") for _ in range(chance.randrange(12))]
        found = longest_common_subsequence(a, b)

        assert all(a[i] == b[j] for i, j in found)
        assert found == sorted(found)
        assert len({i for i, _ in found}) == len({j for _, j in found}) == len(found) == longest(a, b)


@pytest.mark.parametrize(
    ("branches", "expected"),
    [
        (("abc", "abc"), ["aa", "bb", "cc"]),
        (("abc", "abd"), ["aa", "bb", "cd"]),
        (("abc", "ac"), ["aa", "b.", "cc"]),
        (("ac", "abc"), ["aa", ".b", "cc"]),
        (("ac", "axyc"), ["aa", ".x", ".y", "cc"]),
        (("abc", "axyc"), ["aa", "bx", ".y", "cc"]),
        (("ab", ""), ["a.", "b."]),
        (("", "ab"), [".a", ".b"]),
        (("ac", "abc", "axyc"), ["aaa", ".bx", "..y", "ccc"]),
        (("abc", "bc", "abcd"), ["a.a", "bbb", "ccc", "..d"]),
        (("abc",), ["a", "b", "c"]),
        ((), []),
    ],
)
def test_equal_turns_share_a_row(branches, expected):
    assert row_letters(*branches) == expected


def test_every_turn_is_in_one_row_and_in_order():
    chance = random.Random(7)
    for _ in range(300):
        branches = [
            [chance.choice("abc") for _ in range(chance.randrange(10))] for _ in range(chance.randrange(1, 6))
        ]
        for n, branch in enumerate(branches):
            places = [row[n] for row in rows(branches) if row[n] is not None]
            assert places == list(range(len(branch)))


def test_the_work_grows_linearly_with_the_number_of_turns():
    chance = random.Random(1)
    branches = [[chance.randrange(40) for _ in range(600)] for _ in range(12)]
    halves = [branch[:300] for branch in branches]
    assert count_calls(rows, branches) <= 3 * count_calls(rows, halves)
