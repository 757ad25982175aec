"""Values that Python printed are read as JSON; other text stays text."""

import json

import pytest

from recorder.core.formats.python_text import PARTS_MAX, as_json


@pytest.mark.parametrize(("text", "value"), [
    ("{'role': 'user', 'tools': None, 'deep': True, 'n': -1.5}",
     {"role": "user", "tools": None, "deep": True, "n": -1.5}),
    ("({'a': ('b', 1,)},)", [{"a": ["b", 1]}]),
    (r"""['it\'s', "it's", 'a\n\x41\u00fc\\d\d']""", ["it's", "it's", "a\nA\u00fc\\d\\d"]),
    ("[HumanMessage(content='hi', kwargs={})]", [{"type": "HumanMessage", "content": "hi", "kwargs": {}}]),
    ("[TextBlock(type='text', text='hi')]", [{"type": "text", "text": "hi"}]),
    ("content='hi' usage={'input': 1} done=False", {"content": "hi", "usage": {"input": 1}, "done": False}),
    ("[{'role': <Role.USER: 'user'>}]", [{"role": "user"}]),
    ("{'at': datetime.datetime(2026, 1, 1, tzinfo=TzInfo(UTC))}",
     {"at": "datetime.datetime(2026, 1, 1, tzinfo=TzInfo(UTC))"}),
])  # fmt: skip
def test_a_value_that_python_printed_is_read(text, value):
    assert json.loads(as_json(text)) == value


@pytest.mark.parametrize("text", [
    "", "hello", '{"a": 1}', "[sic] hello", "{a: 1}", "foo(bar)", "[1, 2]", "if x == 'a'", "{'a': 1}}",
    "['a' b]", "print(text='hi')", "db.find(query='a')", "[f(content='a')]",
])  # fmt: skip
def test_other_text_is_none(text):
    assert as_json(text) == ""


def test_a_text_that_was_cut_gives_json_cut_there():
    assert as_json("[{'role': 'user', 'content': 'Wea") == '[{"role": "user", "content": "Wea'


@pytest.mark.parametrize("part", ["1, ", r"'\'', ", "(", "f(1, "])
def test_a_text_of_many_parts_stays_text(part):
    assert as_json("['a', " + part * PARTS_MAX) == ""
