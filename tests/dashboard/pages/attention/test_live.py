"""The open attention page, and the count on every other: what is pushed is what a reload shows."""

from tests.dashboard.open_page import in_thread
from tests.dashboard.pages.attention.loop_states import asking, failing, finishing
from tests.support import build

ATTENTION = "/p/default-project/attention"


def count(page):
    return next(
        one.attributes["data-attention"]
        for one in page.shown.root.walk()
        if "data-attention" in one.attributes
    )


async def test_an_open_page_shows_what_asks_fails_and_finishes(place, open_page):
    page = await open_page(ATTENTION)
    for events in (asking("s"), failing("t"), finishing("u"), [build.agent_end("s.a.1")]):
        await in_thread(place.feed, *events)
        await page.agree()
    assert count(page) == "2"

    await in_thread(place.feed, build.ours("ApprovalResolved", "s.a.1", decision="granted"))
    await page.agree()
    assert count(page) == "1"


async def test_what_is_marked_as_seen_leaves_the_count_of_every_open_page_of_its_reader(place, open_page):
    await in_thread(place.feed, *failing("s"))
    attention, other = await open_page(ATTENTION), await open_page("/p/default-project/costs")
    assert [count(attention), count(other)] == ["1", "1"]

    moment = next(
        one.attributes["value"] for one in attention.shown.root.walk() if one.attributes.get("name") == "upto"
    )
    answer = await in_thread(
        lambda: place.client.post(f"{ATTENTION}/seen", {"upto": moment}, headers={"HX-Request": "true"})
    )

    assert answer.status_code == 204
    await attention.agree()
    await other.agree()
    assert [count(attention), count(other)] == ["", ""]


async def test_a_later_page_of_a_list_stays_while_others_move(place, open_page):
    await in_thread(place.feed, *asking("s"))
    page = await open_page(f"{ATTENTION}?waiting=999")
    assert "No more open questions." in page.shown.root.html()

    await in_thread(place.feed, *asking("t"), *finishing("u"))
    await page.agree()
