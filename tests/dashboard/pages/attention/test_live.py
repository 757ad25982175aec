"""The open attention page, and the count on every other page: a push equals a reload."""

from tests.dashboard.open_page import in_thread
from tests.dashboard.pages.attention.loop_states import approval_request, failing, finishing
from tests.support import build

ATTENTION = "/p/default-project/attention"


def count(page):
    return next(
        one.attributes["data-attention"]
        for one in page.shown.root.walk()
        if "data-attention" in one.attributes
    )


async def test_an_open_page_shows_new_questions_failures_and_finished_sessions(place, open_page):
    await in_thread(place.feed, *build.small_loop("old.a.1"))  # the menus offer its agent
    page = await open_page(ATTENTION)
    for events in (approval_request("s"), failing("t"), finishing("u"), [build.agent_end("s.a.1")]):
        await in_thread(place.feed, *events)
        await page.agree()
    assert count(page) == "2"

    await in_thread(place.feed, build.ours("ApprovalResolved", "s.a.1", decision="granted"))
    await page.agree()
    assert count(page) == "1"


async def test_marking_as_read_updates_the_count_of_every_open_page_of_the_user(place, open_page):
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
    await in_thread(place.feed, *approval_request("s"))
    page = await open_page(f"{ATTENTION}?waiting=999")
    assert "No more open questions." in page.shown.root.html()

    await in_thread(place.feed, *approval_request("t"), *finishing("u"))
    await page.agree()
