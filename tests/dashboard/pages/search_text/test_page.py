"""The search in all recorded text: results, states, access, and the number of queries."""

import re
from html import unescape

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from recorder.models import LoopRecord, Project
from recorder.search.state import Lag
from tests.dashboard.pages.search_text.events import conversation
from tests.dashboard.pages.test_all_pages import INLINE

QUERIES = 19  # beside those of the index
HOSTILE = '<img src=x onerror="window.__pwned=1"> </mark><script>alert(1)</script> \u202e needle {{ 7 }}'


def titles(html):
    return [unescape(each).strip() for each in re.findall(r'class="search-title[^>]*>(.*?)</a>', html, re.S)]


def hits(html):
    """Return kind, text and turn of each hit."""
    found = []
    for hit in re.findall(r'<a class="search-hit".*?</a>', html, re.S):
        text = [
            unescape(re.sub(r"<[^>]*>", "", each)).strip()
            for each in re.findall(r"<span.*?</span>", hit, re.S)
        ]
        found.append(tuple(text))
    return found


def total(html):
    return re.sub(r"<[^>]*>", "", re.search(r'id="search-total">(.*?)</h2>', html, re.S)[1]).strip()


def test_hits_are_grouped_by_session_with_kind_snippet_and_turn(project, record, search):
    record(
        project, *conversation("one", "The needle is here", result="no needle"), *conversation("two", "Done")
    )

    html = search("needle")

    assert titles(html) == ["Fix it"]
    assert hits(html) == [("Answer", "The needle is here", "turn 1"), ("Tool result", "no needle", "turn 1")]
    assert html.count("<mark>needle</mark>") == 2
    assert total(html) == "1 session, 2 hits"
    assert "1 loop, 1 turn" in html


@pytest.mark.parametrize(
    ("q", "shown"), [("parser", "Fix the parser"), ("mender", "mender"), ("parser mender", "Fix the parser")]
)
def test_a_hit_in_a_title_shows_the_title_alone_or_the_agent_that_matches(project, record, search, q, shown):
    record(project, *conversation("one", "Done", prompt="Fix the parser", agent_id="mender"))

    assert [text for kind, text in hits(search(q, kind="title")) if kind == "Title"] == [shown]


def test_a_hit_leads_to_its_turn(project, record, search, client):
    record(project, *conversation("one", "The needle"))
    loop = LoopRecord.objects.get()

    url = unescape(re.search(r'<a class="search-hit" href="([^"]*)"', search("needle"))[1])

    assert url == f"/p/default/sessions/{loop.session_id}/loops/{loop.pk}?turn=1#turn-1"
    assert client.get(url.partition("#")[0]).status_code == 200


def test_three_hits_are_shown_and_the_rest_is_found_in_the_session(project, record, search, client):
    for n in range(5):
        record(project, *conversation("one", f"needle number {n}", prompt=f"Question {n}"))

    html = search("needle")
    url = unescape(re.search(r'class="search-more[^>]*href="([^"]*)"', html)[1])

    assert len(hits(html)) == 3
    assert "2 more hits in this session" in html
    assert url.endswith("/search?q=needle")
    assert client.get(url).status_code == 200


def test_text_of_agents_stays_text_and_only_ranges_are_marked(project, record, search):
    record(project, *conversation("one", HOSTILE, agent_id=HOSTILE[:60]))

    html = search("needle")

    assert "<mark>needle</mark>" in html
    assert html.count("<mark>") == html.count("</mark>") == 1
    assert "<img" not in html
    assert "&lt;script&gt;alert(1)" in html
    assert re.search(r"<bdi[^>]*>\u202e</bdi>", html)  # shown, and without effect


@pytest.mark.parametrize("q", ['"><b>x', "</script><b>x", 'costs:"><b>x'])
def test_the_query_is_escaped(search, q):
    html = search(q)

    assert "<b>x" not in html
    assert not INLINE.search(html)


def test_kinds_limit_the_hits(project, record, search):
    record(project, *conversation("one", "needle", result="a needle"), *conversation("two", "needle"))

    html = search("needle", kind="tool_result")

    assert [kind for kind, *_ in hits(html)] == ["Tool result"]
    assert total(html) == "1 session, 1 hit"


def test_conditions_alone_list_sessions_without_hits(project, record, search):
    record(project, *conversation("one", "x"), *conversation("two", "x", agent_id="tester"))

    html = search("agent:tester")

    assert titles(html) == ["Fix it"]
    assert hits(html) == []
    assert total(html) == "1 session"


