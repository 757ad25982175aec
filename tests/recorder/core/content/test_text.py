"""Text for database columns: clean, excerpt, one line, Markdown."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorder.core.content.text import TOO_DEEP, clean, excerpt, json_text, one_line, strip_markdown


def test_characters_that_no_database_stores_are_replaced():
    assert clean("a\x00b\ud800", 3) == "a\ufffdb"


def test_an_excerpt_is_one_line_with_an_ellipsis_if_it_is_cut():
    assert excerpt(" a\n\tb ", 10) == "a b"
    assert excerpt("abcdef", 4) == "abc…"
    assert excerpt("a\x00\ud800é\u0085", 9) == "a\ufffd\ufffdé"


@given(st.text(st.sampled_from("ab  \n\u00a0\u2028\u00e9\t"), max_size=24))
def test_an_excerpt_equals_the_beginning_of_the_whole_line(text):
    whole = " ".join(text.split())

    assert excerpt(text, 12) == (whole if len(whole) <= 12 else whole[:11].rstrip() + "\u2026")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"command": "cargo\n test"}, "cargo test"),
        ({"path": "a.txt", "limit": 3}, "path: a.txt, limit: 3"),
        ({"nested": {"a": [1]}}, '{"a": [1]}'),
        ("text", "text"),
        ([1, 2], "[1, 2]"),
        ({}, ""),
        (None, ""),
    ],
)
def test_arguments_are_summarised_in_one_line(arguments, line):
    assert one_line(arguments) == line


def test_a_summary_is_short_however_long_the_arguments():
    assert len(one_line({"a": "x" * 1_000_000, "b": "y" * 1_000_000})) == 200


def test_a_plain_line_has_no_markdown_marks():
    text = "## Done\n- **tests** pass in `a_b.py`, 2 * 3 * 4 stays\n1. *next*"
    assert strip_markdown(text) == "Done\ntests pass in a_b.py, 2 * 3 * 4 stays\nnext"
    assert strip_markdown("\n\n   > quoted\n    # none\n# # twice\n#") == "\n\nquoted\n    # none\n# twice\n#"


def test_a_markdown_table_loses_its_frame():
    text = "| | parts | lag |\n|---|:-:|---|\n| dual writes | none | 0 |\na | b"

    assert strip_markdown(text) == "parts | lag\n\ndual writes | none | 0\na | b"


@pytest.mark.parametrize("indent", [None, 1])
def test_a_value_too_deep_to_be_written_is_cut_and_says_so(indent):
    value = ["leaf"]
    for _ in range(5_000):
        value = [value, {"beside": "kept"}]

    written = json_text(value, indent=indent)

    assert written.count("kept") > 10
    assert TOO_DEEP in written
    assert json.loads(json_text({"a": [1, "é"]}, indent=indent)) == {"a": [1, "é"]}
