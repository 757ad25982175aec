"""The requests that make 90 % of the cost: as summed one by one, on page, in the file and by API."""

import json

import pytest

from dashboard.shared.ledger_sums.queries import requests as dear
from recorder.ledger import follower
from recorder.models import LedgerRedo, LedgerSum, Session, Turn
from tests.dashboard.pages.context.conftest import HOSTILE, carried
from tests.dashboard.pages.context.test_page import nano, rows, total
from tests.dashboard.pages.costs.test_page import words
from tests.recorder.ledger import carried_file


def by_hand():
    """Return the costs of the dearest turns that make 90 %, one by one."""
    costs = sorted(Turn.objects.values_list("cost_nano", flat=True), reverse=True)
    found = []
    while 10 * sum(found) < 9 * sum(costs):
        found.append(costs[len(found)])
    return found, sum(costs)


def api(see, query=""):
    return json.loads(see(f"?project=default&since=2026-02-01{query}", "/api/v1/context/requests"))


def test_the_dearest_requests_are_those_counted_one_by_one(feed, see):
    feed(*carried())
    costs, whole = by_hand()

    found = api(see)
    assert [nano(row["cost_usd"]) for row in found["dearest"]] == costs
    assert (found["least"], found["most"], found["requests"]) == (len(costs), len(costs), carried_file.CALLS)
    assert nano(found["cost_usd"]) == whole
    assert found["dearest"][-1]["sum_share"] == sum(costs) / whole >= 0.9
    listed = rows(see(path="/p/default/context.csv"), "request")
    assert [nano(row["cost_usd"]) for row in listed] == costs
    assert f"{len(costs)} of 23 requests with a cost" in words(see())


def test_a_request_says_why_it_was_dear_and_leads_to_its_turn(feed, see):
    feed(*carried())
    missed = api(see)["dearest"][0]

    assert (missed["number"], missed["verdict"]) == (carried_file.MISSED_AT, "ttl_lapsed")
    assert nano(missed["lost_usd"]) == carried_file.LOST_NANO
    page = see()
    session = Session.objects.get()
    assert f"/p/default/sessions/{session.pk}/loops/{missed['loop']}?turn=12#turn-12" in page
    third = api(see)["dearest"][1]
    assert (third["number"], third["verdict"], third["main_part"]) == (3, "append_only", "write")


@pytest.mark.parametrize("query", ["&agent=writer", "&version=2", "&model=claude-haiku-4-5"])
def test_filters_leave_the_requests_of_one_session(feed, see, query):
    feed(*carried(version="1"))
    feed(*carried("t.a.1", agent="writer", version="2", model="claude-haiku-4-5"))

    found = api(see, query)
    assert {row["session_id"] for row in found["dearest"]} == {"t"}
    assert found["requests"] == carried_file.CALLS


def test_requests_of_other_days_are_not_counted(feed, see):
    feed(*carried())

    assert api(see, "&until=2026-02-09")["dearest"] == []
    assert api(see, "&until=2026-02-09")["least"] is None


def test_classes_are_the_same_when_sums_are_made_again(feed):
    feed(*carried())
    before = classes()

    LedgerRedo.mark(Session.objects.values_list("pk", flat=True), is_whole=False)
    follower.run_all()

    assert classes() == before
    assert sum(cost for _, _, cost in before) == Session.objects.get().cost_nano


def classes():
    found = LedgerSum.objects.filter(kind="request").order_by("name")
    return list(found.values_list("name", "calls", "cost_nano"))


def test_more_requests_than_are_listed_are_bounded(feed, see, monkeypatch):
    costs, _ = (feed(*carried()), by_hand())[1]
    monkeypatch.setattr(dear, "LISTED", 2)
    monkeypatch.setattr(dear, "SESSIONS", 3)

    found = api(see)
    assert found["least"] <= len(costs) <= found["most"]
    assert [nano(row["cost_usd"]) for row in found["dearest"]] == costs[:2]


def test_requests_without_a_price_are_not_counted(feed, see):
    feed(*carried(model="home-grown-7b"))

    assert api(see)["requests"] == 0
    assert "make 90% of the cost" not in see()


def test_hostile_names_of_sessions_are_text(feed, see):
    feed(*carried(agent=HOSTILE))

    assert api(see)["dearest"][0]["agent_id"] == HOSTILE
    assert "<script>alert" not in see()
    assert total(rows(see(path="/p/default/context.csv"), "request"), "cost_usd") > 0
