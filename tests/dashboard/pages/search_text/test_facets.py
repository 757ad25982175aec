"""Facets: links that write the query, with the sessions of each value."""

import re
from html import unescape
from urllib.parse import parse_qs

import pytest
from django.http import QueryDict

from dashboard.live.paged_list import Count
from dashboard.pages.search_text.facets import facets, times
from dashboard.pages.search_text.params import SearchParams
from dashboard.pages.search_text.queries.counts import COUNTED, MOST, Counts, Number
from tests.dashboard.pages.search_text.events import conversation

RECORDED = {"model": ["gpt-5", "opus"], "agent": ["coder"], "tool": [f"tool{n}" for n in range(9)]}


def values(query, counts=None):
    """Return the values of all facets by facet and label."""
    found = facets(SearchParams.parse(QueryDict(query)), RECORDED, counts)
    return {facet.title: {value.label: value for value in (*facet.values, *facet.folded)} for facet in found}


def query_of(url):
    return parse_qs(url.removeprefix("?"))


@pytest.mark.parametrize(
    ("query", "facet", "label", "expected"),
    [
        ("q=error", "Status", "Failed", {"q": ["error status:failed"]}),
        ("q=error+status:failed", "Status", "Failed", {"q": ["error"]}),
        ("q=error+model:opus", "Model", "gpt-5", {"q": ["error model:[opus,gpt-5]"]}),
        ("q=error&kind=answer&cursor=7", "Tool", "tool1", {"q": ["error tool:tool1"], "kind": ["answer"]}),
        ("q=error&cursor=7", "Found in", "Note", {"q": ["error"], "kind": ["note"]}),
        ("q=error&kind=note", "Found in", "Note", {"q": ["error"]}),
        ("q=error+OR+fault", "Agent", "coder", {"q": ["(error OR fault) agent:coder"]}),
    ],
)
def test_a_value_writes_the_query_and_keeps_the_rest(query, facet, label, expected):
    assert query_of(values(query)[facet][label].url) == expected


def test_chosen_values_come_first_and_many_values_are_folded():
    found = facets(SearchParams.parse(QueryDict("q=a+tool:tool8")), RECORDED)
    tools = next(facet for facet in found if facet.title == "Tool")

    assert [value.label for value in tools.values] == ["tool8", "tool0", "tool1", "tool2", "tool3"]
    assert [value.is_on for value in tools.values] == [True, False, False, False, False]
    assert len(tools.folded) == 4


def test_a_time_replaces_the_one_before():
    chosen = {
        window: (query_of(url), is_on)
        for window, url, is_on in times(SearchParams.parse(QueryDict("q=a+since:7d")))
    }

    assert chosen["30d"] == ({"q": ["a since:30d"]}, False)
    assert chosen["7d"][1]
    assert chosen["all"] == ({"q": ["a"]}, False)


def test_numbers_of_a_part_of_the_sessions_say_so():
    counts = Counts(
        Count(MOST + 1, MOST), {key: {} for key in COUNTED} | {"model": {"opus": Number(3, is_part=True)}}
    )
    found = values("q=a", counts)["Model"]

    assert (found["opus"].count, found["gpt-5"].count) == ("3+", "0")


def shown(html, label):
    """Return the number beside a value."""
    found = re.search(rf'title="{label}">[^<]*</span><span class="number end">([^<]*)<', html)
    return unescape(found[1]) if found else None


def test_a_facet_counts_the_sessions_without_its_own_condition(project, record, search):
    record(project, *conversation("one", "needle"), *conversation("two", "needle", agent_id="tester"))
    record(project, *conversation("three", "something else"))

    page, counted = search("needle agent:coder"), search("needle agent:coder", path="search/counts")

    assert shown(page, "tester") is None  # the page does not wait for the numbers
    assert (shown(counted, "coder"), shown(counted, "tester")) == ("1", "1")
    assert shown(counted, "Completed") == "1"
    assert shown(counted, "bash") == "1"
    assert shown(counted, "claude-sonnet-4-5") == "1"


def test_the_numbers_take_a_fixed_number_of_queries(
    project, record, search, client, django_assert_max_num_queries
):
    for n in range(12):
        record(project, *conversation(f"s{n}", "needle"))
    search("needle", path="search/counts")

    with django_assert_max_num_queries(26):
        client.get("/p/default/search/counts", {"q": "needle status:completed tool:bash"})


def test_kinds_have_the_numbers_of_hits_in_sessions_that_satisfy_the_query(project, record, search):
    record(project, *conversation("one", "needle", result="a needle"), *conversation("two", "needle"))
    record(project, *conversation("other", "needle", agent_id="tester"))

    page, counted = (search("needle agent:coder", path=path) for path in ("search", "search/counts"))
    chosen = search("needle agent:coder", path="search/counts", kind="answer")

    assert shown(page, "Answer") is None
    for html in (counted, chosen):
        assert [shown(html, kind) for kind in ("Answer", "Tool result", "Note")] == ["2", "1", "0"]
    assert shown(search("agent:coder", path="search/counts"), "Answer") is None


def test_hits_of_kinds_are_counted_up_to_a_bound(project, record, search, monkeypatch):
    monkeypatch.setattr("dashboard.pages.search_text.queries.hits_by_kind.MOST", 2)
    record(project, *(event for n in range(4) for event in conversation(f"s{n}", "needle")))

    assert shown(search("needle", path="search/counts"), "Answer") == "2+"


def test_a_bad_query_has_no_numbers(search, client, reader):
    assert client.get("/p/default/search/counts", {"q": "costs:>1"}).status_code == 204


def test_the_numbers_count_whole_words_as_the_results_do(project, record, search):
    record(project, *conversation("one", "an error"), *conversation("two", "fine", prompt="onerror=1"))

    assert shown(search("error", path="search/counts"), "Completed") == "1"
