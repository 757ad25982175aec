"""Waste on the attention page: alarms, read markers, the kind, the file, and the fourth repeat live."""

import csv
import io
import re

import pytest
from django.contrib.auth.models import User

from dashboard.lifecycle.events import LifecycleReducer
from dashboard.pages.attention.queries import wastes
from dashboard.shared.queries.attention import Counts
from recorder.models import LoopRecord, Session, ToolCall, Waste, WasteReadMark
from recorder.pubsub.invalidation import Invalidation, publish
from recorder.waste import follower
from tests.dashboard.open_page import in_thread
from tests.dashboard.pages.attention.loop_states import failing
from tests.dashboard.repeated_calls import repeating
from tests.support import build

ATTENTION = "/p/default-project/attention"
HOSTILE = '"><img src=x onerror=alert(1)>'


def section(html):
    return html.partition('<section class="section" id="attention-waste-')[2].partition("</section>")[0]


def badge(html):
    return re.search(r'data-attention="(.*?)"', html)[1]


@pytest.fixture
def repeat(feed):
    """Record a loop that repeats itself, and look for waste."""

    def repeat(*args, **fields):
        feed(*repeating(*args, **fields))
        follower.run_all()

    return repeat


def test_the_third_repeat_is_no_alarm_and_the_fourth_is_one_with_its_cost_and_a_link(repeat, feed, see):
    repeat(times=3)
    assert "No waste." in section(see())
    assert badge(see()) == ""

    feed(*repeating(times=1, first=3))
    follower.run_all()
    shown = section(see())

    assert "same call 4 times" in shown
    assert "3.0k tokens, $0.0090" in shown
    last, loop = ToolCall.objects.latest("pk"), LoopRecord.objects.get()
    assert (
        f'href="/p/default/sessions/{loop.session_id}/loops/{loop.pk}?turn=4#session-tool-{last.pk}"' in shown
    )
    assert badge(see()) == "1"


def test_an_alarm_is_unread_until_the_user_marks_it_and_again_after_a_rebuild(repeat, see, client, reader):
    repeat("s.a.1")
    repeat("t.a.1")
    first, second = Waste.objects.order_by("pk")

    assert client.post("/p/default/attention/seen", {"alarm": first.pk}).status_code == 302

    assert badge(see()) == "1"
    assert "2, 1 unread" in re.sub(r"\s+", " ", section(see()))
    assert WasteReadMark.objects.get().line == first.alarm_line
    upto = re.search(r'name="alarms_upto" value="([^"]*)"', section(see()))[1]
    client.post("/p/default/attention/seen", {"alarms_upto": upto})
    assert badge(see()) == ""
    assert "2, all read" in re.sub(r"\s+", " ", section(see()))
    other = User.objects.create_user("other")
    project = Session.objects.first().project
    assert Counts(project.pk)([other.pk])[other.pk].wastes == 2
    assert second.alarm_line in WasteReadMark.objects.values_list("line", flat=True)


def test_marks_of_other_projects_and_of_no_alarm_change_nothing(repeat, see, client):
    repeat(times=3)
    see()
    client.post("/p/default/attention/seen", {"alarm": Waste.objects.get().pk})
    client.post("/p/default/attention/seen", {"alarm": 10**9})
    assert not WasteReadMark.objects.exists()


def test_a_kind_shows_its_part_alone_also_in_the_file(repeat, feed, see, client):
    repeat()
    feed(*failing("fails"))

    html = see("?kind=waste")
    assert "same call 4 times" in section(html)
    assert "attention-failed-" not in html
    assert "attention-waiting-" not in html
    assert "kind=waste" in html.partition("ws-connect")[2].partition(">")[0]
    assert "attention-waste-" not in see("?kind=failed")
    assert "attention-waste-" in see("?kind=unknown")

    text = b"".join(client.get("/p/default/attention.csv?kind=waste")).decode()
    (row,) = csv.DictReader(io.StringIO(text.lstrip("\ufeff")))
    assert row["list"] == "waste"
    assert (row["rule"], row["name"], row["times"]) == ("same_call", "grep", "4")
    assert (row["tokens"], row["cost_usd"]) == ("3000", "0.009000000")
    everything = b"".join(client.get("/p/default/attention.csv")).decode()
    assert [each["list"] for each in csv.DictReader(io.StringIO(everything.lstrip("\ufeff")))] == [
        "waste",
        "failed",
    ]


