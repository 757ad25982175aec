"""Snippets show the text as it was written, with the matches marked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorder.core.search.fold import decode_escapes
from recorder.core.search.snippets import WIDTH, pattern, snippet


def marked(text, *searched, is_prefix=False):
    found = snippet(decode_escapes(text), [pattern(each, is_prefix=is_prefix) for each in searched])
    return [found.text[a:b] for a, b in found.ranges]


@pytest.mark.parametrize(
    ("text", "searched", "marks"),
    [
        ("The Parser fails", "parser", ["Parser"]),
        ("food foo", "foo", ["foo"]),
        ("a foo-bar b", "foo bar", ["foo-bar"]),
        ("修改服务端的计划", "服务端", ["服务端"]),
        ("Das CAFÉ in der Straße", "cafe", ["CAFÉ"]),
        ("Das Café in der Straße", "STRASSE", ["Straße"]),
        ("Cafe\u0301 x", "café", ["Cafe\u0301"]),
        ("ｶﾞｷﾞ", "ギ", ["ｷﾞ"]),
        ("اَلْعَرَبِيَّة", "العربية", ["اَلْعَرَبِيَّة"]),
        (r"x \u5185\u90e8 y", "内部", ["内部"]),
        (r"C:\new\test", "new", ["new"]),
        (r"hello\nworld", "world", ["world"]),
        ("nothing", "here", []),
        ("x.getUserName(users)", "user", ["User"]),
        ("größer: getUserName", "USERNAME", ["UserName"]),
        ("the HTTPServer and HTTPServers", "server", ["Server"]),
        ("the HTTPServer", "http", ["HTTP"]),
        ("deploy 🎉 done", "🎉", ["🎉"]),
        ("deploy 🎉 done", "deploy 🎉", ["deploy 🎉"]),
        ("deploy 🎉 done", "deploy done", []),
    ],
)
def test_matches_are_marked(text, searched, marks):
    assert marked(text, searched) == marks


def test_a_prefix_marks_the_whole_word():
    assert marked("a recording", "record", is_prefix=True) == ["recording"]


def test_the_snippet_is_where_most_words_are():
    text = "alpha " + "x " * 3_000 + "alpha beta " + "y " * 3_000
    assert marked(text, "alpha", "beta") == ["alpha", "beta"]
    assert marked("ä" + text, "alpha", "beta") == ["alpha", "beta"]


def test_a_snippet_is_one_short_line():
    found = snippet("a\nb\x00\t" * 500, [pattern("b")])
    assert len(found.text) <= WIDTH
    assert found.text.isprintable()


@given(st.text(max_size=600), st.text(min_size=1, max_size=5))
def test_ranges_lie_inside_the_snippet(text, searched):
    each = pattern(searched)
    found = snippet(text, [each] if each else [])
    ends = [end for pair in found.ranges for end in pair]
    assert ends == sorted(ends)
    assert all(0 <= end <= len(found.text) for end in ends)
