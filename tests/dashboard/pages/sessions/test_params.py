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
        ("?q=B", {"b"}),
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
    assert "No sessions in the last hour." in see("?since=1h").text
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


def test_the_filters_of_an_older_address_become_one_query(see, feed):
    feed(Loop("s").start())
    page = see("?q=s&status=running&outcome=failed&since=24h&sort=created")
    assert 'name="q" value="s status:[running,failed]"' in page.html
    assert 'name="since" value="24h"' in page.html


@pytest.fixture
def labelled(feed):
    one = {"type": "SessionInfo", "session_id": "one", "tags": ["night ly", "<b>"]}
    feed(Loop("one").start() | {"metadata": {"env": "prod", "a=b": [1, 2]}}, one)
    feed(Loop("two").start() | {"metadata": {"env": "test"}})
    feed(Loop("three").start())


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?tag=night+ly", ["one"]),
        ("?tag=night", []),
        ("?metadata.env=prod", ["one"]),
        ("?metadata.env=prod&metadata.env=test", ["two", "one"]),
        ("?metadata.env=prod&metadata.a%3Db=2", ["one"]),
        ("?metadata.env=prod&tag=other", []),
        ("?q=metadata.env:test", ["two"]),
        ("?q=tag:%22night+ly%22", ["one"]),
        ("?metadata.=x&metadata.env=", ["three", "two", "one"]),
    ],
)
def test_sessions_are_filtered_by_tag_and_metadata(see, labelled, query, expected):
    assert see(query).titles == expected


def test_tags_and_metadata_are_shown_and_offered(see, labelled):
    page = see("?metadata.env=prod")

    assert 'name="q" value="metadata.env:prod"' in page.html
    assert 'name="metadata.env" value="prod" checked' in page.html
    assert 'name="tag" value="night ly"' in page.html
    assert "&lt;b&gt;" in page.html
    assert "<b></span>" not in page.html
    assert re.findall(r'class="session-label[^>]*>([^<]*)<', page.html) == [
        "night ly",
        "&lt;b&gt;",
        "env = prod",
        "+2",
    ]
    assert 'title="a=b = 1, a=b = 2"' in page.html


def test_values_of_one_name_of_metadata_are_alternatives(see, labelled):
    page = see("?tag=x&metadata.env=prod&metadata.env=test&metadata.n=1")
    assert 'name="q" value="tag:x metadata.env:[prod,test] metadata.n:1"' in page.html


def test_the_read_api_filters_by_tag_and_metadata(see, labelled, client):
    def names(query):
        answer = client.get(f"/api/v1/sessions?project=default&{query}")
        assert answer.status_code == 200, answer.content
        return [item["session_id"] for item in answer.json()["items"]]

    see()
    assert names("tag=night+ly") == ["one"]
    assert names("metadata.env=prod&metadata.env=test") == ["two", "one"]
    assert names("metadata.env=prod&metadata.a%3Db=3") == []
    (item,) = client.get("/api/v1/sessions?project=default&tag=%3Cb%3E").json()["items"]
    assert (item["tags"], item["metadata"]) == (["night ly", "<b>"], {"env": ["prod"], "a=b": ["1", "2"]})
    assert client.get(f"/api/v1/sessions?project=default&metadata.env={'x' * 600}").status_code == 400
    assert client.get("/api/v1/sessions?project=default&metadata.env=%00").status_code == 400


def test_the_session_page_links_to_the_sessions_with_a_label(see, labelled, client):
    see()
    page = client.get(f"/p/default/sessions/{Session.objects.get(session_id='one').pk}").content.decode()

    assert 'href="/p/default/sessions?tag=night+ly"' in page
    assert 'href="/p/default/sessions?metadata.a%3Db=2"' in page
