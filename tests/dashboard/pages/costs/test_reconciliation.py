"""Reconciliation of totals, and the list of mismatches."""

import pytest

from recorder.models import LoopRecord, Session, Spending
from tests.dashboard.pages.costs.conftest import loop
from tests.dashboard.pages.costs.test_page import words
from tests.phi_core import scenarios
from tests.support import build

PATH = "/p/default/costs/accounts"


def test_totals_reconcile_and_the_ledger_requests_the_check(feed, see):
    feed(*loop(), *loop("s.a.2", at=10, end=20), *loop("t.a.1"))

    assert "All totals match: 3 loops with their turns, 2 sessions with their loops" in words(see(path=PATH))
    assert f'hx-get="{PATH}?"' in see()


@pytest.mark.parametrize(
    "tape",
    scenarios.TAPES,
    ids=lambda tape: tape.name[:2],
)
def test_what_phi_core_recorded_reconciles(feed, see, client, user, tape, monkeypatch):
    monkeypatch.setattr("django.utils.timezone.now", lambda: build.NINE.replace(month=11, day=21))
    client.force_login(user)
    feed(*scenarios.events(tape))

    assert "All totals match" in words(see(path=PATH))


def test_a_loop_whose_reported_usage_differs_is_listed_with_a_link(feed, see):
    *events, _ = loop(tokens=1_000)
    feed(*events, build.agent_end(tokens=1_500))
    page = see(path=PATH)

    assert "Totals do not match." in words(page)
    assert "Loop s.a.1 : 1,500 tokens, turns: 1,000." in words(page)
    assert (
        f'href="/p/default/sessions/{Session.objects.get().pk}/loops/{LoopRecord.objects.get().pk}"' in page
    )


def test_a_loop_without_turns_that_reports_usage_reconciles(feed, see):
    start, *_, end = loop(tokens=1_000)
    feed(start, end)

    assert Spending.objects.get(span="hour").turns == 0
    assert "All totals match: 1 loop " in words(see(path=PATH))


def test_a_period_of_many_turns_is_checked_only_on_request(feed, see, monkeypatch):
    feed(*loop())
    assert 'hx-trigger="revealed"' in see()

    monkeypatch.setattr("dashboard.pages.costs.figures.AUTO_CHECK_MAX_TURNS", 0)

    assert 'hx-trigger="revealed"' not in see()


def test_htmx_gets_only_the_fragment(client, feed, see):
    feed(*loop())
    see()

    answer = client.get(PATH, headers={"HX-Request": "true"}).content.decode()

    assert "All totals match" in answer
    assert "<html" not in answer


def test_many_loops_take_as_many_queries_as_one(feed, see, django_assert_num_queries):
    feed(*loop())
    for n in range(50):
        *events, _ = loop(f"s{n}.a.1")
        feed(*events, build.agent_end(f"s{n}.a.1", tokens=7), producer=f"p{n}")

    with django_assert_num_queries(17):
        page = see(path=PATH)
    assert page.count("<li>Loop ") == 20
