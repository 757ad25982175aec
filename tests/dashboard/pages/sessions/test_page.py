"""The list of sessions: rows, order, pages."""

import re
from datetime import UTC, datetime, timedelta
from importlib import import_module

import pytest
from django.core.cache import cache

from recorder.models import Project, Session
from tests.dashboard.pages.sessions.conftest import TAPES
from tests.support import build
from tests.support.small_loop import Loop, assistant

SCENARIOS = sorted(path.name.removesuffix(".events.jsonl") for path in TAPES.glob("*.events.jsonl"))


def test_a_session_is_titled_by_its_first_prompt_and_shows_its_usage(see, feed):
    feed(*Loop("one").whole("why is the build red?"))
    page = see()

    assert page.titles == ["Ask why is the build red?"]
    assert page.states == ["completed"]
    assert "coder" in page.text
    assert 'data-column="turns">1</div>' in page.html
    assert "claude-sonnet-4-5" in page.text
    assert "10 input" in page.html


def test_a_session_without_a_prompt_is_titled_by_its_id(see, feed):
    feed(Loop("the-id").start())
    assert see().titles == ["the-id"]


SONNET = {"model": "claude-sonnet-4-6", "provider": "anthropic", "api": "anthropic_messages"}
LOCAL = {"model": "qwen2.5-coder:14b", "provider": "local", "api": "open_ai_completions"}


def spending(name, tokens, config=SONNET):
    """Return a loop of one call; a million tokens of Sonnet's cost three dollars."""
    answer = build.assistant(model=config["model"], provider=config["provider"])
    return [
        build.agent_start(name, config_snapshot=config),
        build.turn_end(name, tokens=tokens, message=answer),
        build.agent_end(name, tokens=tokens),
    ]


def test_a_row_shows_the_cost_or_that_it_is_unknown(see, feed):
    feed(*spending("a.x.1", 150_000), *spending("a.x.2", 9, LOCAL), *spending("b.x.1", 9, LOCAL))
    feed(build.agent_start("c.x.1"))
    page = see(sort="-created")

    costs = re.findall(r'<div class="session-cost" role="cell"[^>]*><span[^>]*>(.*?)</span>', page.html)
    assert [re.sub("<[^>]+>", "", cost) for cost in costs] == ["none", "no price", "$0.450 +"]
    assert "$0.450 + 2 calls without a price" in page.text


def test_the_list_is_sorted_and_filtered_by_cost(see, feed):
    feed(*spending("a.x.1", 10_000), *spending("b.x.1", 900_000), *spending("c.x.1", 400_000))
    feed(*spending("d.x.1", 9, LOCAL))

    assert see(sort="-cost").titles == list("bcad")
    assert see(sort="cost").titles == list("dacb")
    assert see(q="cost:>1").titles == see(cost="1").titles == ["c", "b"]
    assert see(q="cost:>=2.7 b").titles == ["b"]
    assert "“cost” needs an amount" in see(q="cost:>much").text
    assert "Ignored cost “much”" in see("?cost=much").text
    assert see("?cost=-1").titles == list("dcba")


def lasting(name, seconds, errors=0, tokens=100):
    yield build.agent_start(name)
    for n in range(errors):
        yield build.tool_start(name, f"c{n}")
        yield build.tool_end(name, f"c{n}", is_error=True)
    yield build.turn_end(name, tokens=tokens, at=seconds)
    yield build.agent_end(name, tokens=tokens, at=seconds)


@pytest.mark.parametrize(("by", "highest_first"), [("duration", "bca"), ("tokens", "acb"), ("errors", "cab")])
def test_a_header_sorts_and_turns_the_order(see, feed, by, highest_first):
    feed(*lasting("a.x.1", 5, 1, 900), *lasting("b.x.1", 60, 0, 100), *lasting("c.x.1", 30, 2, 500))
    label = {"duration": "Duration", "tokens": "Tokens", "errors": "Errors"}[by]

    descending = see(see(cols="duration,tokens,errors").link(label))
    assert descending.titles == list(highest_first)
    ascending = see(descending.link(label))
    assert ascending.titles == list(reversed(highest_first))
    assert f"sort=-{by}" in ascending.link(label)


