"""Filters of the Events tab: kinds, types and scope, in the address and as menus and tokens."""

import re

import pytest

from tests.support import build


@pytest.fixture
def recorded(feed):
    """A loop with a failed tool call and a turn, and another loop of its session."""
    feed(
        build.agent_start("s.a.1"),
        build.turn_start("s.a.1"),
        build.tool_start("s.a.1"),
        build.tool_end("s.a.1", is_error=True),
        build.turn_end("s.a.1"),
        build.agent_end("s.a.1"),
    )
    feed(*build.small_loop("s.b.1"))


def types(page):
    """Return the types of the listed events, without repetition."""
    rows = [e for e in page.root.walk() if "event-type" in e.attributes.get("class", "")]
    found = (" ".join(" ".join(text(row)).split()) for row in rows)
    return list(dict.fromkeys(found))


def text(element):
    for child in element.children:
        yield from [child] if isinstance(child, str) else text(child)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("kind=tools", ["ToolExecutionStart", "ToolExecutionEnd"]),
        ("kind=errors", ["ToolExecutionEnd"]),
        ("kind=errors&kind=turns", ["AgentStart", "TurnStart", "ToolExecutionEnd", "TurnEnd", "AgentEnd"]),
        ("type=TurnStart&type=TurnEnd", ["TurnStart", "TurnEnd"]),
        ("kind=tools&type=ToolExecutionEnd", ["ToolExecutionEnd"]),
        ("kind=tools&type=TurnStart", []),
        ("type=Unknown", []),
    ],
)
def test_kinds_and_types_select_events(recorded, loop, query, expected):
    assert types(loop("a.1", query=f"?tab=events&{query}")) == expected


def test_menus_and_tokens_show_what_is_selected(recorded, loop):
    page = loop("a.1", query="?tab=events&scope=session&kind=tools&type=Unknown")
    inputs = [e.attributes for e in page.root.walk() if e.attributes.get("type") == "checkbox"]
    on = [(each["name"], each["value"]) for each in inputs if "checked" in each]
    assert on == [("kind", "tools"), ("type", "Unknown")]
    removing = [
        e.attributes for e in page.root.walk() if e.attributes.get("aria-label", "").startswith("Remove")
    ]
    assert [each["href"] for each in removing] == [
        "?tab=events&scope=session&type=Unknown",
        "?tab=events&scope=session&kind=tools",
    ]


def test_scopes_keep_the_filters(recorded, loop):
    page = loop("a.1", query="?tab=events&kind=tools")
    (whole,) = (url for url in page.links if "scope=session" in url)
    assert re.fullmatch(r"/p/default/sessions/\d+/loops/\d+\?tab=events&scope=session&kind=tools#loop", whole)


def test_an_unknown_kind_is_ignored_with_a_note(recorded, loop):
    page = loop("a.1", query="?tab=events&kind=nothing")
    assert "Ignored kind “nothing”" in page.text
    assert "AgentStart" in types(page)


def test_an_empty_selection_says_so(recorded, loop):
    assert "No matching events." in loop("a.1", query="?tab=events&type=Unknown").text


def test_pages_of_a_selection_keep_it(feed, loop, see):
    feed(build.agent_start(), *(build.input_rejected(reason=f"reason {n}") for n in range(150)))
    page = loop(".1", query="?tab=events&type=InputRejected")
    (earlier,) = {url for url in page.links if "before=" in url}
    assert "type=InputRejected" in earlier
    assert types(see(earlier.partition("#")[0])) == ["InputRejected"]
