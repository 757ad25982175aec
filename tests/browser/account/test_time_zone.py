"""Times on pages are in the zone of the profile, and in the browser's without one."""

import re

from playwright.sync_api import expect

NEW_YORK, KATHMANDU = "America/New_York", "Asia/Kathmandu"


def test_times_follow_the_zone_that_was_chosen(window):
    watched = window(timezone_id=NEW_YORK)
    page = watched.open("/account")
    time = page.locator("time").first
    expect(time).to_have_attribute("title", re.compile(r"\d\d:\d\d:\d\d UTC, \d\d:\d\d:\d\d local$"))

    page.get_by_label("Time zone").select_option(KATHMANDU)
    page.get_by_role("button", name="Save").click()
    expect(page.locator("body")).to_have_attribute("data-zone", KATHMANDU)
    expect(time).to_have_attribute("title", re.compile(rf"\d\d:\d\d:\d\d {KATHMANDU}$"))
    utc, there = re.findall(r"(\d\d):(\d\d):\d\d", time.get_attribute("title"))
    minutes = [60 * int(hour) + int(minute) for hour, minute in (utc, there)]
    assert (minutes[1] - minutes[0]) % 1440 == 5 * 60 + 45

    page = watched.open("/p/default/sessions?since=2026-03-08T07:30Z&until=2026-11-01T12:00Z")
    page.locator("details:has([data-range]) > summary").click()  # its script loads when it opens
    expect(page.locator("form [data-zone]")).to_have_text(KATHMANDU)
    assert page.locator("[name=since]").input_value() == "2026-03-08T13:15"
    with page.expect_navigation():
        page.evaluate("document.querySelector('[data-range]').requestSubmit()")
    page.wait_for_url(re.compile(r"since=2026-03-08T07(:|%3A)30Z"))

    page = watched.open("/account")
    page.get_by_label("Time zone").select_option("")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("body")).not_to_have_attribute("data-zone", KATHMANDU)
