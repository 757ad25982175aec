"""One click reprices history: every past figure of the changed price, and only those."""

import pytest

from recorder.models import Membership, Price, Repricing
from recorder.pricing import backfill
from tests.dashboard.pages.costs.conftest import loop
from tests.dashboard.pages.costs.test_page import QWEN, words
from tests.dashboard.pages.costs.test_prices import PRICE

PATH = "/p/default/costs/reprice"


@pytest.fixture
def set_price(client, see):
    def set_price(**given):
        assert client.post("/p/default/costs/prices", PRICE | given).status_code == 302

    return set_price


def finish():
    while backfill.step():
        pass


def test_one_click_changes_every_past_figure_of_the_price_and_only_those(feed, see, client, set_price):
    feed(*loop(tokens=1_000_000, snapshot=QWEN), *loop("t.a.1", tokens=1_000_000))
    assert "Cost $1.00 +" in words(see())
    set_price()
    assert "Cost $1.00 +" in words(see())

    answer = client.post(f"{PATH}?since=30d")
    finish()

    page = words(see())
    assert answer["Location"] == "/p/default/costs?since=30d#prices"
    assert "Cost $1.15 Tokens" in page
    assert "has no price" not in page
    assert "has a price now" not in page
    assert "claude-haiku-4-5 1 1 1.00M" in page
    assert "by reader: 1 of 2 calls has a new cost, $0.150 more in all." in page


def test_each_repricing_is_listed_and_the_old_price_stays_visible(feed, see, client, set_price):
    set_price()
    feed(*loop(tokens=1_000_000, snapshot=QWEN))
    set_price(input="0.05")
    client.post(PATH)
    finish()
    client.post(PATH)
    finish()

    page = words(see())

    assert "Cost $0.0500 " in page
    assert "1 of 1 call has a new cost, $0.100 less in all." in page
    assert "0 of 1 call have a new cost." in page
    assert "0.15 0.60 as output 0.15 0.15 0.15 always override by reader inactive" in page
    assert Price.objects.filter(is_own=True).count() == 2


def test_the_page_shows_the_progress_of_a_repricing(feed, see, client, set_price):
    feed(*loop(snapshot=QWEN), *loop("t.a.1", snapshot=QWEN))
    client.post(PATH)

    assert "Repricing by reader: 0 of 2 calls" in words(see())


def test_a_second_request_does_nothing_while_one_waits(feed, see, client):
    feed(*loop())
    see()
    client.post(PATH)
    client.post(PATH)

    assert Repricing.objects.count() == 1


@pytest.mark.parametrize(("role", "status"), [("viewer", 403), ("member", 403), ("admin", 302)])
def test_only_admins_reprice(see, client, role, status):
    see()
    Membership.objects.update(role=role)

    assert client.post(PATH).status_code == status
    assert Repricing.objects.exists() is (status == 302)
    assert client.get(PATH).status_code == 405
