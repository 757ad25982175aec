"""The list of compactions: totals, filters, pages, and live updates."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from recorder.models import Compaction, ModelConfig, Session
from tests.dashboard.open_page import in_thread
from tests.dashboard.pages.compactions.conftest import reread
from tests.support import build


def found(page):
    """Return the rows of a list from top to bottom: the passes' keys."""
    rows = [e.id for e in page.root.walk() if e.id.startswith("compactions-row-")]
    return [int(name.rpartition("-")[2]) for name in rows]


def whole(n, model="claude-sonnet-4-6"):
    name = f"s{n}.a.1"
    snapshot = {"model": model, "provider": "anthropic"}
    passed = [build.compaction_started(name), build.compaction_ended(name)]
    return [
        build.agent_start(name, config_snapshot=snapshot),
        build.turn_start(name),
        *passed,
        build.agent_end(name),
    ]


def test_an_empty_project_explains_when_compactions_are_recorded(see):
    assert "No compactions recorded yet." in see("/p/default/compactions").text


def test_totals_are_by_config_and_agent(feed, see):
    feed(tape="06")
    feed(tape="07")
    feed(*reread())
    page = see("/p/default/compactions")

    assert "Compactions 5 in 3 sessions" in page.text
    # 5031 + 1729 + 5031 + 6286 + 20100 and 461 + 261 + 5031 + 1076 + 6100
    assert "Reported tokens 38.2k → 12.9k 66% smaller" in page.text
    assert "Without effect 1 self-reported" in page.text
    assert "Highest net savings s in loop 1, turn 3, 2 calls since $0.0462" in page.text
    assert "claude-sonnet-4-6 4 2 18.1k → 6.8k 62% 1" in page.text
    assert "agent-a 1 1 20.1k → 6.1k 70% 0" in page.text


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [2, 1, 4, 3]),  # those of the tape happened later
        ("?agent=agent-a", [4, 3]),
        ("?agent=nobody", []),
        ("?config={opus}", [4]),
        ("?session={first}", [2, 1]),
        ("?since=24h", []),
        ("?since=what&before=x&session=y", [2, 1, 4, 3]),
    ],
)
def test_filters_are_in_the_query_string(feed, see, query, expected):
    feed(tape="06")
    feed(*whole(1), *whole(2, "claude-opus-4-6"))
    every = list(Compaction.objects.order_by("pk").values_list("pk", flat=True))
    opus = ModelConfig.objects.get(model="claude-opus-4-6").key
    page = see(f"/p/default/compactions{query.format(opus=opus, first=Session.objects.earliest('pk').pk)}")

    assert found(page) == [every[n - 1] for n in expected]
    assert expected or "No compactions " in page.text


@pytest.mark.parametrize(
    "query", ["", "?agent=agent-a", "?config={opus}", "?session={first}", "?config={opus}&agent=agent-a"]
)
def test_tile_and_sums_count_the_rows_of_the_list(feed, see, query):
    feed(tape="06")
    feed(*whole(1), *whole(2, "claude-opus-4-6"))
    opus = ModelConfig.objects.get(model="claude-opus-4-6").key
    page = see(f"/p/default/compactions{query.format(opus=opus, first=Session.objects.earliest('pk').pk)}")
    rows = len(found(page))
    assert rows
    assert f"Compactions {rows} in " in page.text
    assert f"1 to {rows} of {rows} compaction" in page.text
    assert sums(page, "By config") == sums(page, "By agent") == rows


def sums(page, label):
    """Return the sum of the compactions in a table."""
    (table,) = [e for e in page.root.walk() if e.attributes.get("aria-label") == label]
    body = next(e for e in table.walk() if e.tag == "tbody")
    return sum(int(row.elements[1].children[0]) for row in body.elements)