@pytest.mark.parametrize("by", ["duration", "tokens", "errors"])
def test_pages_of_a_list_that_a_number_sorts_hold_every_session_once(see, feed, by):
    for n in range(60):
        feed(*lasting(f"s{n:02}.x.1", n % 7 + 1, n % 3, 100 * (n % 5)))
    first = see(sort=f"-{by}")
    second = see(first.link("Next"))

    assert sorted(first.titles + second.titles) == [f"s{n:02}" for n in range(60)]
    assert see(second.link("Previous")).titles == first.titles


def test_agent_text_is_escaped(see, feed):
    feed(*Loop("s").whole("<script>alert(1)</script><img src=x onerror=alert(1)>{{ 7|add:7 }}"))
    page = see(q="<script>")
    assert "<script>alert" not in page.html
    assert "<img" not in page.html
    assert page.titles[0].startswith("Ask <script>alert(1)</script>")


ENDS = {
    "failed": {"stopReason": "error", "error_message": "overloaded"},
    "cancelled": {"stopReason": "error", "error_message": "Cancelled"},
    "completed": {"stopReason": "stop"},
}


@pytest.mark.parametrize("outcome", ENDS)
def test_a_session_that_failed_is_not_shown_as_completed(see, feed, outcome):
    loop = Loop("s")
    message = assistant([]) | ENDS[outcome]
    feed(
        loop.start(),
        loop.turn(),
        loop.turn_end("") | {"message": message},
        loop.end() | {"messages": [message]},
    )
    assert see().states == [outcome]


def test_a_rejected_session_shows_the_reason(see, feed):
    loop = Loop("s")
    feed(loop.start(), loop.end() | {"rejection": "personal data"})
    assert see().states == ["rejected"]


def test_a_flushed_session_is_aborted(see, feed):
    feed(Loop("s").start(), flush=True)
    assert see().states == ["aborted"]


def test_a_running_session_counts_up_and_a_waiting_one_shows_since_when(see, feed):
    running, waiting = Loop("r"), Loop("w")
    feed(
        running.start(), waiting.start(), waiting.turn(), waiting.tool("t"), waiting.approval("t", "rm -r /")
    )
    page = see()

    assert page.states == ["waiting", "running"]
    assert page.html.count("data-start") >= 3
    assert "Waits since" in page.text
    assert "1 waiting" in page.text


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_scenario_is_listed(see, feed, scenario):
    feed(scenario=scenario)
    assert len(see().titles) == Session.objects.count()


def test_flags_show_what_a_session_contains(see, feed):
    for scenario in (
        "03-parallel-judge",
        "05-sub-agents",
        "06-compaction-block-based",
        "08-rejections-and-errors",
    ):
        feed(scenario=scenario)
    html = see().html
    for words in ("1 evaluation", "sub-agent", "compaction", "error"):
        assert f'{words}"' in html or f'{words}s"' in html


def test_demo_data_is_marked(see, feed):
    feed(Loop("s").start(), is_demo=True)
    assert "Demo data" in see().html


