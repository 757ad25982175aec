"""Results as CSV and JSON: all hits that the pages show, in their order, with the query."""

import csv
import io
import json

import pytest

from recorder.models import Project
from tests.dashboard.pages.search_text.events import conversation

FORMULA = "=needle(1)"


@pytest.fixture
def get(client, reader):
    def get(path):
        answer = client.get(f"/p/default/{path}")
        assert answer.status_code == 200
        return b"".join(answer).decode()

    return get


@pytest.mark.parametrize("sort", ["newest", "best"])
def test_a_file_has_the_hits_of_all_pages_with_the_query(project, record, get, sort):
    for n in range(23):
        record(project, *conversation(f"s{n}", "needle", result="needle", prompt=f"Question {n}"))
    document = json.loads(get(f"search.json?q=needle&sort={sort}"))
    rows = list(csv.DictReader(io.StringIO(get(f"search.csv?q=needle&sort={sort}&cursor=7"))))

    assert document["query"] == ("q=needle" if sort == "newest" else "q=needle&sort=best")
    assert len({item["session_id"] for item in document["items"]}) == 23
    assert len(rows) == len(document["items"]) == 46
    assert [row["session_id"] for row in rows] == [item["session_id"] for item in document["items"]]
    assert sort == "best" or document["items"][0]["session_id"] == "s22"


def test_rows_have_the_places_of_the_words(project, record, get):
    record(project, *conversation("one", FORMULA), *conversation("two", "x"))
    (item,) = json.loads(get("search.json?q=needle&kind=answer"))["items"]
    (row,) = csv.DictReader(io.StringIO(get("search.csv?q=needle")))

    assert item["session_id"] == "one"
    assert (item["kind"], item["snippet"], item["title"]) == ("answer", FORMULA, "Fix it")
    assert item["url"].startswith("/p/default/sessions/")
    assert row["snippet"] == f"'{FORMULA}"


def test_conditions_alone_have_a_row_a_session(project, record, get):
    record(project, *conversation("one", "x"), *conversation("two", "x", agent_id="tester"))
    items = json.loads(get("search.json?q=agent:tester"))["items"]

    assert [(item["session_id"], item["kind"]) for item in items] == [("two", None)]


def test_nothing_found_is_an_empty_list(get):
    assert json.loads(get("search.json?q=needle"))["items"] == []
    assert len(get("search.csv?q=needle").splitlines()) == 1


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("query", ["", "?q=costs:>1", "?q=a*", "?q=needle&kind=nonsense"])
def test_a_bad_query_is_refused(client, query):
    assert client.get(f"/p/default/search.csv{query}").status_code == 400


@pytest.mark.usefixtures("reader")
def test_only_members_download(client):
    Project.objects.create(slug="other")

    for suffix in ("csv", "json"):
        assert client.get(f"/p/other/search.{suffix}?q=a").status_code == 404