def test_a_page_leads_to_the_next_and_each_session_is_shown_once(project, record, search):
    for n in range(23):
        record(project, *conversation(f"s{n}", "needle", prompt=f"Question {n}"))

    first = search("needle")
    link = unescape(re.search(r'href="(\?[^"]*)" rel="next"', first)[1])
    second = search("needle", cursor=re.search(r"cursor=(\d+)", link)[1])

    assert len(titles(first)) == 20
    assert total(first) == "23 sessions"
    assert {*titles(first), *titles(second)} == {f"Question {n}" for n in range(23)}
    assert len(titles(second)) == 3
    assert ">First page<" in second


@pytest.mark.parametrize("sort", ["newest", "best", "nonsense"])
def test_each_order_shows_the_same_sessions(project, record, search, sort):
    record(
        project, *conversation("one", "needle", prompt="A"), *conversation("two", "needle needle", prompt="B")
    )

    assert sorted(titles(search("needle", sort=sort))) == ["A", "B"]


def test_a_bad_query_shows_its_position_and_one_fix_and_searches_nothing(project, record, search):
    record(project, *conversation("one", "needle"))

    html = search("needle costs:>1")

    assert "Unknown key “costs” at character 8" in html
    assert "<mark>costs</mark>" in html
    assert 'aria-invalid="true"' in html
    assert 'value="needle cost:&gt;1"' in html
    assert titles(html) == []


def test_without_a_query_the_page_explains_the_grammar(search):
    html = search("")

    assert "Search all recorded text" in html
    assert 'href="?q=cost%3A%3E1.50"' in html
    assert 'id="search-total"' not in html


def test_every_example_of_the_grammar_is_a_valid_query(search):
    examples = [unescape(each) for each in re.findall(r"<code>(.*?)</code>", search(""))]

    assert len(examples) > 8
    for example in examples:
        assert 'id="search-total"' in search(example), example


def test_without_a_result_buttons_drop_one_filter_each(project, record, search):
    record(project, *conversation("one", "needle"), *conversation("two", "thread"))

    html = search("needle status:failed since:7d")
    offered = {
        unescape(label).strip(): int(number)
        for label, number in re.findall(
            r'<a class="button" href[^>]*><span[^>]*>(.*?)</span>\s*<span[^>]*>(\d+)<', html
        )
    }

    assert titles(html) == []
    assert offered == {"Any status": 1}
    both = search("needle thread")
    assert "Any word (needle OR thread)" in both


def test_a_result_whose_text_was_pruned_meanwhile_says_so(project, record, search, monkeypatch):
    record(project, *conversation("one", "needle"))
    monkeypatch.setattr("dashboard.shared.search.queries.hits.texts", lambda events: {})

    assert "The text was pruned." in search("needle")


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0.5, []), (3, ["Index 3 s behind"]), (75, ["Index 75 s behind", "The index is 75 s behind: 9 events"])],
)
def test_a_lag_of_the_index_is_shown_and_a_long_one_is_a_warning(
    project, record, search, monkeypatch, seconds, expected
):
    record(project, *conversation("one", "needle"))
    monkeypatch.setattr("recorder.search.state.lag", lambda project, now: Lag(seconds, 9))
    html = " ".join(search("needle").split())

    for words in ("Index 3 s behind", "Index 75 s behind", "The index is 75 s behind: 9 events"):
        assert (words in html) is (words in expected)


def test_only_members_search_and_only_in_their_project(client, project, record, search):
    other = Project.objects.create(slug="other")
    record(other, *conversation("secret", "needle"))
    record(project, *conversation("own", "thread"))

    assert titles(search("needle")) == []
    assert "coder" in search("thread")
    for path in ("search", "search/counts"):
        assert client.get(f"/p/other/{path}", {"q": "needle"}).status_code == 404
        assert client.get(f"/p/none/{path}", {"q": "needle"}).status_code == 404
    client.logout()
    assert client.get("/p/default/search").status_code == 302


def test_the_number_of_queries_is_that_of_a_page(project, record, search):
    for n in range(50):
        record(project, *conversation(f"s{n}", "needle"))
    search("needle")

    with CaptureQueriesContext(connection) as done:
        search("needle")

    own = [query["sql"] for query in done if "search" not in query["sql"]]
    assert len(own) == QUERIES
    assert len(done) - len(own) <= 4 * 20  # reads of the index, most of them by session
