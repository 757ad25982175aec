"""The session page for every recorded scenario, through the real ingest."""

import re

import pytest
from django.contrib.staticfiles import finders

from recorder.models import Session
from tests.dashboard.pages.session.conftest import TAPES
from tests.support import build

SCENARIOS = sorted(tape.name.removesuffix(".events.jsonl") for tape in TAPES.rglob("*.events.jsonl"))


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_page_of_every_scenario_renders(feed, see, every_page, scenario):
    feed(tape=scenario)

    for path in every_page():
        see(path)


def test_a_session_opens_at_the_running_loop_or_the_last_one(feed, session):
    feed(*build.small_loop("s.a.1"), *build.small_loop("s.a.2", parent="s.a.1", kind="Default"))
    assert "loop 2 of 2" in session().text

    feed(build.agent_start("s.b.1"), *build.small_loop("s.a.3"))
    assert "loop 3 of 4" in session().text


def test_a_continuation_names_and_links_the_loop_it_continues(feed, loop):
    feed(tape="02")

    page = loop(".2")

    assert "continues" in page.part("loop")
    assert any(href.endswith("#loop") for href in page.links)


def test_a_rerun_dims_the_loop_it_replaces(feed, session):
    feed(tape="02")

    assert any("superseded" in row for row in session().rows)
    assert any(row.startswith("Rerun,") for row in session().rows)


def test_the_same_loop_ids_twice_are_two_evaluations(feed, session):
    feed(tape="04")

    page = session()

    assert page.html.count('class="parallel-group"') == 2
    assert page.text.count("branches in parallel") == 2
    assert page.text.count("run 2") >= 2


def test_an_evaluation_shows_its_winner_and_its_judge_last(feed, session):
    feed(tape="03")

    kinds = [row.split(",")[0] for row in session().rows]

    assert kinds == ["Winner", "Branch", "Branch", "Judge", "Continue"]
    assert "Picked branch 1 of 3" in session().text


def test_a_running_group_has_no_winner_and_shows_pending_branches(feed, session):
    feed(build.parallel_start("s.a.1", "s.a.2"), build.agent_start("s.a.1"))

    page = session()

    assert [row.split(",")[0] for row in page.rows] == ["Branch", "Branch"]
    assert "pending" in page.rows[1]
    assert "Winner" not in page.text


def test_a_group_without_an_end_has_no_winner(feed, session):
    feed(build.parallel_start("s.a.1", "s.a.2"), build.agent_start("s.a.1"), flush=True)

    assert "no winner selected" in session().text
    assert "never started" in session().text


def test_sub_agents_are_linked_both_ways_and_one_is_marked_as_not_recorded(feed, see, session):
    feed(tape="05")
    child = Session.objects.get(has_spawn=True)
    parent = Session.objects.exclude(pk=child.pk).get()

    above, below = see(f"/p/default/sessions/{parent.pk}"), see(f"/p/default/sessions/{child.pk}")

    assert any(f"/sessions/{child.pk}/loops/" in href for href in above.links)
    assert any(f"/sessions/{parent.pk}/loops/" in href for href in below.links)
    assert "spawned by" in below.text
    assert above.part("loops").count("Not recorded") == 1
    assert "sub-agent not recorded" in above.part("loop")


def test_a_call_names_the_agent_that_it_ran(feed, see):
    feed(
        build.agent_start(),
        build.turn_start(),
        build.tool_start(),
        build.tool_end(child="sub.b.1"),
        build.turn_end(),
    )
    feed(*build.small_loop("sub.b.1", agent_id="researcher"))
    session = Session.objects.get(session_id="s").pk

    assert "researcher" in see(f"/p/default/sessions/{session}").part("loop")


def test_the_link_to_a_sub_agent_is_no_part_of_the_control_that_opens_its_call(feed, see):
    feed(tape="05")
    parent = Session.objects.exclude(has_spawn=True).get()

    html = see(f"/p/default/sessions/{parent.pk}").html

    assert "Open the sub-agent's session" in html
    summaries = re.findall(r"<summary.*?</summary>", html, re.DOTALL)
    assert not [each for each in summaries if re.search(r"<(a|button|input)\b", each)]


def test_a_compaction_that_is_its_own_parent_is_drawn_once(feed, session):
    feed(tape="06")

    page = session()

    assert [row.split(",")[0] for row in page.rows] == ["Initial", "Compaction", "Continue"]
    assert "1.7k → 261 tokens, 10 → 6 messages" in page.part("loops")


def test_a_compaction_inside_a_loop_shows_sizes_before_and_after(feed, loop):
    feed(tape="06")

    assert "Compaction 5.0k → 461 tokens 9 → 7 messages" in loop("sonnet-4-6.1").part("loop")


def test_failures_are_never_shown_as_plain_successes(feed, session):
    feed(tape="08")

    page = session()
    states = [row.rpartition(", ")[2] for row in page.rows]

    assert states == ["rejected", "completed", "rejected", "failed", "failed", "completed", "completed"]
    assert [word for word in ("rejected", "failed") if f" {word} " not in " ".join(page.rows)] == []
    assert page.html.count('title="1 error"') == 3


def test_a_rejected_loop_shows_the_reason(feed, loop):
    feed(tape="08")

    assert "The loop was rejected by an input filter blocked term: password" in loop("sonnet-4-6.1").part(
        "loop"
    )


def test_a_failed_turn_shows_its_error_once(feed, loop):
    feed(tape="08")

    assert loop("sonnet-4-6.4").part("loop").count("401 invalid x-api-key") == 1


def test_an_interrupted_loop_is_shown_as_aborted(feed, session):
    feed(tape="09", flush=True)

    page = session()

    assert "The recording ends here" in page.text
    assert "cut off" in page.part("loop")
    assert "Aborted" in page.html


def test_a_cancelled_loop_is_shown_as_cancelled(feed, session):
    feed(tape="10")

    assert "cancelled" in session().rows[0]


def test_settings_that_differ_from_the_parent_loop_come_first(feed, loop):
    snapshot = {"model": "m", "provider": "p", "thinking_level": "high", "temperature": 1.0}
    feed(
        *build.small_loop("s.a.1", config_snapshot=snapshot),
        *build.small_loop(
            "s.a.2", parent="s.a.1", kind="Default", config_snapshot=snapshot | {"thinking_level": "low"}
        ),
    )

    page = loop(".2")

    assert "thinking low high temperature 1.0" in page.part("loop")
    assert "<s>high</s>" in page.html


def test_a_denied_tool_call_is_counted_neither_as_run_nor_as_failed(feed, session):
    feed(tape="all-event-types")

    assert "Tool calls 1 Context" in session().text


@pytest.mark.parametrize(
    ("tab", "stylesheets_of_tab"),
    [
        ("events", ["css/session/events.css"]),
        ("json", ["css/session/events.css"]),
        ("timeline", ["css/session/timeline.css"]),
    ],
)
def test_a_tab_loads_its_style_sheets(feed, session, tab, stylesheets_of_tab):
    feed(*build.small_loop())

    loaded = {name: stylesheets(session(query=query)) for name, query in (("", ""), (tab, f"?tab={tab}"))}

    assert loaded[tab] == [*loaded[""], *stylesheets_of_tab]
    assert all(finders.find(path) for path in loaded[tab])


def stylesheets(page):
    links = [e.attributes for e in page.root.walk() if e.attributes.get("rel") == "stylesheet"]
    return [each["href"].removeprefix("/static/") for each in links]
