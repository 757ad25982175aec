"""Prices of a project: who may set them, and which calls they apply to."""

import re
from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User

from recorder.models import Membership, Price
from tests.dashboard.pages.costs.conftest import config, loop
from tests.dashboard.pages.costs.test_page import QWEN, words

PRICE = {"model": "qwen3-coder-30b", "provider": "local", "input": "0.15", "output": "0.60"}
PATH = "/p/default/costs/prices"


@pytest.fixture
def post(client, see):
    def post(**given):
        return client.post(f"{PATH}?since=30d", given)

    return post


@pytest.fixture
def withdraw(client, see):
    def withdraw(price):
        return client.post(f"{PATH}/withdraw?since=30d", {"price": price})

    return withdraw


def withdrawal(price):
    """Return after which event a price ended, when that was and who did it."""
    return Price.objects.values_list("until_event", "withdrawn_at", "withdrawn_by").get(pk=price.pk)


def test_a_price_applies_to_new_calls(feed, see, post):
    feed(*loop(tokens=1_000_000, snapshot=QWEN))

    answer = post(**PRICE)
    assert answer["Location"] == "/p/default/costs?since=30d#prices"

    page = words(see())
    assert "qwen3-coder-30b local 0.15 0.60 as output 0.15 0.15 0.15 always override by reader" in page
    assert "qwen3-coder-30b has a price now. 1 call made before is missing" in page

    feed(*loop("t.a.1", tokens=2_000_000, snapshot=QWEN))
    assert "Cost $0.300 +" in words(see())


def test_the_button_of_an_unpriced_model_sends_its_own_fields(feed, see, post):
    feed(*loop(snapshot=QWEN), *loop("t.a.1", snapshot=config("llama", "local", "open_ai_completions")))
    see()

    post(set="2", **{f"{name}.{n}": f"{value}{n}" for name, value in PRICE.items() for n in (1, 2)})

    own = Price.objects.get(is_own=True)
    assert (own.model, own.provider) == ("qwen3-coder-30b2", "local2")
    assert (own.bands[0]["input"], own.bands[0]["output"]) == ("0.152", "0.602")


def test_marked_free_is_zero_and_not_unknown(feed, see, post):
    post(free="1", **{"model.1": "qwen3-coder-30b", "provider.1": "local", "input.1": "", "output.1": "7"})
    feed(*loop(tokens=1_000_000, snapshot=QWEN))

    page = words(see())

    assert "Cost $0 Tokens 1.00M" in page
    assert "no price" not in page


def test_the_old_price_stays_readable(feed, see, post):
    post(**PRICE)
    post(**PRICE | {"input": "0.30"})

    page = words(see())

    assert "0.30 0.60 as output 0.30 0.30 0.30 always override by reader Withdraw" in page
    assert "0.15 0.60 as output 0.15 0.15 0.15 always override by reader inactive" in page
    assert page.index("0.30 0.60") < page.index("0.15 0.60")


def test_a_withdrawn_price_does_not_apply_to_new_calls(feed, see, post, withdraw):
    post(**PRICE)
    feed(*loop(tokens=1_000_000, snapshot=QWEN))

    answer = withdraw(Price.objects.get(is_own=True).pk)
    assert answer["Location"] == "/p/default/costs?since=30d#prices"

    page = words(see())
    assert re.search(r"always override by reader withdrawn \d+ \w+ \d\d:\d\d by reader", page)
    assert "Withdraw this price" not in page
    feed(*loop("t.a.1", tokens=2_000_000, snapshot=QWEN))
    assert "Cost $0.150 +" in words(see())


def test_a_price_is_withdrawn_once(post, withdraw):
    post(**PRICE)
    own = Price.objects.get(is_own=True)
    before = datetime.now(UTC)
    withdraw(own.pk)
    ended = withdrawal(own)
    assert before <= ended[1] <= datetime.now(UTC)
    assert ended[2] == "reader"

    User.objects.update(username="another")
    assert withdraw(own.pk).status_code == 302
    assert withdrawal(own) == ended


def test_only_prices_of_the_project_are_withdrawn(feed, withdraw):
    feed(*loop(snapshot=config()))
    listed = Price.objects.get(is_own=False)

    assert [withdraw(price).status_code for price in (listed.pk, 10**6, "")] == [404, 404, 404]
    assert Price.objects.get(pk=listed.pk).until_event is None


@pytest.mark.parametrize(("role", "status"), [("viewer", 403), ("member", 403), ("admin", 302)])
def test_only_admins_withdraw_prices(post, withdraw, user, role, status):
    post(**PRICE)
    own = Price.objects.get(is_own=True)
    Membership.objects.update(role=role)

    assert withdraw(own.pk).status_code == status
    assert Price.objects.filter(pk=own.pk, until_event=None).exists() is (status == 403)


def test_a_price_is_only_withdrawn_by_a_post_from_our_page(client, user, post, now):
    post(**PRICE)
    own = Price.objects.get(is_own=True)
    client.handler.enforce_csrf_checks = True

    assert client.get(f"{PATH}/withdraw").status_code == 405
    assert client.post(f"{PATH}/withdraw", {"price": own.pk}).status_code == 403
    assert Price.objects.get(pk=own.pk).until_event is None


def test_errors_are_shown_and_the_submitted_values_stay(post):
    answer = post(**PRICE | {"input": "-1", "valid_from": "soon"})
    page = answer.content.decode()

    assert answer.status_code == 400
    assert "Input cannot be below zero." in page
    assert "Valid from is not a date" in page
    assert 'value="qwen3-coder-30b"' in page
    assert not Price.objects.filter(is_own=True).exists()


@pytest.mark.parametrize(("role", "status"), [("viewer", 403), ("member", 403), ("admin", 302)])
def test_only_admins_set_prices(post, user, role, status):
    Membership.objects.update(role=role)

    assert post(**PRICE).status_code == status
    assert Price.objects.filter(is_own=True).exists() is (status == 302)


def test_a_price_is_only_posted_and_only_from_our_page(client, user, now):
    client.force_login(user)
    client.handler.enforce_csrf_checks = True

    assert client.get(PATH).status_code == 405
    assert client.post(PATH, PRICE).status_code == 403
    assert not Price.objects.filter(is_own=True).exists()


def test_a_hostile_model_is_text_in_the_price_table(see, post):
    post(**PRICE | {"model": '"><script>alert(1)</script>'})

    assert "<script>alert" not in see()
