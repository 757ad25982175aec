"""The limit of sign-in attempts counts what Django signs in with, in a bounded table."""

import pytest
from django.contrib.auth.models import User
from django.test import RequestFactory

from dashboard.pages.account import throttle
from dashboard.pages.account.throttle import (
    ACCOUNT_TRIES,
    ADDRESS_TRIES,
    TRIES,
    account_of,
    attempts,
)
from dashboard.security import attempts as counts
from dashboard.security.attempts import Attempts

PASSWORD = "correct horse battery"
SPELLINGS = [
    "ada",
    "ada ",
    "\tada",
    "ada   ",
    "ADA",
    "\uff41\uff44\uff41",
    " \uff21da\u3000",
    "a\uff44a\u00a0",
]


@pytest.fixture(autouse=True)
def fresh_counts():
    attempts.clear()
    yield
    attempts.clear()


def sign_in(client, username, password="wrong", **extra):
    return client.post("/signin", {"username": username, "password": password}, **extra).status_code


def request(address, **headers):
    return RequestFactory().post("/signin", REMOTE_ADDR=address, headers=headers)


def tried(name, address):
    return RequestFactory().post("/signin", {"username": name}, REMOTE_ADDR=address)


@pytest.mark.parametrize("name", SPELLINGS)
def test_every_spelling_counts_as_one_account(name):
    assert account_of(name) == "ada"


def test_twenty_tries_with_other_spaces_and_letters_are_throttled_after_five(client, db):
    User.objects.create_user("ada", password=PASSWORD)
    names = [SPELLINGS[each % len(SPELLINGS)] + " " * each for each in range(20)]

    assert [sign_in(client, name) for name in names] == [403] * TRIES + [429] * (20 - TRIES)
    assert sign_in(client, "ada", PASSWORD) == 429


def test_an_account_is_limited_from_many_addresses(client, db):
    answers = [sign_in(client, "ada", REMOTE_ADDR=f"10.0.0.{each}") for each in range(ACCOUNT_TRIES + 1)]

    assert answers == [403] * ACCOUNT_TRIES + [429]
    assert sign_in(client, "carol", REMOTE_ADDR="10.0.0.1") == 403


def test_an_address_is_limited_over_many_accounts_and_does_not_use_up_theirs(client, db):
    answers = [sign_in(client, f"user{each}") for each in range(ADDRESS_TRIES + 1)]

    assert answers == [403] * ADDRESS_TRIES + [429]
    assert sign_in(client, f"user{ADDRESS_TRIES}", REMOTE_ADDR="10.0.0.9") == 403


def test_the_table_is_bounded_and_the_oldest_count_gives_way():
    table = Attempts("small", rows=100)
    for each in range(1_000):
        table.count((str(each), ""))

    assert len(table) == 100
    assert table.count(("999", "")) == 2
    assert table.count(("0", "")) == 1


def test_a_flood_of_names_from_one_address_fills_no_table_and_evicts_no_count():
    assert throttle.tries_left(tried("ada", "10.0.0.2"))
    allowed = [throttle.tries_left(tried(f"user{each}", "10.0.0.1")) for each in range(1_000)]

    assert allowed.count(True) == ADDRESS_TRIES
    assert len(attempts) <= 3 + 1 + 2 * ADDRESS_TRIES
    assert attempts.count(("ada", "")) == 2


def test_a_long_name_is_counted_at_a_bounded_length():
    for name in ("x" * 100_000, "\ufdfa" * 50_000):  # the second is 18 characters each when normalised
        throttle.tries_left(tried(name, "10.0.0.1"))

    assert max(len(account) for account, _ in attempts._counts) <= throttle.NAME_CHARS


def test_counts_end_after_the_window(monkeypatch, settings):
    clock = [100.0]
    monkeypatch.setattr(counts, "monotonic", lambda: clock[0])
    settings.REDIS_URL = ""  # Redis has a clock of its own
    table = Attempts("alone")
    assert [table.count(("ada", "")) for _ in range(3)] == [1, 2, 3]

    clock[0] += counts.WINDOW_S
    assert table.count(("bob", "")) == 1
    assert len(table) == 1
    assert table.count(("ada", "")) == 1
