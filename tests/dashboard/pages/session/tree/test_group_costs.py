"""The cost in the header of a parallel group: branches and judge, also while it runs."""

import pytest

from dashboard.live.project_topic import Topic
from recorder.models import EventRecord
from tests.dashboard.open_page import in_thread
from tests.dashboard.pages.session.header.test_cost import LOCAL, one_turn, page_of
from tests.support import build

USED = {"input": 100_000, "output": 0}  # of Sonnet: $0.3


def evaluation(first=1, config=None):
    """Return two branches, a judge and the loop that goes on, in recorded order."""
    a, b, judge = f"s.p.{first}", f"s.p.{first + 1}", f"s.judge.{first}"
    second = {"config": config} if config else {}
    return [
        build.parallel_start(a, b, session="s"),
        *one_turn(a, USED),
        *one_turn(b, USED, **second),
        *one_turn(judge, USED),
        build.parallel_end(a, session="s"),
    ]


def costs(page):
    return [page.part(each.id) for each in page.root.walk() if each.id.startswith("session-group-cost-")]


def test_the_cost_of_a_group_includes_branches_and_judge(feed, see):
    feed(*evaluation())
    feed(*one_turn("s.p.9", USED))
    assert costs(page_of(see, "s.p.1")) == ["$0.900"]


def test_the_cost_of_a_group_with_a_missing_price_is_marked(feed, see):
    feed(*evaluation(config=LOCAL))
    assert costs(page_of(see, "s.p.1")) == ["$0.600 +"]


def test_a_group_without_model_calls_shows_no_cost(feed, see):
    feed(build.parallel_start("s.p.1", "s.p.2", session="s"), build.agent_start("s.p.1"))
    assert costs(page_of(see, "s.p.1")) == [""]


def test_the_cost_of_a_group_as_of_an_event(feed, see):
    feed(*evaluation())
    page = page_of(see, "s.p.1")
    first_branch = EventRecord.objects.filter(type="AgentEnd").order_by("pk").first()
    assert costs(see(f"/p/default/sessions/{first_branch.session_id}?at={first_branch.pk}")) == ["$0.300"]
    assert costs(page) == ["$0.900"]


@pytest.mark.parametrize("opened_after", [2, 6])
async def test_the_pushed_cost_equals_that_of_a_reload(place, open_page, monkeypatch, opened_after):
    monkeypatch.setattr(Topic, "_due", lambda topic, key: 0.0)
    events = [*evaluation(), *evaluation(first=11)]
    await in_thread(lambda: place.feed(*map(build.line, events[:opened_after])))
    page = await open_page((await in_thread(place.loops))[0])
    for event in events[opened_after:]:
        await in_thread(lambda event=event: place.feed(build.line(event)))
        await page.agree()
