"""The first difference of two requests is the planted one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorder.core.ledger.difference import AROUND, common_prefix, first_difference, json_path


def payload(prompt="Be careful.", tools=(), messages=()):
    return {"system_prompt": prompt, "tools": list(tools), "messages": list(messages)}


def user(text):
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def test_an_appended_request_has_no_difference():
    assert first_difference(payload(messages=[user("a")]), payload(messages=[user("a"), user("b")])) is None
    assert first_difference(payload(), payload()) is None


def test_a_time_in_the_system_prompt_is_shown_with_its_surroundings():
    prompt = "Repository: billing. " * 30 + "Now: 2026-11-20T14:{}Z. Rules: be brief. " + "Read before. " * 30
    found = first_difference(payload(prompt.format("02:24")), payload(prompt.format("31:07")))

    assert (found.kind, found.block, found.path) == ("system", 1, "")
    assert found.byte == prompt.index("{}")
    assert found.earlier.changed == "02:24"
    assert found.later.changed == "31:07"
    assert found.later.before.endswith("Now: 2026-11-20T14:")
    assert found.later.after.startswith("Z. Rules")
    assert len(found.later.before) == len(found.later.after) == AROUND


def test_a_changed_tool_names_its_place_in_the_json():
    tool = {"name": "grep", "parameters": {"properties": {"path": {}}, "required": ["a", "b"]}}
    other = json.loads(json.dumps(tool).replace('"b"', '"c"'))

    found = first_difference(payload(tools=[{"name": "ls"}, tool]), payload(tools=[{"name": "ls"}, other]))

    assert (found.block, found.kind, found.name) == (2, "tool_definition", "grep")
    assert found.path == "parameters.required[1]"
    assert (found.earlier.changed, found.later.changed) == ("b", "c")


def test_a_removed_end_has_no_later_excerpt():
    found = first_difference(payload(messages=[user("a"), user("b")]), payload(messages=[user("a")]))

    assert (found.block, found.earlier.changed, found.later) == (3, "b", None)


@pytest.mark.parametrize(
    ("text", "sign", "path"),
    [
        ('{"a":{"b":[1,{"c":"x"}]}}', "x", "a.b[1].c"),
        ("[[1],[2,3]]", "3", "[1][1]"),
        ('{"a\\"b":"x"}', "x", 'a\\"b'),
        ("plain {x", "x", ""),
        ('{"a": broken x', "x", ""),
    ],
)
def test_paths(text, sign, path):
    assert json_path(text, text.index(sign)) == path


@given(st.text(), st.text(), st.text())
def test_the_common_prefix(shared, one, other):
    found = common_prefix(shared + one, shared + other)

    assert found >= len(shared)
    assert (shared + one)[:found] == (shared + other)[:found]
    assert (
        found == min(len(shared + one), len(shared + other))
        or (shared + one)[found] != (shared + other)[found]
    )


VALUES = st.recursive(
    st.integers() | st.text(), lambda each: st.lists(each) | st.dictionaries(st.text(), each)
)


@given(VALUES, st.data())
def test_every_place_of_any_json_has_a_path(value, data):
    text = json.dumps(value, ensure_ascii=False)
    assert isinstance(json_path(text, data.draw(st.integers(0, len(text)))), str)
