"""The tab Context: links that filter blocks, many loops, and a miss after a call of another loop."""

import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest

from dashboard.live import cached_value
from recorder.ledger import follower
from recorder.models import LedgerBlock, LedgerCall, Session
from tests.recorder.ledger import carried_file
from tests.support import build


@pytest.fixture
def carried(feed):
    feed(*carried_file.events())
    follower.run_all()
    return Session.objects.get()


def query_of(html, name):
    """Return the parameters of the link with a name."""
    (href,) = re.findall(rf'href="([^"]*)"[^>]*>{name}</a>', html)
    return {key: value for key, (value,) in parse_qs(urlsplit(unescape(href)).query).items()}


def test_links_to_a_kind_drop_a_text_and_a_call(carried, session):
    page = session(query="?tab=context&turn=5&q=poetry&call=read")

    assert query_of(page.html, "Carried by tool results") == {
        "tab": "context",
        "turn": "5",
        "kind": "results",
    }
    assert query_of(page.html, "Tool results") == {"tab": "context", "turn": "5", "kind": "tool_result"}
    by_tool = session(query="?tab=context&turn=5&by=tool&call=other")
    assert query_of(by_tool.html, "read_file") == {
        "tab": "context",
        "turn": "5",
        "by": "tool",
        "q": "read_file",
    }


def test_the_sentence_names_the_kind_and_the_tile_adds_up_its_link(carried, session):
    page = session(query="?tab=context")
    assert "The dearest tool result, read_file poetry.lock of turn 3, cost $0.135 over 20 turns" in page.text
    assert re.search(r"Carried by tool results \$0\.135 ", page.text)

    LedgerBlock.objects.filter(kind="tool_result").update(kind="sub_agent_report")
    cached_value.forget()
    page = session(query="?tab=context")
    assert "The dearest sub-agent report, read_file" in page.text
    assert re.search(r"Carried by tool results \$0\.135 ", page.text)
    filtered = session(query="?tab=context&kind=results")
    assert "1 of " in filtered.text
    assert "Sub-agent report" in filtered.text


def test_links_that_keep_the_turn_are_marked_and_others_are_not(carried, session):
    page = session(query="?tab=context&turn=5&q=poetry")

    panel = page.html.split('id="session-context-')[1].split("The film as a table")[0]
    for tag in re.findall(r"<a [^>]*>", panel):
        href = urlsplit(unescape(re.search(r'href="([^"]*)"', tag)[1]))
        if "tab=context&turn=5" in href.query and href.fragment in ("film", "ledger"):
            assert "data-keeps-turn" in tag
    assert not re.search(r'<a [^>]*#misses"[^>]*data-keeps-turn', page.html)
    assert re.search(r'name="turn"\s+value="5"\s+data-keeps-turn', page.html)


@pytest.mark.parametrize(
    ("number", "evidence"),
    [
        (
            carried_file.MISSED_AT,
            "6m 10s passed since the call before; the provider keeps a prefix for 5m 00s.",
        ),
        (carried_file.CALLS, "The call before Read the file . Turn 1 [Summary] The file was read ."),
    ],
)
def test_a_miss_after_a_call_of_another_loop_has_all_its_evidence(feed, session, number, evidence):
    events = carried_file.events()
    cut = next(n for n, each in enumerate(events) if each.get("turn_index") == number - 1)
    later = "s.a.2"
    start = build.agent_start(later, config_snapshot=carried_file.CONFIG)
    feed(*events[:cut], build.agent_end(carried_file.LOOP))
    feed(start, *(each | {"loop_id": later} for each in events[cut:]))
    follower.run_all()
    assert LedgerCall.objects.values("chain").distinct().count() == 1
    scope = LedgerCall.objects.order_by("end_event").last().loop

    page = session(query=f"?tab=context&scope={scope}&turn=1")

    assert evidence in page.text


def test_the_scope_of_many_loops_keeps_the_chosen_one_and_counts_those_left_out(feed, session, monkeypatch):
    monkeypatch.setattr("dashboard.pages.session.context.panel_view.LOOPS_MAX", 5)
    for n in range(8):
        feed(*build.small_loop(f"s.a.{n + 1}"))
    follower.run_all()
    last = LedgerCall.objects.order_by("end_event").last().loop

    page = session(query=f"?tab=context&scope={last}")

    assert re.search(r'aria-current="true">Loop 8</a>', page.html)
    assert "Loop 5" in page.text
    assert "Loop 6" not in page.part(f"session-context-{Session.objects.get().pk}")
    assert "2 later loops not listed" in page.text
