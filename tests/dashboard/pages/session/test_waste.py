"""Marks of waste on the session page: in the tree, the timeline, the conversation and the tab Context."""

import re

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.http import QueryDict
from django.test.utils import CaptureQueriesContext

from dashboard.pages.session.conversation.queries import turns as turns_query
from dashboard.pages.session.live import open_page
from recorder.models import LoopRecord, Session, ToolCall, Turn, Waste, WastedCall
from recorder.pubsub.invalidation import Invalidation
from recorder.waste import follower
from tests.dashboard.repeated_calls import TOKENS, repeating
from tests.support import build

HOSTILE = '"><img src=x onerror=alert(1)>'
SAME = "same call as in turn 1, result unchanged"


@pytest.fixture
def repeat(feed):
    """Record a loop that repeats itself, and look for waste."""

    def repeat(*args, **fields):
        feed(*repeating(*args, **fields))
        follower.run_all()

    return repeat


def marked(page):
    """Return the words of the marks at tool calls, by the anchor of the call."""
    calls = re.findall(r'<details class="tool[^>]*id="(session-tool-\d+)".*?</summary>', page.html, re.S)
    found = {}
    for anchor in calls:
        summary = page.html.partition(f'id="{anchor}"')[2].partition("</summary>")[0]
        words = re.search(
            r'class="text-tone tone-rejected tool-waste">.*?>([^<]+)</(?:a|span)>', summary, re.S
        )
        found[anchor] = words[1] if words else ""
    return found


def test_calls_that_repeat_are_marked_with_a_link_to_the_first(repeat, session):
    repeat()
    page = session()

    first, *others = ToolCall.objects.order_by("pk")
    loop = LoopRecord.objects.get()
    assert marked(page) == {
        f"session-tool-{first.pk}": "",
        **{f"session-tool-{each.pk}": SAME for each in others},
    }
    url = f"/p/default/sessions/{loop.session_id}/loops/{loop.pk}?turn=1#session-tool-{first.pk}"
    assert page.links.count(url) == len(others)


def test_a_turn_that_is_waste_as_a_whole_is_marked_in_its_header(feed, session):
    message = build.assistant("A long answ", stop="length", tokens=TOKENS)
    feed(build.agent_start(), build.turn_start(), build.turn_end(message=message, tokens=TOKENS))
    follower.run_all()

    turn = Turn.objects.get()
    header = session().html.partition('id="turn-1"')[2].partition("</header>")[0]
    assert "output cut at its limit" in header
    assert not re.search(rf'href="[^"]*#turn-{turn.ordinal + 1}"', header)


def test_the_flag_of_a_loop_counts_its_wasted_calls_and_says_what_they_cost(repeat, session):
    repeat()
    row = session().html.partition('id="session-loop-row-')[2].partition('class="tree-extras"')[0]

    assert 'title="grep: same call 4 times, 3.0k tokens, $0.0090"' in row
    assert re.search(r'aria-label="Waste:".*?</svg>3</span>', row, re.S)


def test_a_session_without_waste_has_no_mark_and_its_page_no_byte_more(feed, session):
    feed(*repeating(times=2))
    follower.run_all()

    assert not Waste.objects.exists()
    html = session().html
    assert "rotate-ccw" not in html
    assert "tool-waste" not in html


def test_the_timeline_marks_lanes_turns_and_the_repeats(repeat, session):
    repeat()
    page = session(query="?tab=timeline")

    lanes, own = page.html.split('class="waterfall waterfall-loop"')
    assert 'class="span-waste"' in lanes
    assert "grep: same call 4 times" in lanes
    assert own.count(f'title="{SAME}"') == 3
    assert own.count('class="span-waste"') == 3
    assert "</i>waste" in lanes


def test_the_tab_context_lists_findings_by_cost_with_links_to_each_call(repeat, session):
    repeat("s.a.1", times=3)
    repeat("s.a.2", times=4, name="find", args={"pattern": "x"})
    page = session(query="?tab=context")

    table = page.html.partition('id="waste"')[2].partition("</section>")[0]
    names = re.findall(r'<code class="clip"[^>]*title="([^"]*)"', table)
    assert names == ["find", "grep"]
    assert "5 calls that brought nothing new, 5.0k tokens, $0.0150" in page.text
    places = re.findall(r"#session-tool-(\d+)", table)
    assert places == [str(each.pk) for name in names for each in ToolCall.objects.filter(tool_name=name)]
    assert table.count("alarm</span>") == 1
    one = session(query=f"?tab=context&scope={LoopRecord.objects.get(loop_id='s.a.1').pk}").html
    assert re.findall(r'<code class="clip"[^>]*title="([^"]*)"', one.partition('id="waste"')[2]) == ["grep"]


