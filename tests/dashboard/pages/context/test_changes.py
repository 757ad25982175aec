"""What changed in the requests whose cache was missed: on the page, in the file, and by API."""

import json
from datetime import timedelta
from decimal import Decimal

from django.db.models import Sum

from recorder.models import LedgerDay
from tests.dashboard.pages.context.test_page import nano, rows
from tests.dashboard.pages.costs.test_page import words
from tests.recorder.ledger import changing_requests as sent


def test_page_file_and_api_have_the_losses_computed_by_hand(feed, see):
    feed(*sent.events())

    page = words(see())
    found = {(row["name"], row["change"]): row for row in rows(see(path="/p/default/context.csv"), "change")}
    causes = json.loads(see("?project=default&since=2026-02-01", "/api/v1/context/causes"))["causes"]
    api = {(cause["verdict"], each["change"]): each for cause in causes for each in cause["changes"]}

    assert set(found) == set(api) == set(sent.LOSSES)
    for key, (calls, tokens, lost) in sent.LOSSES.items():
        assert (int(found[key]["misses"]), int(found[key]["lost_tokens"])) == (calls, tokens)
        assert nano(found[key]["lost_usd"]) == nano(api[key]["lost_usd"]) == lost
    assert f"System prompt changed a time in it 2 10.0k ${2 * sent.LOST / 1e9:.4f}" in page
    assert "Tool definitions changed a tool added 1 5.0k" in page
    assert "Tool definitions changed tools in another order 1 5.0k" in page
    assert "Undecided a time 1 5.0k" in page


def test_the_changes_of_a_cause_and_its_days_add_up_to_it(feed, see):
    feed(*sent.events())

    for cause in json.loads(see("?project=default", "/api/v1/context/causes"))["causes"]:
        for figure in ("misses", "lost_tokens", "lost_usd"):
            whole = Decimal(cause[figure])
            for parts in ("changes", "days"):
                assert sum(Decimal(part[figure]) for part in cause[parts]) == whole


def test_a_loss_is_by_week_once_the_calls_began_seven_days_ago(feed, see):
    feed(*sent.events())
    address = "/api/v1/context/causes"
    assert {cause["lost_usd_a_week"] for cause in json.loads(see("?project=default", address))["causes"]} == {
        None
    }
    assert "a week." not in words(see())

    first = LedgerDay.objects.filter(kind="output").get()
    LedgerDay.objects.filter(pk=first.pk).update(day=first.day - timedelta(days=9))
    causes = json.loads(see("?project=default", address))["causes"]
    (of_system,) = [cause for cause in causes if cause["verdict"] == "system_changed"]
    lost = LedgerDay.objects.filter(kind="miss", name="system_changed").aggregate(n=Sum("cost_nano"))["n"]
    days = (json.loads(see("?project=default", address))["until"], first.day - timedelta(days=9))
    length = (type(first.day).fromisoformat(days[0]) - days[1]).days + 1

    assert length >= 10
    assert nano(of_system["lost_usd_a_week"]) == round(lost * 7 / length)
    assert "a week." in words(see("?since=30d"))
