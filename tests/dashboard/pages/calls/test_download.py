"""Tool calls of a project and turns of a session as CSV and JSON: the rows of the page, in its order."""

import csv
import io
import json
import re
from html import unescape

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dashboard.pages.calls.params import CALL_SORTS, TURN_SORTS
from dashboard.pages.calls.queries import calls as call_queries
from recorder.models import Project, Session, Turn
from tests.dashboard.pages.calls.test_calls import ago, call, turns
from tests.support import build

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def get(see, client):
    """Return the text of a file, or of a refusal."""

    def get(path, status=200):
        answer = client.get(path)
        assert answer.status_code == status, path
        return b"".join(answer).decode()

    return get


def items(text):
    return json.loads(text)["items"]


def table(text):
    return list(csv.DictReader(io.StringIO(text.lstrip("\ufeff"))))


def links_of(html, kind):
    """Return the links of the rows of a table."""
    body = html.partition(f"number {kind}")[2].partition("<tbody>")[2].partition("</tbody>")[0]
    return [unescape(url) for url in re.findall(r'<th scope="row"[^>]*>\s*<a [^>]*href="([^"]*)"', body)]


@pytest.fixture
def turns_url(feed):
    feed(*turns("s.a.1", 100, 900, 400, 0))
    return f"/p/default/sessions/{Session.objects.get().pk}/turns"


def test_calls_are_those_of_the_page_in_every_order(see, get, feed, monkeypatch):
    monkeypatch.setattr("dashboard.web.lists.download.CHUNK", 2)
    feed(build.agent_start("s.a.1", timestamp=ago(300)), build.turn_start("s.a.1"))
    for number, seconds in enumerate((2, 40, 9, 9, 1)):
        feed(*call("s.a.1", number, f"t{number}", seconds, is_error=number == 2))
    feed(build.tool_start("s.a.1", "open", "slow") | {"timestamp": ago(5)})

    for sort in CALL_SORTS:
        query = f"?sort={sort}"
        shown = links_of(see(f"/p/default/calls{query}"), "call-list")
        assert len(shown) == 6
        assert [item["url"] for item in items(get(f"/p/default/calls.json{query}"))] == shown, sort
        assert [row["url"] for row in table(get(f"/p/default/calls.csv{query}"))] == shown, sort

    found = {item["tool_name"]: item for item in items(get("/p/default/calls.json"))}
    assert (found["t2"]["state"], found["t2"]["duration_ms"], found["t2"]["turn"]) == ("failed", 9_000, 1)
    assert (found["slow"]["state"], found["slow"]["duration_ms"]) == ("running", None)
    assert {item["state"] for item in items(get("/p/default/calls.json?q=status:completed"))} == {"completed"}


def test_turns_are_those_of_the_page_in_every_order(see, get, turns_url, monkeypatch):
    monkeypatch.setattr("dashboard.web.lists.download.CHUNK", 3)
    for sort in TURN_SORTS:
        shown = links_of(see(f"{turns_url}?sort={sort}"), "turn-list")
        assert len(shown) == 4
        assert [item["url"] for item in items(get(f"{turns_url}.json?sort={sort}"))] == shown, sort
        assert [row["url"] for row in table(get(f"{turns_url}.csv?sort={sort}"))] == shown, sort

    rows = table(get(f"{turns_url}.csv"))
    assert [row["tokens"] for row in rows] == ["100", "900", "400", "0"]
    kinds = ("uncached_input", "cache_read", "cache_write", "output", "reasoning")
    assert [sum(int(row[kind]) for kind in kinds) for row in rows] == [100, 900, 400, 0]
    assert [(row["tool_calls"], row["errors"]) for row in rows[:2]] == [("0", "0"), ("1", "1")]


def test_turns_have_their_number_in_the_loop_and_in_the_session(get, feed, turns_url):
    feed(*turns("s.a.2", 5, 6))
    numbers = [(item["turn"], item["session_turn"]) for item in items(get(f"{turns_url}.json?sort=-turn"))]

    assert numbers == [(2, 6), (1, 5), (4, 4), (3, 3), (2, 2), (1, 1)]


def test_tokens_that_were_not_reported_are_unknown(get, turns_url):
    Turn.objects.filter(ordinal=3).update(unreconciled=1, uncached_tokens=None, visible_tokens=None)
    unknown = items(get(f"{turns_url}.json"))[3]

    assert (unknown["tokens"], unknown["uncached_input"], unknown["reasoning"]) == (None, None, None)


def test_a_document_says_which_query_of_which_session_made_it(see, get, turns_url, client):
    document = json.loads(get("/p/default/calls.json?q=tool:shell&since=30d&sort=-duration"))
    assert [item["tool_name"] for item in document.pop("items")] == ["shell"]
    assert document == {
        "list": "calls",
        "project": "default",
        "query": "q=tool%3Ashell&since=30d&sort=-duration",
    }
    document = json.loads(get(f"{turns_url}.json?sort=-cost"))
    assert (document["list"], document["session"], document["query"]) == ("turns", "s", "sort=-cost")
    assert client.get(f"{turns_url}.csv")["Content-Disposition"] == (
        'attachment; filename="turns-default-s.csv"'
    )


def test_pages_link_the_files_of_what_they_show(see, turns_url):
    assert 'href="/p/default/calls.csv?q=tool%3Aread"' in see("/p/default/calls?q=tool:read")
    assert f'href="{turns_url}.json?sort=-cost"' in see(f"{turns_url}?sort=-cost")


def test_a_query_or_a_parameter_that_cannot_be_read_is_refused(get, turns_url):
    answer = json.loads(get("/p/default/calls.json?q=status:failed+tols:x", 400))
    assert (answer["code"], answer["at"]) == ("bad_query", 14)
    assert "Ignored sort “x”" in get(f"{turns_url}.csv?sort=x", 400)


def test_files_hold_nothing_of_other_projects(get, feed, turns_url, client):
    other = Project.objects.create(slug="other")
    feed(build.agent_start("o.a.1", timestamp=ago(9)), *call("o.a.1", 1, "theirs", 2), into=other)
    pk = Session.objects.get(project=other).pk

    assert "theirs" not in get("/p/default/calls.csv")
    get(f"/p/default/sessions/{pk}/turns.csv", 404)
    get("/p/other/calls.csv", 404)
    client.logout()
    get("/p/default/calls.csv", 302)


def test_calls_of_the_newest_sessions_alone_are_in_the_file(get, feed, monkeypatch):
    monkeypatch.setattr(call_queries, "SESSIONS", 1)
    old = [event | {"timestamp": ago(800)} for event in call("a.a.1", 1, "old", 1)]
    feed(build.agent_start("a.a.1", timestamp=ago(900)), *old)
    feed(build.agent_start("b.a.1", timestamp=ago(300)), *call("b.a.1", 1, "new", 1))

    assert [row["tool_name"] for row in table(get("/p/default/calls.csv"))] == ["new"]


def test_sixty_more_rows_of_a_chunk_take_no_more_queries(get, feed, turns_url):
    paths = ("/p/default/calls.csv", f"{turns_url}.csv")
    for path in paths:
        get(path)
    rows, queries = [], []
    for number in (0, 60):
        more = (event for n in range(number) for event in call(f"more-{number}.a.1", n, "t", 1))
        feed(build.agent_start(f"more-{number}.a.1", timestamp=ago(120)), *more)
        for path in paths:
            with CaptureQueriesContext(connection) as taken:
                rows.append(len(table(get(path))))
            queries.append(len(taken))

    assert rows[2] == rows[0] + 60
    assert queries[2:] == queries[:2]
