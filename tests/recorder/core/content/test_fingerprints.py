"""Fingerprints of tool arguments and of answers."""

import pytest

from recorder.core.content.fingerprints import arguments_key, text_key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"path": "a", "deep": {"x": 1, "y": 2}}, {"deep": {"y": 2, "x": 1}, "path": "a"}),
        ({"path": "a"}, {"path": " a\n", "limit": None}),
        ({"path": "a", "mode": "w"}, {"mode": "w ", "path": "a"}),
        ("ls", "ls "),
    ],
)
def test_key_order_and_outer_space_do_not_change_a_fingerprint(one, other):
    assert arguments_key(one) == arguments_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"path": "a"}, {"file": "a"}),
        ({"path": "a"}, {"path": "b"}),
        ({"code": "if x:\n  y"}, {"code": "if x:\n    y"}),
        ({"text": "x" * 5_000}, {"text": "x" * 4_999 + "y"}),
        ({"a": "b", "c": "d"}, {"a": "b1 1 cd"}),
        ({"ab": "c"}, {"a": "bc"}),
        ({"a": "1"}, {"a": 1}),
        ({"a": ""}, ["a"]),
        ({"a": "b"}, "1 1 ab"),
        (None, {}),
        (1, "1"),
        (True, 1),
    ],
)
def test_any_other_difference_changes_the_fingerprint(one, other):
    assert arguments_key(one) != arguments_key(other)


def test_text_that_no_database_stores_has_a_fingerprint():
    assert len(arguments_key({"text": "\ud800\x00"})) == 16


def test_outer_space_does_not_change_the_fingerprint_of_an_answer():
    assert text_key(" Done.\n") == text_key("Done.") != text_key("done.")
    assert text_key(" \n") == ""
    assert len(text_key("\ud800")) == 16
