"""The strip of newer hits: it counts what arrives, and the results stay."""

import pytest
from django.http import QueryDict

from dashboard.live.static_page import StaticPage
from dashboard.pages.search_text.live import SearchPage, open_page
from dashboard.pages.search_text.params import SearchParams
from recorder.models import Project
from recorder.pubsub.invalidation import Invalidation, merge
from tests.dashboard.pages.search_text.events import conversation


class Anyone:
    pk = None


@pytest.fixture
def opened(project):
    """Return a function that opens a page of results; its socket opens the same."""

    def opened(query):
        page = SearchPage.opened(project, SearchParams.parse(QueryDict(query)), 0)
        assert open_page(project, Anyone(), QueryDict(page.socket("default").partition("?")[2])) == page
        return page

    return opened


def text(page):
    return " ".join(page.draw().partition("</svg>")[2].partition("</a>")[0].split())


def test_hits_that_arrive_are_counted_and_linked(project, record, opened):
    record(project, *conversation("one", "needle"))
    page = opened("q=needle&kind=answer&cursor=7")
    assert text(page) == ""

    record(project, *conversation("two", "needle", result="needle"), *conversation("three", "thread"))

    assert text(page) == "Show 1 new hit"
    assert 'href="?q=needle&amp;kind=answer"' in page.draw()
    record(project, *conversation("four", "needle"))
    assert text(page) == "Show 2 new hits"


def test_without_a_hit_at_first_and_without_words_new_ones_are_counted(project, record, opened):
    words, conditions = opened("q=needle"), opened("q=agent:coder")
    record(project, *conversation("one", "needle"), *conversation("two", "x", agent_id="tester"))

    assert (text(words), text(conditions)) == ("Show 1 new hit", "Show 1 new session")


def test_only_hits_of_sessions_that_satisfy_the_query_are_counted(project, record, opened):
    page = opened("q=needle+agent:coder")
    record(project, *conversation("one", "needle", agent_id="tester"))
    record(Project.objects.create(slug="other"), *conversation("two", "needle"))

    assert text(page) == ""


def test_many_new_hits_are_counted_up_to_a_bound(project, record, opened, monkeypatch):
    monkeypatch.setattr("dashboard.pages.search_text.queries.hits_by_kind.MOST", 2)
    page = opened("q=needle")
    record(project, *(event for n in range(4) for event in conversation(f"s{n}", "needle")))

    assert text(page) == "Show 2+ new hits"


def test_the_strip_is_drawn_again_when_lines_were_indexed(opened, project):
    page = opened("q=needle")
    indexed, refused = Invalidation(project.pk, indexed=True), Invalidation(project.pk, refused=True)

    assert page.dirty_panels(indexed)
    assert page.dirty_panels(Invalidation.of(merge([refused, indexed]).message()))
    assert not page.dirty_panels(refused)
    assert page.dirty_panels(None)


def test_a_page_without_a_valid_query_has_no_strip(project):
    for query in ("", "q=costs:>1", "q=needle&newest=x"):
        page = open_page(project, Anyone(), QueryDict(query))
        assert isinstance(page, StaticPage) is ("needle" not in query)


def test_the_page_has_the_strip_a_link_to_copy_and_downloads(project, record, search):
    record(project, *conversation("one", "needle"))
    html = search("needle", kind="answer", cursor="99999")

    assert 'class="new-items"' in html
    assert 'data-copy="http://testserver/p/default/search?q=needle&amp;kind=answer"' in html
    assert 'href="/p/default/search.csv?q=needle&amp;kind=answer"' in html
    assert "data-copy" not in search("").partition("<main")[2]
