"""The time range of a page: windows, custom ranges, and notes on invalid times."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st

from dashboard.web import time_range as module
from dashboard.web.query_params import Reading
from dashboard.web.time_range import TimeRange, read_range, time_range, within, words, written

NOW = datetime(2026, 11, 20, 12, 34, 56, tzinfo=UTC)
WINDOWS = ("24h", "7d", "all")


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    monkeypatch.setattr(module.timezone, "now", lambda: NOW)


def parse(query, usual="all"):
    read = Reading(QueryDict(query))
    since, until = read_range(read, WINDOWS, usual)
    return SimpleNamespace(since=since, until=until, notes=read.notes)


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("", None, None),
        ("since=&until=", None, None),
        ("since=24h", at("2026-11-19T13:00"), None),
        ("since=7d", at("2026-11-14"), None),
        ("since=today", at("2026-11-20"), None),
        ("since=yesterday", at("2026-11-19"), at("2026-11-20")),
        ("since=week", at("2026-11-16"), None),
        ("since=2026-11-01T14:00Z&until=2026-11-02T00:30Z", at("2026-11-01T14:00"), at("2026-11-02T00:30")),
        ("since=2026-11-01T14:00", at("2026-11-01T14:00"), None),
        ("since=2026-11-01T14:00%2B02:00", at("2026-11-01T12:00"), None),
        ("until=2026-11-01T14:00Z", None, at("2026-11-01T14:00")),
        ("since=2026-11-01&until=2026-11-01", at("2026-11-01"), at("2026-11-02")),
        ("since=2026-11-01&until=2026-12-24", at("2026-11-01"), at("2026-12-25")),
    ],
)
def test_a_range_is_read_in_utc_and_a_date_as_its_end_includes_the_day(query, start, end):
    read = parse(query)

    assert time_range(read, NOW) == TimeRange(start, end)
    assert read.notes == []


@pytest.mark.parametrize(
    ("query", "note", "start", "end"),
    [
        ("since=soon", "Ignored since “soon”: write a time as 2026-11-01T14:00Z, or a date.", None, None),
        ("since=2026-02-30", "Ignored since “2026-02-30”: write a time", None, None),
        ("since=9999-12-31", "Ignored since “9999-12-31”: it is in the future.", None, None),
        ("since=2026-11-21", "Ignored since “2026-11-21”: it is in the future.", None, None),
        ("since=1969-12-31", "Ignored since “1969-12-31”: it is before 1970.", None, None),
        ("until=9999-12-31", "Ignored until “9999-12-31”: write a time", None, None),
        ("until=2099-12-31", "it is more than a year in the future.", None, None),
        (
            "since=2026-11-05&until=2026-11-04",
            "Ignored until “2026-11-04”: the end must be after the start.",
            at("2026-11-05"),
            None,
        ),
        (
            "since=2026-11-05T10:00Z&until=2026-11-05T10:00Z",
            "the end must be after the start.",
            at("2026-11-05T10:00"),
            None,
        ),
        (
            "since=today&until=2026-11-21",
            "it needs a start that is a time, too.",
            at("2026-11-20"),
            None,
        ),
        ("since=24h&until=2026-11-20", "it needs a start that is a time, too.", at("2026-11-19T13:00"), None),
    ],
)
def test_an_invalid_time_is_ignored_with_a_note_and_the_rest_stays(query, note, start, end):
    read = parse(query)

    assert len(read.notes) == 1
    assert note in read.notes[0]
    assert time_range(read, NOW) == TimeRange(start, end)


def test_a_page_with_a_bounded_default_needs_a_start_for_an_end():
    read = parse("until=2026-11-01", usual="24h")

    assert (read.since, read.until) == ("24h", "")
    assert "it needs a start" in read.notes[0]


@given(st.integers(0, 1_795_000_000), st.integers(1, 10**9))
def test_what_an_address_holds_is_read_back(start, seconds):
    start = datetime.fromtimestamp(start, UTC)
    end = min(start + timedelta(seconds=seconds), NOW + timedelta(days=1))
    query = QueryDict(mutable=True)
    query.update({"since": written(start), "until": written(end)})

    read = parse(query.urlencode())

    assert time_range(read, NOW) == TimeRange(start, end)
    assert (read.since, read.until, read.notes) == (written(start), written(end), [])


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_text_breaks_the_range(since, until):
    query = QueryDict(mutable=True)
    query.update({"since": since, "until": until})

    time_range(parse(query.urlencode()), NOW)


@pytest.mark.parametrize(
    ("since", "text"),
    [
        ("1h", "in the last hour"),
        ("24h", "in the last 24 hours"),
        ("7d", "in the last 7 days"),
        ("90d", "in the last 90 days"),
        ("yesterday", "yesterday"),
        ("2026-11-01", "in the selected time range"),
    ],
)
def test_a_range_has_words_that_follow_a_noun(since, text):
    assert within(since, words(since)) == text
