"""Answers compared word by word."""

import random

import pytest

from dashboard.pages.evaluations.word_diff import COMPARED, changes, is_cut
from tests.support.count_calls import count_calls

MARK = {"same": "{}", "here": "+{}+", "there": "-{}-"}


def marked(text, other):
    return "".join(MARK[stretch.how].format(stretch.text) for stretch in changes(text, other))


@pytest.mark.parametrize(
    ("text", "other", "expected"),
    [
        ("Done.", "Done.", "Done."),
        ("batches of 50,000.", "batches of 5,000 with a pause.", "batches of -5,000 with a pause-+50,000+."),
        ("Use an index", "Use a table", "Use -a table-+an index+"),
        ("one\ntwo", "one two", "one\ntwo"),
        ("", "gone", "-gone-"),
        ("new", "", "+new+"),
        ("", "", ""),
    ],
)
def test_removed_words_come_before_added_words(text, other, expected):
    assert marked(text, other).replace(" -", "-").replace("- ", "-") == expected.replace(" -", "-")


def test_a_stray_word_in_common_does_not_break_a_change():
    here = "We shall set one limit per user tomorrow"
    there = "Nobody ever asked the one question that counts"
    assert [stretch.how for stretch in changes(here, there)] == ["there", "here"]


def test_same_and_added_words_make_the_text_and_same_and_removed_the_other():
    chance = random.Random(3)
    for _ in range(200):
        here, there = (
            " ".join(chance.choice("abcde") for _ in range(chance.randrange(20))) for _ in range(2)
        )
        found = changes(here, there)
        assert "".join(each.text for each in found if each.how != "there") == here
        kept = "".join(each.text for each in found if each.how != "here")
        assert kept.replace(" ", "") == there.replace(" ", "")


def test_the_work_does_not_grow_beyond_the_tokens_that_are_compared():
    chance = random.Random(5)
    here, there = ([str(chance.randrange(99)) for _ in range(20_000)] for _ in range(2))
    whole = " ".join(here), " ".join(there)
    compared = " ".join(here[:COMPARED]), " ".join(there[:COMPARED])
    assert count_calls(changes, *whole) <= 1.1 * count_calls(changes, *compared)


def test_a_text_with_more_tokens_than_are_compared_is_cut():
    assert is_cut("word " * (COMPARED + 1))
    assert not is_cut("word " * COMPARED)
    assert not is_cut("x" * 2 * COMPARED)
