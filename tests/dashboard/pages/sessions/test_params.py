"""Query parameters of the list of sessions: filters, and notes on invalid ones."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorder.models import Session
from tests.support.small_loop import Loop


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", {"b", "a"}),
        ("?view=running", {"b"}),
        ("?view=waiting", set()),
        ("?view=evaluations", set()),
        ("?view=failed", set()),
        ("?status=running", {"b"}),
        ("?outcome=completed", {"a"}),
        ("?status=running&outcome=completed", {"a", "b"}),
        ("?status=completed&outcome=completed", {"a"}),
        ("?status=completed&outcome=failed", set()),
        ("?view=running&outcome=completed", set()),
        ("?agent=coder", {"a", "b"}),
        ("?agent=CODER", set()),
        ("?model=claude-sonnet-4-5", {"a", "b"}),
        ("?model=gpt-5", set()),
        ("?source=phi-core", {"a", "b"}),
        ("?source=grida", set()),
        ("?since=1h", {"a", "b"}),
        ("?q=ÜBER", {"a"}),
        ("?q=ask+über", {"a"}),
        ("?q=B", {"b", "a"}),
        ("?q=CODER", {"a", "b"}),
        ("?q=100%", set()),
        ("?q=_", set()),
    ],
)
def test_the_list_is_filtered(see, feed, query, expected):
    two = Loop("b")
    feed(*Loop("a").whole("about über-builds"), two.start(), two.turn())
    page = see(query)
    names = dict(Session.objects.values_list("pk", "session_id"))
    assert {names[int(pk)] for pk in re.findall(r'id="sessions-row-(\d+)"', page.html)} == expected


def test_a_session_is_found_by_its_title_and_by_its_first_prompt(see, feed):
    loop = Loop("s")
    title = {"type": "SessionInfo", "session_id": "s", "title": "A better name"}
    feed(*loop.whole("the old words"), title)
    assert see(q="better").titles == see(q="OLD WORDS").titles == ["A better name"]


def test_old_sessions_are_outside_of_the_last_hour(see, feed, project):
    at = (datetime.now(UTC) - timedelta(hours=2)).isoformat()
    feed(*(event | {"timestamp": at} for event in Loop("old").whole("old")))
    assert see("?since=1h").titles == []
    assert "No session matches" in see("?since=1h").text
    assert see("?since=24h").titles == ["Ask old"]


SENSELESS = ["?status=asleep", "?since=1y", "?sort=dear", "?before=now", "?view=mine", "?source=x"]


@pytest.mark.parametrize("query", SENSELESS)
def test_invalid_parameters_are_ignored_with_a_note(see, feed, query):
    feed(Loop("s").start())
    page = see(query)
    assert page.titles == ["s"]
    assert "Ignored" in page.text


NAMES = st.sampled_from(
    ["q", "view", "status", "outcome", "agent", "model", "source", "since", "sort", "before", "after", "x"]
)


WORDS = st.text(max_size=40) | st.sampled_from(
    [
        "running",
        "failed",
        "1h",
        "activity",
        "1-1",
        "0-0",
        "253402300799999999-1",
        "99999999999999999-999999999999999999",
        "\0",
    ]
)


@pytest.mark.django_db
@given(st.lists(st.tuples(NAMES, WORDS), max_size=8))
def test_no_query_string_breaks_the_page(see, feed, params):
    if not Session.objects.exists():
        feed(*Loop("s").whole("anything"))
    many: dict[str, list[str]] = {}
    for name, word in params:
        many.setdefault(name, []).append(word)
    page = see(**many)
    assert "<h1>Sessions</h1>" in page.html


def test_the_link_of_a_filter_removes_only_that_filter(see, feed):
    feed(Loop("s").start())
    page = see("?q=s&status=running&outcome=failed&since=24h&sort=created")
    without = re.findall(r'href="(\?[^"]*)" aria-label="Remove', page.html)
    assert without == [
        "?q=s&amp;outcome=failed&amp;since=24h&amp;sort=created",
        "?q=s&amp;status=running&amp;since=24h&amp;sort=created",
    ]
