"""The integrity page: rejected lines, orphan events, inconsistencies."""

import html
import re

import pytest
from django.db import connection
from django.db.models import Count, Max
from django.test.utils import CaptureQueriesContext

from dashboard.pages.integrity.queries.lists import SOURCES
from recorder.models import Project
from tests.support import build


def test_a_project_without_problems_shows_that(feed, see):
    feed(*build.small_loop())

    assert "No problems." in see()


def test_a_rejected_line_is_shown_as_text_with_its_reason(feed, see):
    feed(b'{"type":"<script>alert(1)</script>', b"\xff\x00\x1b[31m")

    page = see()

    assert "bad_json" in page
    assert "bad_utf8" in page
    assert "&lt;script&gt;" in page
    assert "\\xff\\x00\\x1b[31m" in page
    assert "<script>alert" not in page


def test_an_orphan_event_is_listed_until_its_loop_starts(feed, see):
    feed(build.turn_start("never.started.1"))
    assert "never.started.1" in see()

    feed(build.agent_start("never.started.1"))
    assert "Orphan events</h2>" not in see()


def test_lines_are_grouped_by_reason_with_one_example(feed, see):
    feed(*(b"{%d" % n for n in range(60)), b"\xff", producer="first")
    feed(b"{the newest", producer="second")

    page = see()
    rows = page.partition("Rejected lines</h2>")[2].partition("</section>")[0].split("<tr ")[1:]

    assert ["bad_json" in row for row in rows] == [True, False]  # the newest reason first
    assert "61 lines" in rows[0]
    assert "1 line<" in rows[1]
    assert "{the newest" in rows[0]
    assert "{59" not in rows[0]
    assert "second" in rows[0]
    assert "and 1 more" in rows[0]


@pytest.mark.parametrize("name", ["rejected", "orphans", "inconsistencies"])
def test_a_group_leads_to_its_lines_on_pages(feed, see, name):
    feed(build.agent_start("a.1"))
    ends = [build.turn_end("a.1", 5)] * 60
    feed(*(b"{%d" % n for n in range(60)), b"\xff", *(build.turn_start(f"o{n}.1") for n in range(60)), *ends)
    page = see()
    section = page.partition(f'id="{name}"')[2].partition("</section>")[0]
    row = next(row for row in section.split("<tr ") if re.search(r">60 \w+<", row))
    address = html.unescape(re.search(r'href="(\?list=[^"]+reason=[^"]+)"', row)[1])

    first = see(address)
    older = html.unescape(re.search(r'href="(\?list=[^"]+before=[^"]+)"', first)[1])

    assert first.partition("<tbody>")[2].count("<tr") == 50
    assert see(older).partition("<tbody>")[2].count("<tr") == 10


def test_an_unknown_list_is_ignored_with_a_note(feed, see):
    feed(b"{")

    assert "Ignored list “nothing”" in see("?list=nothing&before=7")


def test_a_list_of_a_reason_that_no_line_has_is_empty(feed, see):
    feed(b"{")

    assert "No matching rejected lines." in see("?list=rejected&reason=bad_utf8")


def test_a_page_with_many_lines_is_as_short_and_takes_as_many_queries_as_with_few(
    feed, see, django_assert_num_queries
):
    def measured():
        with CaptureQueriesContext(connection) as queries:
            page = see()
        return len(queries), len(page)

    feed(*(b"{%d" % n for n in range(10)), *(build.turn_start(f"orphan{n}.1") for n in range(10)))
    queries, size = measured()
    feed(*(b"{%d" % n for n in range(490)), *(build.turn_start(f"orphan{n}.1") for n in range(490)))
    more_queries, more_size = measured()

    assert more_queries == queries
    assert more_size < size + 100


def test_many_types_of_orphan_events_show_the_newest_fifty(feed, see):
    feed(*({**build.turn_start(f"o{n}.1"), "type": f"Type{n}"} for n in range(60)))

    section = see().partition("Orphan events</h2>")[2].partition("</section>")[0]

    assert section.count("<tr id=") == 50
    assert "Only the latest reasons" in section


@pytest.mark.django_db
def test_groups_of_rejected_lines_are_read_from_an_index_that_covers_them():
    rows = SOURCES["rejected"].rows(1).order_by().values("code")
    plan = rows.annotate(
        count=Count("pk"), last=Max("received_at"), producers=Count("producer", distinct=True)
    ).explain()

    if connection.vendor == "sqlite":
        assert "COVERING INDEX quarantine_by_code" in plan


def test_other_projects_are_not_shown(feed, see):
    feed(b"{", build.turn_start("other.1"), into=Project.objects.create(slug="other"))

    assert "No problems." in see()


def test_fifty_lines_take_as_many_queries_as_one(feed, see, client, django_assert_max_num_queries):
    feed(*(b"{%d" % n for n in range(50)), *(build.turn_start(f"orphan{n}.1") for n in range(50)))

    with django_assert_max_num_queries(38):
        see()
