"""Where a loop has several configs or agents, the session page goes by the turn's."""

import re

import pytest

from dashboard.live.project_topic import Topic
from recorder.models import LoopRecord
from tests.dashboard.open_page import in_thread
from tests.support import build

HAIKU, SONNET = "claude-haiku-4-5", "claude-sonnet-4-5"


def headers(page):
    """Return the model and the agent that the header of each turn names."""
    found = [e for e in page.root.walk() if re.fullmatch(r"turn-\d+", e.id)]
    names = [
        [e for e in header.elements if "turn-config" in e.attributes.get("class", "")] for header in found
    ]
    return [[e.attributes["title"] for e in of_turn] for of_turn in names]


def swatches(element):
    return re.findall(r'class="swatch (config-\d+)"', element.html())


def lanes(page):
    """Return the classes of the bars of each lane, first those of the loops, then those of the turns."""
    found = [e for e in page.root.walk() if "waterfall-bars" in e.attributes.get("class", "")]
    return [(e.attributes["class"], [bar.attributes["class"] for bar in e.elements]) for e in found]


def test_a_turn_names_its_config_and_agent_where_they_change(feed, session):
    feed(*build.handed_over())
    assert headers(session()) == [[], [SONNET, "Agent expert"], [HAIKU, "Agent agent-a"]]


def test_a_loop_of_one_config_and_agent_names_none_in_its_turns(feed, session):
    feed(*build.small_loop(config_snapshot={"model": "claude-sonnet-4-6", "provider": "anthropic"}))
    assert headers(session()) == [[]]


def test_an_agent_is_named_from_the_start_of_its_turn(feed, session):
    feed(*build.handed_over()[:5])
    assert headers(session()) == [[], ["Agent expert"]]


def test_the_row_and_the_header_of_a_loop_name_all_configs_and_agents(feed, session):
    feed(*build.handed_over())
    page, loop = session(), LoopRecord.objects.get()

    row = page.root.find(f"session-loop-row-{loop.pk}")
    assert swatches(row) == ["config-1", "config-2"]
    assert f'aria-label="{SONNET}"' in row.html()
    assert 'title="Agents agent-a, expert"' in row.html()
    head = page.part(f"session-loop-head-{loop.pk}")
    assert HAIKU in head
    assert SONNET in head
    assert "Agents agent-a, expert" in head


def test_the_row_of_a_sub_agent_names_all_configs(feed, session):
    feed(build.agent_start(), build.turn_start(), build.tool_start())
    feed(*build.handed_over("t.a.1"))
    feed(build.tool_end(child="t.a.1"), build.turn_end())

    page = session("s")
    row = next(e for e in page.root.walk() if "tree-child" in e.attributes.get("class", ""))
    assert swatches(row) == ["config-1", "config-2"]


def test_bars_of_the_timeline_have_the_colour_of_the_turn(feed, session):
    feed(*build.handed_over())
    page = session(query="?tab=timeline")

    (of_loop, *of_turns) = lanes(page)
    assert of_loop == ("waterfall-bars config-1", ["span-model", "span-model config-2"])
    assert [bars for _, bars in of_turns] == [["span-model"], ["span-model config-2"], ["span-model"]]
    parts = [e for e in page.root.walk() if "waterfall-label" in e.attributes.get("class", "")]
    assert [SONNET in part.html() for part in parts[1:]] == [False, True, False]


def test_an_open_turn_has_the_colour_of_the_last_turn_of_its_agent(feed, session):
    events = build.handed_over()
    feed(*events[:6], build.turn_start(index=2, at=20))  # the expert goes on

    *_, (_, open_turn) = lanes(session(query="?tab=timeline"))
    assert open_turn == ["span-model config-2"]


def test_configs_of_one_chart_never_have_the_same_colour(feed, session):
    """A project's 17th config has the colour of the first, unless one chart shows both."""
    for number in range(16):
        feed(*build.small_loop(f"o{number}.a.1", config_snapshot={"model": f"m{number}", "provider": "p"}))
    feed(*build.handed_over(models=("m0", "m16", "m0")))

    _, of_turns = lanes(session("s", "?tab=timeline"))[0]
    assert len(set(of_turns)) == 2
    bars = [e for e in session("s").root.walk() if e.tag == "rect" and "config-" in e.attributes["class"]]
    first, expert, last = (bar.attributes["class"] for bar in bars)
    assert first == last != expert


def test_bars_of_the_replay_track_change_their_colour(feed, session):
    feed(*build.handed_over())
    bars = [e.attributes for e in session().root.walk() if e.tag == "rect" and e.attributes["height"] == "3"]

    assert [bar["class"] for bar in bars] == ["config-1", "config-2", "config-1"]
    assert len({bar["y"] for bar in bars}) == 1
    ends = [float(bar["x"]) + float(bar["width"]) for bar in bars]
    assert [float(bar["x"]) for bar in bars] == pytest.approx([0, *ends[:-1]], abs=0.2)


async def test_what_is_pushed_after_a_hand_off_is_what_a_reload_shows(place, open_page, monkeypatch):
    monkeypatch.setattr(Topic, "_due", lambda topic, key: 0.0)
    events = build.handed_over()
    await in_thread(place.feed, *events[:3])
    (path,) = await in_thread(place.loops)
    pages = [await open_page(path), await open_page(f"{path}?tab=timeline")]
    for event in events[3:]:
        await in_thread(place.feed, event)
        for page in pages:
            await page.agree()
