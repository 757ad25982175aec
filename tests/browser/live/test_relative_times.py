"""Times on an open page: they count by themselves, and a redraw never shows the server's fixed text."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.wait import LONGEST_S

CLOCK = (Path(__file__).parents[3] / "static/js/live/times.js").read_text()


NOW = datetime(2026, 11, 4, 15, 30, tzinfo=UTC)


def iso(**ago):
    return (NOW - timedelta(**ago)).isoformat()


@pytest.fixture
def page(browser):
    page = browser.new_page(timezone_id="Asia/Tokyo")
    page.set_default_timeout(1000 * LONGEST_S)
    page.clock.install(time=NOW - timedelta(hours=1))  # it runs until it is stopped, however long that takes
    page.clock.pause_at(NOW)
    yield page
    page.close()


def shown(page, times, now=None):
    page.set_content(f"<body>{times}</body>")
    page.evaluate("(now) => { document.body.dataset.now = now }", now or iso())
    page.add_script_tag(content=CLOCK, type="module")
    page.wait_for_function(
        "[...document.querySelectorAll('time')].every((time) => time.title.includes('local'))"
    )
    return page.locator("time").inner_text()


@pytest.mark.parametrize(
    ("ago", "text"),
    [
        ({"seconds": 0}, "now"),
        ({"seconds": 30}, "30s ago"),
        ({"minutes": 11}, "11m ago"),
        ({"hours": 3}, "3h ago"),
    ],
)
def test_a_moment_of_the_last_day_is_relative(page, ago, text):
    assert shown(page, f'<time datetime="{iso(**ago)}" data-when>x</time>') == text


@pytest.mark.parametrize(("days", "text"), [(3, "2 Nov, 00:30"), (8, "28 Oct")])
def test_a_moment_of_the_last_week_has_its_clock_time(page, days, text):
    assert shown(page, f'<time datetime="{iso(days=days)}" data-when>x</time>') == text


def test_an_older_moment_is_a_date_and_one_of_another_year_says_so(page):
    assert shown(page, '<time datetime="2019-11-04T14:02:24Z" data-when>x</time>') == "4 Nov 2019"


def test_clock_time_is_the_reader_s(page):
    assert shown(page, '<time datetime="2026-11-04T14:02:24Z" data-clock>14:02:24</time>') == "23:02:24"


def test_what_runs_counts_up(page):
    assert shown(page, f'<time datetime="{iso(seconds=64)}" data-start>since then</time>') == "1m 04s"
    page.clock.run_for(2000)
    assert page.locator("time").inner_text() == "1m 06s"


def test_a_wrong_clock_on_the_reader_s_side_does_not_show(page):
    server_now = iso(hours=2)
    started = iso(hours=2, seconds=64)
    assert shown(page, f'<time datetime="{started}" data-start>x</time>', server_now) == "1m 04s"


def test_a_redraw_is_turned_again_before_it_shows(page):
    shown(page, f'<time datetime="{iso(minutes=5)}" data-when>4 Nov 14:02</time>')
    redrawn = page.evaluate(
        """async () => {
          const time = document.querySelector("time");
          time.textContent = "4 Nov 14:02";
          await null; // the observer has run; nothing has been painted
          return time.textContent;
        }"""
    )
    assert redrawn == "5m ago"


def test_times_outside_a_redraw_are_not_read_again(page):
    shown(page, f'<time datetime="{iso(minutes=5)}" data-when>x</time>')
    reads = page.evaluate(
        """async () => {
          let times = 0;
          const { get } = Object.getOwnPropertyDescriptor(HTMLTimeElement.prototype, "dateTime");
          const counted = { get() { times++; return get.call(this); } };
          Object.defineProperty(HTMLTimeElement.prototype, "dateTime", counted);
          document.body.append(Object.assign(document.createElement("p"), { textContent: "new" }));
          await null;
          return times;
        }"""
    )
    assert reads == 0