def test_names_of_tools_are_escaped_everywhere(repeat, session):
    repeat(name="get" + HOSTILE)
    assert Waste.objects.exists()
    for query in ("", "?tab=timeline", "?tab=context"):
        html = session(query=query).html
        assert "&lt;img src=x" in html
        assert "<img src=x" not in html


def test_as_of_an_event_later_calls_are_not_marked(repeat, session):
    repeat(times=5)
    third = ToolCall.objects.order_by("pk")[2]

    page = session(query=f"?at={third.end_event}")

    assert list(marked(page).values()) == ["", SAME, SAME]
    # The turn of the third call still runs there.
    assert "grep: same call 3 times, 1.0k tokens, $0.0030 +" in page.html
    before = session(query=f"?at={ToolCall.objects.order_by('pk')[0].end_event}")
    assert "rotate-ccw" not in before.html
    context = session(query=f"?tab=context&at={third.end_event}")
    assert "2 calls that brought nothing new" in context.text
    assert "alarm</span>" not in context.html


def test_as_of_an_event_only_what_had_been_found_then_is_shown(feed, session):
    failed = build.assistant(stop="error", error="529 overloaded", tokens=TOKENS)
    feed(build.agent_start())
    for index, message in enumerate((failed, failed, build.assistant("Done.", tokens=TOKENS))):
        feed(
            build.turn_start(index=index),
            build.turn_end(message=message, tokens=TOKENS, turn_index=index),
        )
    follower.run_all()
    assert Waste.objects.get().times == 2

    ends = Turn.objects.order_by("ordinal").values_list("end_event", flat=True)
    shown = [session(query=f"?tab=context&at={end}").html.partition('id="waste"')[2] for end in ends]

    assert [re.findall(r"(\d) calls? that brought nothing new", each) for each in shown] == [[], ["1"], ["2"]]


def test_as_of_an_event_the_second_of_three_equal_calls_is_no_waste_yet(repeat, session):
    repeat(times=3)
    second = ToolCall.objects.order_by("pk")[1]
    page = session(query=f"?at={second.end_event}")
    assert list(marked(page).values()) == ["", ""]
    assert "rotate-ccw" not in page.html


def test_a_call_without_a_price_is_counted_and_adds_no_money(feed, session):
    feed(*(event for event in repeating() if event["type"] != "TurnEnd"))
    follower.run_all()
    assert WastedCall.objects.count() == 3

    row = session().html.partition('id="session-loop-row-')[2].partition('class="tree-extras"')[0]

    assert "0 tokens, no price" in row


def opened(project, query):
    session, loop = Session.objects.get(), LoopRecord.objects.get()
    page = open_page(project, AnonymousUser(), QueryDict(f"session={session.pk}&loop={loop.pk}&{query}"))
    page.dirty_panels(None)
    return page


def dirty(page, **touched):
    return {panel.name: pks for panel, pks in page.dirty_panels(Invalidation(page.project, **touched)) if pks}


def test_only_loops_and_turns_that_changed_lately_are_drawn_again(project, repeat):
    repeat()
    page, loop, turns = opened(project, "tab=conversation"), LoopRecord.objects.get(), Turn.objects.all()
    last = turns.latest("pk")

    assert dirty(page, wastes={page.session}) == {}
    dirty(page, sessions={page.session}, loops={loop.pk: page.session}, turns={last.pk: loop.pk})
    assert dirty(page, wastes={page.session + 1}) == {}
    for _ in range(2):  # the search may have been behind the first time
        found = dirty(page, wastes={page.session})
        assert found == {"session/tree/loop-row": [loop.pk], "session/conversation/turn": [last.pk]}
    assert dirty(page, wastes={page.session}) == {}

    dirty(page, sessions={page.session}, reshaped={page.session}, loops={loop.pk: page.session})
    found = dirty(page, wastes={page.session})
    assert found["session/tree/tree"] == [page.session]
    assert found["session/conversation/turn"] == sorted(turn.pk for turn in turns)


def test_the_marks_of_turns_and_calls_take_no_query_of_their_own(feed, django_assert_num_queries):
    feed(*repeating(times=5))
    pks = list(Turn.objects.values_list("pk", flat=True))
    with CaptureQueriesContext(connection) as before:
        turns_query.views(turns_query.sources(pks).values())
    follower.run_all()
    with django_assert_num_queries(len(before)):
        found = turns_query.views(turns_query.sources(pks).values())
    assert [item.waste is not None for turn in pks for item in found[turn].items if item.part == "tool"] == [
        False,
        *[True] * 4,
    ]
