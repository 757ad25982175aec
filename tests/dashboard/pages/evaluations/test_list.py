"""The list of evaluations: filters, pages, empty states."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from recorder.models import ModelConfig, ParallelGroupRecord
from tests.dashboard.pages.evaluations.branches import branch, end, judge, loop_id, start
from tests.dashboard.pages.evaluations.conftest import text
from tests.support import build


@pytest.fixture
def three(feed):
    """Record one evaluation that was judged, one decided by a rule and one fallback."""
    for n, (reply, winner) in enumerate([("1", 1), (None, 2), ("neither", 1)]):
        heard = [] if reply is None else judge(reply, f"judge-{n}")
        feed(start(1, 2), *branch(1, "One."), *branch(2, "Two."), *heard, end(winner))


def found(page):
    rows = [e for e in page.root.walk() if e.id.startswith("evaluations-row-")]
    return sorted(int(row.id.rpartition("-")[2]) for row in rows)


def test_an_empty_project_explains_evaluations(see):
    assert "No evaluations recorded yet." in see("/p/default/evaluations").text


def test_every_evaluation_is_listed_newest_first_with_its_verdict(three, see):
    page = see("/p/default/evaluations")
    rows = [text(e) for e in page.root.walk() if e.id.startswith("evaluations-row-")]

    assert [verdict for row in rows for verdict in ("Judged", "By rule", "Fallback") if verdict in row] == [
        "Fallback",
        "By rule",
        "Judged",
    ]
    assert "3 evaluations" in page.text


def test_evaluations_are_sorted_by_their_time_not_by_their_arrival(feed, see):
    starts = [30, 10, 20]
    for n, at in enumerate(starts):
        feed(build.parallel_start(f"s{n}.a.1", f"s{n}.b.2", at=at))

    page = see("/p/default/evaluations")
    listed = [e.id for e in page.root.walk() if e.id.startswith("evaluations-row-")]
    by_arrival = list(ParallelGroupRecord.objects.order_by("pk").values_list("pk", flat=True))
    assert listed == [f"evaluations-row-{by_arrival[n]}" for n in (0, 2, 1)]


def test_the_runner_ups_cost_is_beside_the_winners(feed, see):
    costs = {loop_id(1): 0.05, loop_id(2): 0.02, loop_id(3): 0.03}
    events = [
        start(1, 2, 3),
        *branch(1, "One."),
        *branch(2, "Two."),
        *branch(3, "Three."),
        *judge("1"),
        end(1),
    ]
    for event in events:
        if event["type"] == "TurnEnd" and (cost := costs.get(event.get("loop_id"))):
            event["cost"] = cost
    feed(*events)

    row = next(e for e in see("/p/default/evaluations").root.walk() if e.id.startswith("evaluations-row-"))
    assert "$0.0500 $0.0200 $0.0300 less" in " ".join(text(row).split())


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("verdict=judged", [0]),
        ("verdict=rule", [1]),
        ("verdict=none", []),
        ("verdict=nonsense&since=nonsense&before=x", [0, 1, 2]),
        ("winner={one}", [0, 2]),
        ("config={two}&winner={two}", [1]),
        ("config={one}&config={two}", [0, 1, 2]),
        ("config={one}&config=unknown", []),
        ("config=unknown", []),
        ("since=24h", []),
        ("q=input:>20", [0, 2]),
        ("q=-cost:>0", []),
        ("session={session}", [0, 1, 2]),
        ("session=0", [0, 1, 2]),
        ("session=999", []),
    ],
)
def test_filters_are_in_the_query_string(three, see, query, expected):
    every = list(ParallelGroupRecord.objects.order_by("pk").values_list("pk", flat=True))
    one, two = (ModelConfig.objects.get(model=f"model-{n}").key for n in (1, 2))
    session = ParallelGroupRecord.objects.first().session_id

    page = see(f"/p/default/evaluations?{query.format(one=one, two=two, session=session)}")

    assert found(page) == [every[n] for n in expected]
    assert expected or "No evaluations " in page.text


@pytest.mark.parametrize("query", ["", "?verdict=judged", "?winner={one}", "?verdict=rule&verdict=fallback"])
def test_the_number_of_evaluations_is_that_of_the_rows(three, see, query):
    page = see(f"/p/default/evaluations{query.format(one=ModelConfig.objects.get(model='model-1').key)}")
    rows = len(found(page))
    assert rows
    assert f"1 to {rows} of {rows} evaluation" in page.text


@pytest.mark.parametrize(
    ("query", "expected"),
    [("config={haiku}", 1), ("config={sonnet}", 1), ("winner={sonnet}", 1), ("winner={one}", 0)],
)
def test_filters_find_the_configs_of_all_turns(feed, see, query, expected):
    feed(start(1, 2), *branch(1, "Done."), *build.handed_over(loop_id(2)), end(2))
    names = {"haiku": "claude-haiku-4-5", "sonnet": "claude-sonnet-4-5", "one": "model-1"}
    keys = {name: ModelConfig.objects.get(model=model).key for name, model in names.items()}

    page = see(f"/p/default/evaluations?{query.format(**keys)}")

    assert len(found(page)) == expected
    options = [e.attributes.get("value") for e in page.root.walk() if e.tag in ("option", "input")]
    assert set(keys.values()) <= set(options)
    rows = [e for e in page.root.walk() if e.id.startswith("evaluations-row-")]
    assert len(rows) == expected
    assert all('title="Branch 2: claude-haiku-4-5, claude-sonnet-4-5"' in row.html() for row in rows)


def test_pages_link_forward_and_back(feed, see):
    feed(*(build.parallel_start(f"s{n}.a.1", f"s{n}.b.2") for n in range(120)))

    first = see("/p/default/evaluations")
    second = see("/p/default/evaluations" + next(link for link in first.links if "before=" in link))
    third = see("/p/default/evaluations" + next(link for link in second.links if "before=" in link))
    back = see("/p/default/evaluations" + next(link for link in third.links if "after=" in link))

    assert [len(found(page)) for page in (first, second, third)] == [50, 50, 20]
    assert found(back) == found(second)
    assert not [link for link in third.links if "before=" in link]
    assert not [link for link in first.links if "after=" in link]


def test_fifty_rows_take_as_many_queries_as_one(feed, reader):
    counts = []
    for first, last in ((0, 1), (1, 50)):
        feed(*(event for n in range(first, last) for event in whole(n)))
        reader.get("/p/default/evaluations")
        with CaptureQueriesContext(connection) as queries:
            reader.get("/p/default/evaluations")
        counts.append(len(queries))
    assert counts == [20, 20]


def whole(n):
    names = f"s{n}.a.1", f"s{n}.b.2"
    return [
        build.parallel_start(*names),
        *(event for name in names for event in build.small_loop(name)),
        build.parallel_end(names[0]),
    ]


def test_only_members_see_the_list(reader):
    assert reader.get("/p/other/evaluations").status_code == 404
    reader.logout()
    assert reader.get("/p/default/evaluations").status_code == 302
