"""Open evaluations while branches run: a push equals a reload."""

import pytest

from recorder.models import ParallelGroupRecord
from tests.dashboard.open_page import in_thread
from tests.dashboard.pages.evaluations.branches import branch, end, judge, loop_id, start
from tests.dashboard.pages.evaluations.conftest import text
from tests.support import build


def address(query=""):
    pk = ParallelGroupRecord.objects.latest("pk").pk
    return f"/p/default-project/evaluations/{pk}{query}"


async def opened(place, open_page, *events, query=""):
    await in_thread(place.feed, *events)
    return await open_page(await in_thread(address, query))


def shown(page, dom_id):
    pk = page.path.rpartition("/")[2].partition("?")[0]
    found = page.shown.root.find(f"evaluations-{dom_id}-{pk}")
    return "" if found is None else text(found)


async def test_an_evaluation_moves_from_pending_to_its_winner(place, open_page):
    page = await opened(place, open_page, start(1, 2))
    assert "announced, not started" in shown(page, "lanes")
    story = [
        branch(1, "read a", "One.")[:5],
        branch(1, "read a", "One.")[5:],
        branch(2, "read a", "edit b", "Two."),
        [
            build.agent_start("judge", "s", at=90),
            build.turn_start("judge", at=90),
            build.message_start("judge"),
        ],
        [build.message_update("judge", "Branch 2 is ")],
        [build.message_update("judge", "the better one.")],
        judge("Branch 2 is the better one.")[6:],
        [end(2)],
    ]
    for lines in story:
        await in_thread(place.feed, *lines)
        await page.agree()

    assert "model-2 won." in shown(page, "header")
    assert "Branch 2 is the better one." in shown(page, "judge")
    assert shown(page, "lanes") == ""


async def test_the_judges_text_streams_into_its_lane(place, open_page):
    judging = [build.agent_start("judge", "s"), build.turn_start("judge"), build.message_start("judge")]
    page = await opened(place, open_page, start(1, 2), *branch(1, "One."), *branch(2, "Two."))
    await in_thread(place.feed, *judging)
    await page.agree()
    await in_thread(place.feed, build.message_update("judge", "Branch 2"))
    await page.agree()
    page.shown.pushed.clear()

    await in_thread(place.feed, build.message_update("judge", " is better"))
    await page.agree()

    assert "Branch 2 is better" in shown(page, "lanes")
    assert [name for name in page.shown.pushed if name.startswith("shared-text-block-")]


@pytest.mark.parametrize("query", ["?only=diff&answer=raw", "?branches=2,5&answer=diff"])
async def test_every_display_mode_is_live(place, open_page, query):
    numbers = range(1, 9)
    page = await opened(place, open_page, start(*numbers), query=query)

    for n in numbers:
        await in_thread(place.feed, *branch(n, "read a", f"bash {n}", f"It is {n}."))
        await page.agree()
    await in_thread(place.feed, *judge("5"), end(5))
    await page.agree()

    assert "model-5 won." in shown(page, "header")


async def test_an_aborted_group_is_shown_on_the_open_page(place, open_page):
    page = await opened(place, open_page, start(1, 2), build.agent_start(loop_id(1)))

    await in_thread(place.flush)
    await page.agree()

    assert "Ended without a selection." in shown(page, "header")


async def test_later_loops_of_the_session_do_not_render_the_lanes(place, open_page):
    page = await opened(place, open_page, start(1, 2), *branch(1, "One."), *branch(2, "Two."), end(1))

    await in_thread(place.feed, *build.small_loop("s.later.1", parent=loop_id(1), kind="Default"))
    await in_thread(place.feed, start(1, 2), *branch(1, "Again."))
    await page.agree()

    assert shown(page, "lanes") == ""
    assert any(name.startswith("evaluations-header") for name in page.shown.pushed)


async def test_the_list_follows_its_rows_and_counts_new_ones(place, open_page):
    await in_thread(place.feed, start(1, 2), *branch(1, "One."))
    page = await open_page("/p/default-project/evaluations")
    pk = await in_thread(lambda: ParallelGroupRecord.objects.get().pk)

    await in_thread(place.feed, *branch(2, "Two."), *judge("2"), end(2))
    while "Judged" not in text(page.shown.root.find(f"evaluations-row-{pk}")):
        await page.receive()
    await in_thread(place.feed, build.parallel_start("t.a.1", "t.b.2"))
    while "Show 1 new evaluation" not in text(page.shown.root.find(f"shared-new-items-{pk}")):
        await page.receive()

    fresh = await open_page("/p/default-project/evaluations")
    row = f"evaluations-row-{pk}"
    assert page.shown.root.find(row).html() == fresh.shown.root.find(row).html()