def test_the_query_selects_the_sessions_of_alarms(repeat, see):
    repeat("s.a.1")
    repeat("t.a.1")
    assert section(see("?q=session:s")).count("<li") == 1
    assert section(see("?q=is:wasteful")).count("<li") == 2
    assert section(see("?q=-has:waste")).count("<li") == 0


def test_pages_of_alarms_and_names_are_escaped(repeat, feed, see, monkeypatch):
    monkeypatch.setattr(wastes, "PAGE", 2)
    for n in range(3):
        feed(*repeating(f"s{n}.a.1", name="get" + HOSTILE))
    follower.run_all()

    first = section(see())
    after = re.search(r'href="(\?waste=[^"]+)"', first)[1]

    assert first.count("<li") == 2
    assert section(see(after)).count("<li") == 1
    assert "&lt;img src=x" in first
    assert "<img src=x" not in first


def test_an_alarm_notifies_once_and_history_does_not(repeat, feed):
    reducer = LifecycleReducer()
    project = Session.objects.first() or None
    repeat()
    waste = Waste.objects.get()
    project = waste.project_id

    (event,) = reducer.feed([Invalidation(project, alarms={waste.pk: waste.loop})])

    assert event.project == project
    assert event.frame["type"] == "waste-found"
    assert event.frame["rule"] == "same_call"
    assert event.frame["url"].endswith(f"?turn=4#session-tool-{ToolCall.objects.latest('pk').pk}")
    assert reducer.feed([Invalidation(project, wastes={waste.session})]) == []
    feed(*(dict(each, loop_id="old.a.1", timestamp=build.time(0)) for each in repeating("old.a.1")))
    follower.run_all()
    old = Waste.objects.latest("pk")
    assert old.alarm_line is not None
    assert reducer.feed([Invalidation(project, alarms={old.pk: old.loop})]) == []
    assert Counts(project)([0])[0].wastes == 1


def search(place):
    """Look for waste and publish what changed, as the writer does in its idle time."""
    looking = follower.Follower(is_patient=True)
    while looking.step():
        pass
    for project, sessions in looking.touched.items():
        publish(Invalidation(project, wastes=sessions, alarms=looking.new_alarms(project)))


async def test_the_fourth_repeat_appears_on_open_pages_and_the_session_page_marks_it(place, open_page):
    await in_thread(place.feed, *repeating(times=3))
    await in_thread(search, place)
    (loop,) = await in_thread(place.loops)
    pages = [await open_page(path) for path in (ATTENTION, f"{ATTENTION}?kind=waste", loop)]
    timeline = await open_page(f"{loop}?tab=timeline")
    assert all(badge(page.shown.root.html()) == "" for page in pages)

    await in_thread(place.feed, *repeating(times=1, first=3))
    await in_thread(search, place)

    for page in (*pages, timeline):
        await page.agree()
        assert badge(page.shown.root.html()) == "1"
    attention, alone, session = (page.shown.root.html() for page in pages)
    assert "same call 4 times" in attention
    assert "same call 4 times" in alone
    assert session.count("same call as in turn 1, result unchanged") == 3


async def test_a_read_alarm_leaves_the_badge_of_every_open_page(place, open_page):
    await in_thread(place.feed, *repeating())
    await in_thread(search, place)
    attention, costs = await open_page(ATTENTION), await open_page("/p/default-project/costs")
    assert [badge(page.shown.root.html()) for page in (attention, costs)] == ["1", "1"]

    pk = (await in_thread(Waste.objects.get)).pk
    mark = {"alarm": pk}
    answer = await in_thread(
        lambda: place.client.post(f"{ATTENTION}/seen", mark, headers={"HX-Request": "true"})
    )

    assert answer.status_code == 204
    for page in (attention, costs):
        await page.agree()
        assert badge(page.shown.root.html()) == ""
