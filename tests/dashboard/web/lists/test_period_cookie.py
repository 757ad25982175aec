"""The remembered time range of a page: of the page alone, never in a link with parameters, never an error."""

import pytest
from django.contrib.auth.models import User

from dashboard.web.time_range import CALENDAR
from recorder.models import Membership, Project

PAGES = (
    "sessions",
    "evaluations",
    "compactions",
    "leaderboard",
    "costs",
    "calls",
    "context",
    "integrity",
    "settings/audit",
)


@pytest.fixture
def browser(client, db):
    project = Project.objects.create(slug="default")
    user = User.objects.create_user("reader")
    Membership.objects.create(project=project, user=user, role=Membership.Role.ADMIN)
    client.force_login(user)
    return client


@pytest.mark.parametrize("page", PAGES)
def test_a_page_opens_at_the_range_chosen_last(browser, page):
    path = f"/p/default/{page}"
    assert browser.get(path).status_code == 200

    chosen = browser.get(f"{path}?since=30d")
    cookie = chosen.cookies["since"]
    assert (chosen.status_code, cookie.value, cookie["path"]) == (200, "30d", path)
    assert cookie["httponly"]

    opened = browser.get(path)
    assert (opened.status_code, opened["Location"]) == (302, f"{path}?since=30d")
    assert "since" not in browser.get(f"{path}?q=failed").cookies  # a link shows everybody the same


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("value", ["soon", "2026-11-01", "https://x.example", "1h 2", "%0d%0a"])
def test_any_other_value_of_the_cookie_is_ignored(browser, page, value):
    browser.cookies["since"] = value

    assert browser.get(f"/p/default/{page}").status_code == 200


@pytest.mark.parametrize(("page", "usual"), [("sessions", "all"), ("costs", "7d")])
def test_the_default_is_chosen_by_name_and_forgets(browser, page, usual):
    path = f"/p/default/{page}"
    browser.get(f"{path}?since=30d")
    assert f'href="?since={usual}"' in browser.get(f"{path}?since=30d").content.decode()

    browser.get(f"{path}?since={usual}")

    assert browser.get(path).status_code == 200


@pytest.mark.parametrize("page", [*PAGES, "what-if"])
@pytest.mark.parametrize("since", [*CALENDAR, "14d"])
def test_every_page_reads_days_and_weeks(browser, page, since):
    answer = browser.get(f"/p/default/{page}?since={since}").content.decode()

    assert "Server error" not in answer
    if since in CALENDAR:
        assert "Ignored since" not in answer
        assert f'href="?since={since}" aria-current="true">{CALENDAR[since]}</a>' in answer


def test_a_refused_page_remembers_nothing(browser):
    assert "since" not in browser.get("/p/other/costs?since=30d").cookies
