"""What the address of the costs page may say."""

from datetime import UTC, datetime, timedelta

import pytest
from django.http import QueryDict

from dashboard.pages.costs.params import Params

NOON = datetime(2026, 11, 20, 12, 34, 56, tzinfo=UTC)


def asked(query=""):
    return Params.parse(QueryDict(query))


def test_an_empty_address_asks_for_fourteen_days_by_config():
    assert asked() == Params(since="14d", by="config", agent="", model="", sub=True, judge=True)
    assert asked().query == "?"


def test_what_was_asked_is_written_back():
    query = "since=30d&by=model&agent=coder&model=gpt-5&sub=0&judge=0"

    assert asked(query).query == f"?{query}"


@pytest.mark.parametrize(
    "query", ["since=forever", "by=colour", "sub=yes", "agent=a%00b", f"model={'x' * 513}"]
)
def test_what_makes_no_sense_is_left_out_and_said(query):
    read = asked(query)

    assert read == Params()
    assert len(read.notes) == 1
    assert "\0" not in read.notes[0]
    assert len(read.notes[0]) < 120


def test_days_are_whole_and_the_last_is_today():
    period = asked("since=7d").period(NOON)

    assert period.starts[0] == datetime(2026, 11, 14, tzinfo=UTC)
    assert period.starts[-1] == datetime(2026, 11, 20, tzinfo=UTC)
    assert period.end == datetime(2026, 11, 21, tzinfo=UTC)
    assert period.places()["2026-11-20"] == 6


def test_a_day_is_told_by_the_hour():
    period = asked("since=24h").period(NOON)

    assert period.is_hourly
    assert period.starts[-1] == datetime(2026, 11, 20, 12, tzinfo=UTC)
    assert period.end - period.start == timedelta(hours=24)
    assert period.places()["2026-11-20 12"] == 23


def test_a_quarter_is_told_by_the_week_and_the_last_ends_today():
    period = asked("since=13w").period(NOON)

    assert (period.unit, period.count) == ("week", 13)
    assert period.end == datetime(2026, 11, 21, tzinfo=UTC)
    assert period.places()["2026-11-14"] == 12
    assert period.places()["2026-11-13"] == 11
    assert len(period.places()) == 91


def test_the_period_before_ends_where_this_one_starts():
    period = asked("since=7d").period(NOON)

    assert period.before.end == period.start
    assert period.before.count == period.count