def fill(feed, number):
    begin = datetime.now(UTC) - timedelta(days=1)
    for n in range(number):
        feed(*Loop(f"s{n:03}").whole(f"{n:03}"), received_at=begin + timedelta(seconds=n // 2))


def test_pages_of_fifty_link_forward_and_back(see, feed):
    fill(feed, 120)
    first = see()
    second = see(first.link("Next"))
    third = see(second.link("Next"))

    assert [len(page.titles) for page in (first, second, third)] == [50, 50, 20]
    assert first.titles + second.titles + third.titles == [f"Ask {n:03}" for n in reversed(range(120))]
    assert "1 to 50 of 120 sessions" in first.text
    assert "101 to 120 of 120 sessions" in third.text
    assert see(third.link("Previous")).titles == second.titles
    assert see(second.link("Previous")).titles == first.titles
    for page, words in ((first, "Previous"), (third, "Next")):
        with pytest.raises(AssertionError, match="no link"):
            page.link(words)


def test_a_new_session_does_not_shift_the_pages(see, feed):
    fill(feed, 60)
    older = see().link("Next")
    before = see(older).titles
    feed(*Loop("new").whole("new"))
    assert see(older).titles == before


def test_an_empty_project_links_to_connect_an_agent(see):
    page = see()
    assert "Nothing has been recorded" in page.text
    assert page.link("Connect an agent").endswith("/p/default/connect")


def test_the_list_of_another_project_does_not_exist(see, feed, client):
    feed(Loop("s").start(), into=Project.objects.create(slug="other"))
    assert see().titles == []
    assert client.get("/p/other/sessions").status_code == 404


def test_an_anonymous_user_is_sent_to_the_sign_in_page(client, project):
    answer = client.get("/p/default/sessions?q=a")
    assert (answer.status_code, answer["Location"]) == (302, "/signin?next=/p/default/sessions%3Fq%3Da")


def test_a_page_of_fifty_takes_as_many_queries_as_a_page_of_one(see, feed, client, django_assert_num_queries):
    fill(feed, 1)
    see()
    cache.clear()
    with django_assert_num_queries(QUERIES):
        see()
    for scenario in SCENARIOS:
        feed(scenario=scenario)
    fill(feed, 60)
    assert len(see().titles) == 50
    cache.clear()
    with django_assert_num_queries(QUERIES + 2):  # sessions beyond the page, and who of the silent is stale
        see()


QUERIES = 33


def test_a_page_that_is_opened_again_reads_totals_and_menus_only_after_a_change(
    see, feed, django_assert_num_queries
):
    fill(feed, 3)
    first = see()
    with django_assert_num_queries(QUERIES - 12):
        assert tabs(see()) == tabs(first) == ["3", "0", "0", "0", "0", "0"]
    feed(*Loop("later").whole("one more"))
    with django_assert_num_queries(QUERIES):
        assert tabs(see())[0] == "4"


def tabs(page):
    return re.findall(r'<span class="count number">([\d,+]+)</span>', page.html)


def test_the_totals_add_up(see, feed):
    first = Loop("a")
    fails = Loop("b")
    message = assistant([]) | ENDS["failed"]
    usage = {
        "input": 100,
        "output": 50,
        "reasoning": 0,
        "cache_read": 300,
        "cache_write": 0,
        "total_tokens": 450,
    }
    at = datetime(2026, 1, 1, tzinfo=UTC)
    stamp = [(at + timedelta(seconds=s)).isoformat().replace("+00:00", "Z") for s in (0, 10, 60)]
    feed(
        first.start() | {"timestamp": stamp[0]},
        first.end() | {"timestamp": stamp[1], "usage": usage},
        fails.start() | {"timestamp": stamp[0]},
        fails.end() | {"timestamp": stamp[2], "messages": [message], "usage": usage},
    )
    tiles = see().text
    assert "Sessions 2 " in tiles
    assert "Tokens 900 75% from cache" in tiles
    assert "Failed 1 50%" in tiles
    assert "Loop time, p95 1m 00s p50 10s" in tiles


@pytest.mark.parametrize("most", ["SESSIONS_MAX", "LOOPS_MAX"])
def test_with_too_many_loops_the_newest_are_measured_without_sparklines(see, feed, monkeypatch, most):
    at = datetime(2026, 1, 1, tzinfo=UTC)
    for place, name in enumerate("abcdef", start=1):
        loop = Loop(name)
        ended = (at + timedelta(seconds=place * 10)).isoformat()
        feed(loop.start() | {"timestamp": at.isoformat()}, loop.end() | {"timestamp": ended})
    assert '<svg class="sparkline' in see().html
    reads = import_module("dashboard.pages.sessions.queries.figures")
    monkeypatch.setattr(reads, most, 2)
    monkeypatch.setattr(reads, "SAMPLE", 2)
    cache.clear()

    shown = see()
    assert "Loop time, p95 1m 00s p50 50s" in shown.text
    assert '<svg class="sparkline' not in shown.html


def test_the_dearest_session_of_the_list_is_one_address_away(client, see, feed):
    feed(*spending("a.x.1", 10_000), *spending("b.x.1", 900_000), *spending("c.x.1", 9, LOCAL))
    page = see()
    pks = dict(Session.objects.values_list("session_id", "pk"))

    def leads_to(query):
        return client.get(f"/p/default/sessions/dearest{query}")["Location"]

    assert 'href="/p/default/sessions/dearest?" data-key="D"' in page.html
    assert leads_to("") == f"/p/default/sessions/{pks['b']}"
    assert leads_to("?q=cost%3A%3C1") == f"/p/default/sessions/{pks['a']}"
    assert leads_to("?q=nothing") == "/p/default/sessions?q=nothing"
    assert leads_to("?sort=cost&q=cost%3A%3C1") == f"/p/default/sessions/{pks['a']}"