@pytest.mark.parametrize(
    ("model", "agent", "expected"),
    [
        ("", "", [4, 3, 2, 1]),
        ("claude-haiku-4-5", "", [4, 3, 1]),
        ("claude-sonnet-4-5", "", [2]),
        ("", "agent-a", [4, 3, 1]),
        ("", "expert", [2]),
        ("claude-sonnet-4-5", "agent-a", []),
    ],
)
def test_filters_go_by_the_config_and_agent_of_the_turn(feed, see, client, model, agent, expected):
    """A compaction in the first turn, one in the expert's, one after the last turn, and one as a loop."""
    events = build.handed_over()
    for index in (9, 5, 2):
        events[index:index] = [build.compaction_started(), build.compaction_ended()]
    feed(*events, build.agent_start("s.a.2", parent="s.a.1", kind="Compaction"))
    feed(build.compaction_started("s.a.2"), build.compaction_ended("s.a.2"), build.agent_end("s.a.2"))
    every = list(Compaction.objects.order_by("pk").values_list("pk", flat=True))
    keys = dict(ModelConfig.objects.values_list("model", "key"))

    page = see(f"/p/default/compactions?config={keys.get(model, '')}&agent={agent}")

    assert found(page) == [every[n - 1] for n in expected]
    boxes = [e.attributes for e in page.root.walk() if e.attributes.get("type") == "checkbox"]
    options = [box["value"] for box in boxes if "name" in box]  # the one without a name shows the filters
    assert {*keys.values(), "agent-a", "expert"} <= set(options)
    query = " ".join(f"{key}:{value}" for key, value in (("model", model), ("agent", agent)) if value)
    assert found(see(f"/p/default/compactions?q={query}")) == found(page)
    listed = client.get("/api/v1/compactions", {"q": query}).json()["items"]
    assert len(listed) == len(expected)


def test_pages_link_forward_and_back(feed, see):
    name = "s.a.1"
    story = [build.compaction_started(name), build.compaction_ended(name)] * 120
    feed(build.agent_start(name), *story)

    first = see("/p/default/compactions")
    second = see("/p/default/compactions" + next(link for link in first.links if "before=" in link))
    third = see("/p/default/compactions" + next(link for link in second.links if "before=" in link))
    back = see("/p/default/compactions" + next(link for link in third.links if "after=" in link))

    assert [len(found(page)) for page in (first, second, third)] == [50, 50, 20]
    assert found(back) == found(second)
    assert "120 compactions" in first.text
    assert not [link for link in third.links if "before=" in link]


def test_the_newest_is_first_in_whatever_order_they_came(feed, see):
    for n, at in ((1, 50), (2, 90), (3, 10)):
        name = f"s{n}.a.1"
        feed(
            build.agent_start(name),
            build.compaction_started(name, at=at),
            build.compaction_ended(name, at=at + 1),
            build.agent_end(name, timestamp=build.time(99)),
        )

    first, second, third = Compaction.objects.order_by("pk").values_list("pk", flat=True)
    assert found(see("/p/default/compactions")) == [second, first, third]


def test_fifty_rows_take_as_many_queries_as_one(feed, reader):
    counts = []
    for first, last in ((0, 1), (1, 50)):
        feed(*(event for n in range(first, last) for event in whole(n)))
        reader.get("/p/default/compactions")
        with CaptureQueriesContext(connection) as queries:
            reader.get("/p/default/compactions")
        counts.append(len(queries))
    assert counts[0] == counts[1]
    assert counts[1] <= 40


def test_only_members_see_the_list(reader):
    assert reader.get("/p/other/compactions").status_code == 404
    reader.logout()
    assert reader.get("/p/default/compactions").status_code == 302


def test_names_of_agents_are_text(feed, see):
    name = "s.a.1"
    feed({**build.agent_start(name), "agent_id": "<img src=x>"}, build.compaction_ended(name))

    assert "<img src=x>" not in see("/p/default/compactions").html


async def test_new_compactions_are_counted_and_rows_are_updated(place, open_page):
    events = reread()
    at = next(n for n, event in enumerate(events) if event["type"] == "CompactionEnded")
    await in_thread(place.feed, *events[:at])
    page = await open_page("/p/default-project/compactions")
    row = f"compactions-row-{(await in_thread(Compaction.objects.latest, 'pk')).pk}"

    await in_thread(place.feed, *events[at:])
    while "$0.0462" not in page.shown.root.find(row).html():
        await page.receive()
    await in_thread(place.feed, *whole(2))
    while "Show 1 new compaction" not in page.shown.root.html():
        await page.receive()
