"""Filters of the integrity page: tiles, groups, lists and menus follow them."""

import re
from datetime import timedelta
from html import unescape

import pytest
from django.utils import timezone

from recorder.models import Project
from tests.support import build

LISTS = {
    "rejected": "Rejected lines",
    "orphans": "Orphan events",
    "inconsistencies": "Inconsistencies",
    "spans": "Spans set aside",
    "unrecorded": "Spans without a record",
}


@pytest.fixture
def recorded(feed):
    """Two producers with problems of several reasons, a part of them forty days old."""
    old = timezone.now() - timedelta(days=40)
    feed(b"{", b"{1", b"\xff", build.turn_start("o1.1"), producer="first")
    feed(b"{2", b"{3", build.turn_start("o2.1"), build.turn_end("o2.1"), producer="second", received_at=old)
    started = build.agent_start("a.1", timestamp=timezone.now().isoformat())
    feed(started, build.turn_end("a.1", 5), build.turn_end("a.1", 5), producer="second")


TILE = r'<div class="tile"><dt><a class="link" href="([^"]+)"[^>]*>([^<]+)</a></dt><dd[^>]*>([\d,]+)</dd>'
OPTION = r'<input type="checkbox" name="(\w+)" value="([^"]*)"[^>]*>(?:(?!</label>).)*number end">([\d,]+)<'


def tiles(page):
    """Return count and link by the label of the tile."""
    return {label: (int(count), unescape(url)) for url, label, count in re.findall(TILE, page)}


def rows(page):
    """Return the number of rows of a list."""
    return page.partition("<tbody>")[2].count("<tr")


def options(page, name):
    """Return the counts of a menu by value."""
    found = re.findall(OPTION, page, re.S)
    return {unescape(value): int(count) for of, value, count in found if of == name}


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?reason=bad_json",
        "?reason=bad_json&reason=TurnStart",
        "?producer=second",
        "?producer=first&reason=bad_json",
        "?since=7d",
        "?since=24h&producer=second",
        "?reason=nothing",
    ],
)
def test_a_tile_counts_the_rows_of_the_list_that_it_opens(recorded, see, query):
    found = tiles(see(query))
    assert set(found) == set(LISTS.values())
    for count, url in found.values():
        page = see(url)
        assert rows(page) == count
        assert [each for each, _ in tiles(page).values()] == [each for each, _ in found.values()]


def test_groups_follow_the_filters(recorded, see):
    assert "4 lines" in see()
    assert "2 lines" in see("?producer=second")
    assert "Orphan events</h2>" not in see("?reason=bad_json")
    assert "bad_utf8</code>" in see("?since=7d")
    recent = see("?since=7d")
    assert "2 lines" in recent
    assert "4 lines" not in recent


@pytest.mark.parametrize("query", ["", "?producer=second", "?since=7d", "?list=orphans", "?reason=bad_json"])
def test_an_option_counts_the_rows_that_it_would_show(recorded, see, query):
    page = see(query)
    for name in ("reason", "producer"):
        offered = options(page, name)
        assert offered
        base = re.sub(rf"\??{name}=[^&]*", "", query)
        for value, count in offered.items():
            found = see(f"{base}{'&' if '?' in base else '?'}{name}={value}")
            shown = tiles(found)
            names = [LISTS["orphans"]] if "list=orphans" in query else LISTS.values()
            assert sum(shown[label][0] for label in names) == count, (name, value)


def test_active_filters_are_tokens_that_can_be_removed(recorded, see):
    page = see("?list=rejected&reason=bad_json&producer=first&since=7d")
    hrefs = [unescape(href) for href in re.findall(r'<a href="([^"]+)" aria-label="Remove', page)]
    assert hrefs == ["?list=rejected&producer=first&since=7d", "?list=rejected&reason=bad_json&since=7d"]
    assert 'href="?list=rejected&amp;since=7d">Clear all' in page


def test_addresses_of_before_still_lead_to_their_rows(recorded, see, feed):
    feed(*(b"{%d" % n for n in range(60)))
    page = see("?list=rejected&reason=bad_json")
    older = unescape(re.search(r'href="(\?[^"]*before=\d+)"', page)[1])
    assert "list=rejected&reason=bad_json&before=" in older
    assert (rows(page), rows(see(older))) == (50, 14)


def test_an_invalid_time_is_ignored_with_a_note(recorded, see):
    assert "Ignored since" in see("?since=soon")


def test_filters_that_match_nothing_say_so_and_can_be_cleared(recorded, see):
    page = see("?producer=nobody")
    assert "No matching problems." in page
    assert "No matching orphan events." in see("?list=orphans&producer=nobody")
    assert 'value="nobody"' in page


def test_producers_of_another_project_are_not_offered(see, feed, recorded):
    feed(b"{", into=Project.objects.create(slug="other"), producer="far")
    assert "far" not in options(see(), "producer")


def test_hostile_names_of_producers_and_types_are_escaped(feed, see):
    markup = "<img src=x onerror=alert(1)>"
    feed({**build.turn_start("o.1"), "type": markup}, producer=markup)
    page = see(f"?producer={markup}")
    assert markup not in page
    assert "&lt;img" in page
