"""Tool calls of a project and turns of a session: their order, their links, the query, and their bounds."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape

import pytest

from dashboard.live import paged_list
from dashboard.pages.calls.params import CALL_SORTS, TURN_SORTS
from dashboard.pages.calls.queries import calls as call_queries
from recorder.models import Project, Session
from tests.support import build

pytestmark = pytest.mark.django_db(transaction=True)
HOSTILE = '"><img src=x onerror=alert(1)>'


def words(html):
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def ago(seconds):
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat()


def call(loop, number, name, seconds, *, is_error=False):
    """Return a call of a tool that took some seconds."""
    start = build.tool_start(loop, f"c{number}", name) | {"timestamp": ago(100)}
    end = build.tool_end(loop, f"c{number}", name, is_error=is_error)
    return [start, end | {"timestamp": ago(100 - seconds), "duration_ms": seconds * 1_000}]


def turns(loop, *tokens):
    """Return a loop whose turns used these tokens."""
    yield build.agent_start(loop, timestamp=ago(200))
    for number, used in enumerate(tokens):
        yield build.turn_start(loop, index=number) | {"timestamp": ago(150)}
        if number == 1:
            yield from call(loop, number, "shell", 3, is_error=True)
        yield build.turn_end(loop, tokens=used) | {"timestamp": ago(150 - used / 10)}
    yield build.agent_end(loop, timestamp=ago(1))


def rows(html, kind):
    table = html.partition(f"number {kind}")[2].partition("<tbody>")[2].partition("</tbody>")[0]
    return [
        re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", row))).strip() for row in table.split("</tr>")
    ][:-1]


def hrefs(html, words):
    return [
        unescape(url)
        for url, text in re.findall(r'<a[^>]*href="([^"]*)"[^>]*>\s*([^<]*)', html)
        if words in text
    ]


def test_the_slowest_call_comes_first_and_leads_to_its_place(see, feed):
    feed(build.agent_start("s.a.1", timestamp=ago(300)), build.turn_start("s.a.1"))
    feed(*call("s.a.1", 1, "read", 2), *call("s.a.1", 2, "shell", 40), *call("s.a.1", 3, "write", 9))
    html = see("/p/default/calls?sort=-duration")

    assert [row.split()[0] for row in rows(html, "call-list")] == ["shell", "write", "read"]
    (url,) = re.findall(r'href="([^"]*#session-tool-\d+)"[^>]*><code>shell', html)
    page, _, anchor = url.partition("#")
    assert f'id="{anchor}"' in see(page)


def test_calls_are_in_the_order_in_which_they_began_whenever_they_came(see, feed, monkeypatch):
    monkeypatch.setattr(paged_list, "PAGE", 2)
    feed(build.agent_start("s.a.1", timestamp=ago(300)), build.turn_start("s.a.1"))
    for number, (name, seconds) in enumerate((("third", 90), ("first", 200), ("second", 150))):
        feed(build.tool_start("s.a.1", f"c{number}", name) | {"timestamp": ago(seconds)})

    def shown(html):
        return [row.split()[0] for row in rows(html, "call-list")]

    newest = see("/p/default/calls")
    assert shown(newest) == ["third", "second"]
    assert shown(see("/p/default/calls" + hrefs(newest, "Next")[0])) == ["first"]
    assert shown(see("/p/default/calls?sort=when")) == ["first", "second"]


def test_each_tool_has_its_failure_rate_and_its_time(see, feed):
    feed(build.agent_start("s.a.1", timestamp=ago(300)), build.turn_start("s.a.1"))
    feed(
        *call("s.a.1", 1, "shell", 2),
        *call("s.a.1", 2, "shell", 40, is_error=True),
        *call("s.a.1", 3, "read", 1),
    )
    html = see("/p/default/calls")

    assert rows(
        html.replace('class="data-table number"', 'class="data-table number by-tool"'), "by-tool"
    ) == [
        "shell 2 1 50% 42s 40s",
        "read 1 0 0% 1.0s 1.0s",
    ]


def test_a_query_selects_calls_and_other_projects_and_periods_have_none(see, feed):
    feed(
        build.agent_start("s.a.1", timestamp=ago(300)),
        *call("s.a.1", 1, "shell", 2),
        *call("s.a.1", 2, "read", 1),
    )
    feed(build.agent_start("o.a.1"), into=Project.objects.create(slug="other"))
    feed(
        build.agent_start("old.a.1"),
        *[event | {"timestamp": "2026-01-01T00:00:00Z"} for event in call("old.a.1", 1, "ancient", 1)],
    )

    assert len(rows(see("/p/default/calls?q=tool:shell"), "call-list")) == 1
    assert len(rows(see("/p/default/calls"), "call-list")) == 2
    assert len(rows(see("/p/default/calls?since=all"), "call-list")) == 3
    assert "No tool calls match “tool:none” in the last 7 days." in words(see("/p/default/calls?q=tool:none"))
    assert "No tool calls match “tool:(” in the last 7 days." in words(see("/p/default/calls?q=tool:("))


def test_calls_that_are_older_than_the_period_are_one_click_away(see, feed):
    feed(
        build.agent_start("old.a.1"),
        *[event | {"timestamp": "2026-01-01T00:00:00Z"} for event in call("old.a.1", 1, "ancient", 1)],
    )
    html = see("/p/default/calls")
    assert "No tool calls in the last 7 days." in words(html)
    assert 'href="?since=all">All time' in html
    assert "Clear the filters" not in html
    assert len(rows(see("/p/default/calls?since=all"), "call-list")) == 1


def test_the_link_of_a_tool_narrows_any_query(see, feed):
    feed(build.agent_start("s.a.1", timestamp=ago(300)), build.turn_start("s.a.1"))
    feed(*call("s.a.1", 1, "shell", 2), *call("s.a.1", 2, "read", 1))

    for query in ("", "tool:shell OR tool:read", "tool:read"):
        (url,) = re.findall(r'<a[^>]*href="(\?[^"]*)"[^>]*>\s*<code>read', see(f"/p/default/calls?q={query}"))
        (row,) = rows(see("/p/default/calls" + unescape(url)), "call-list")
        assert row.split()[0] == "read"


def test_without_figures_there_is_nothing_to_jump_to(see, feed):
    feed(build.agent_start("a.a.1"), build.turn_start("a.a.1"), build.tool_start("a.a.1", "c1", "shell"))
    session = Session.objects.get()

    assert "Slowest call" not in see("/p/default/calls")
    html = see(f"/p/default/sessions/{session.pk}/turns")
    assert "Dearest turn" not in html
    assert "Slowest turn" not in html


def test_a_clock_that_went_back_ends_no_list(see, feed):
    for number in range(60):
        loop = f"s.a.{number}"
        start, end = build.turn_start(loop, at=9), build.turn_end(loop, at=number % 2)
        feed(build.agent_start(loop, at=0), start, end)
    path = f"/p/default/sessions/{Session.objects.get().pk}/turns"
    page = see(f"{path}?sort=duration")
    (after,) = {unescape(url) for url in re.findall(r'href="(\?[^"]*before=[^"]*)"', page)}

    assert len(rows(see(path + after), "turn-list")) == 10


def test_the_turns_of_a_session_are_sorted_by_any_column_and_have_links(see, feed, client):
    feed(*turns("s.a.1", 100, 900, 400))
    address = f"/p/default/sessions/{Session.objects.get().pk}/turns"

    assert [row.split()[0] for row in rows(see(address), "turn-list")] == ["1", "2", "3"]
    assert [row.split()[0] for row in rows(see(f"{address}?sort=-tokens"), "turn-list")] == ["2", "3", "1"]
    assert [row.split()[0] for row in rows(see(f"{address}?sort=tokens"), "turn-list")] == ["1", "3", "2"]
    html = see(f"{address}?sort=-duration")
    assert rows(html, "turn-list")[0].startswith("2 ")
    assert hrefs(html, "Time") == ["?sort=duration"]
    assert hrefs(html, "Slowest turn")[0].endswith("#turn-2")
    assert hrefs(html, "First error")[0].endswith("#turn-2")
    assert client.get(f"{address}?turn=3")["Location"].endswith("#turn-3")
    assert "There is no turn 9." in see(f"{address}?turn=9")


def test_turns_have_the_numbers_that_the_field_takes_and_name_their_loop(see, feed, client):
    feed(*turns("s.a.2", 5, 6), *turns("s.a.1", 7, 8))
    address = f"/p/default/sessions/{Session.objects.get().pk}/turns"
    html = see(f"{address}?sort=-tokens")
    shown = re.findall(r'<a class="link" href="([^"]*)" title="([^"]*)">(\d+)</a>', html)

    assert [(title, number) for _, title, number in shown] == [
        ("Turn 2 of loop 2", "4"),
        ("Turn 1 of loop 2", "3"),
        ("Turn 2 of loop 1", "2"),
        ("Turn 1 of loop 1", "1"),
    ]
    for url, _, number in shown:
        assert client.get(f"{address}?turn={number}")["Location"] == url


def test_every_order_is_read_and_every_page_has_each_turn_once(see, feed):
    feed(*turns("s.a.1", *(n % 7 * 10 for n in range(60))))
    address = f"/p/default/sessions/{Session.objects.get().pk}/turns"
    for sort in TURN_SORTS:
        first = see(f"{address}?sort={sort}")
        second = see(address + hrefs(first, "Next")[0])
        numbers = [int(row.split()[0]) for page in (first, second) for row in rows(page, "turn-list")]
        assert sorted(numbers) == [*range(1, 61)], sort
    for sort in CALL_SORTS:
        see(f"/p/default/calls?sort={sort}")


def test_hostile_names_are_escaped_and_another_project_has_no_such_session(see, feed, client):
    feed(build.agent_start("s.a.1", agent_id=HOSTILE, timestamp=ago(9)), *call("s.a.1", 1, HOSTILE, 2))
    pk = Session.objects.get().pk

    assert "<img" not in see("/p/default/calls") + see(f"/p/default/sessions/{pk}/turns")
    feed(build.agent_start("o.a.1"), into=Project.objects.create(slug="other"))
    other = Session.objects.exclude(pk=pk).get().pk
    assert client.get(f"/p/default/sessions/{other}/turns").status_code == 404


def test_fifty_rows_take_as_many_queries_as_one(see, feed, django_assert_num_queries):
    feed(*turns("s.a.1", 1, 2), *call("s.a.1", 90, "shell", 1))
    turn_page = f"/p/default/sessions/{Session.objects.get().pk}/turns?sort=-cost"
    for path in (turn_page, "/p/default/calls"):
        see(path)
    with django_assert_num_queries(QUERIES_OF_TURNS):
        see(turn_page)
    with django_assert_num_queries(QUERIES_OF_CALLS):
        see("/p/default/calls")
    feed(
        *turns("s.a.2", *range(45)),
        *(event for n in range(48) for event in call("s.a.2", n + 100, f"t{n}", 1)),
    )
    with django_assert_num_queries(QUERIES_OF_TURNS):
        see(turn_page)
    with django_assert_num_queries(QUERIES_OF_CALLS):
        see("/p/default/calls")


def test_calls_are_read_of_the_newest_sessions_alone(see, feed, monkeypatch):
    monkeypatch.setattr(call_queries, "SESSIONS", 1)
    feed(
        build.agent_start("a.a.1", timestamp=ago(900)),
        *[event | {"timestamp": ago(800)} for event in call("a.a.1", 1, "old", 1)],
    )
    feed(build.agent_start("b.a.1", timestamp=ago(300)), *call("b.a.1", 1, "new", 1))
    assert [row.split()[0] for row in rows(see("/p/default/calls"), "call-list")] == ["new"]


QUERIES_OF_TURNS = 17
QUERIES_OF_CALLS = 14
