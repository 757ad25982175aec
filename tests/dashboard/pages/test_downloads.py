"""Every list as CSV and JSON: the rows of the page, in its order, with the query that made them."""

import csv
import io
import json
import re
from html import unescape

import pytest
from django.contrib.auth.models import User

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import LoopRecord, Membership, Project
from recorder.notes.definitions import Draft, define
from recorder.notes.targets import find
from recorder.notes.write import Author, give_score
from tests.browser.pages import MARKUP, learning, spending
from tests.dashboard.pages.attention.loop_states import approval_request, failing
from tests.dashboard.pages.leaderboard.expected_standings import evaluation
from tests.support import build

FORMULA = "=HYPERLINK(1)"
LISTS = {  # name in the address, and what a link of a row on the page looks like
    "evaluations": r"/p/default/evaluations/\d+",
    "compactions": r"/p/default/sessions/\d+/compactions/\d+",
    "attention": r"/p/default/sessions/\d+/loops/\d+",
}


@pytest.fixture
def project(db):
    return Project.objects.create(slug="default")


@pytest.fixture
def feed(project):
    def feed(*events, into=project):
        lines = [json.dumps(event).encode() for event in events]
        assert ingest(Batch(project=into.pk, producer=None, first=None, lines=lines)).rejected == []

    return feed


@pytest.fixture
def get(client, project):
    user = User.objects.create_user("reader")
    project.memberships.create(user=user, role=Membership.Role.VIEWER)
    client.force_login(user)

    def get(path, expect=200):
        answer = client.get(f"/p/default/{path}")
        assert answer.status_code == expect
        return b"".join(answer).decode()

    return get


@pytest.fixture
def recorded(feed):
    for n, turned in enumerate(("ABCD", "BCDA", "CDAB", "DABC")):
        feed(*evaluation(n, turned, 0))
    for n in range(3):
        name = f"long{n}.a.1"
        feed(*build.small_loop(name)[:1], build.compaction_started(name), build.compaction_ended(name))
    feed(*approval_request("asks", MARKUP), *failing("fails", "oops"))
    feed({"type": "SessionInfo", "session_id": "fails", "title": FORMULA})


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def in_page(html, pattern):
    main = unescape(html).split("<main")[1]
    return list(dict.fromkeys(re.findall(rf'href="({pattern})"', main)))


@pytest.mark.parametrize("name", LISTS)
def test_a_file_has_the_rows_of_the_page_in_its_order(get, recorded, name):
    shown = in_page(get(name), LISTS[name])
    items = json.loads(get(f"{name}.json"))["items"]
    rows = table(get(f"{name}.csv"))

    assert shown
    assert [item["url"] for item in items] == shown
    assert [row["url"] for row in rows] == shown
    assert [list(row) for row in rows] == [list(item) for item in items]


@pytest.mark.parametrize(
    ("name", "query", "key"),
    [
        ("evaluations", "q=evaluation%3Ajudged&since=30d", "id"),
        ("compactions", "q=agent%3Acoder", "id"),
        ("attention", "q=agent%3Acoder", "title"),
        ("leaderboard", "task=a", "key"),
        ("costs", "since=90d&by=agent", "agent"),
        ("insights", "kind=solution", "id"),
    ],
)
def test_a_document_says_which_query_made_it_and_equals_the_table(get, feed, recorded, name, query, key):
    feed(*spending(), *learning())
    document = json.loads(get(f"{name}.json?{query}"))

    assert {key: document[key] for key in ("list", "project", "query")} == {
        "list": name,
        "project": "default",
        "query": query,
    }
    assert [row[key].removeprefix("'") for row in table(get(f"{name}.csv?{query}"))] == [
        str(item[key]) for item in document["items"]
    ]


def test_the_query_is_part_of_the_name_of_a_file(client, get, recorded):
    get("evaluations")
    answer = client.get("/p/default/evaluations.csv?verdict=judged&since=30d")
    assert answer["Content-Disposition"] == (
        'attachment; filename="evaluations-default-q-evaluation-judged-since-30d.csv"'
    )
    answer = client.get(f"/p/default/attention.json?agent=%22%0d%0aX: y/../{'x' * 99}")
    assert re.fullmatch(r'attachment; filename="[-\w]{,90}\.json"', answer["Content-Disposition"])


def test_a_cell_that_starts_a_formula_is_text(get, recorded):
    titles = [row["title"] for row in table(get("attention.csv"))]
    assert f"'{FORMULA}" in titles
    assert FORMULA not in titles


def test_more_rows_than_a_page_are_all_in_the_file_in_chunks(get, feed, monkeypatch):
    monkeypatch.setattr("dashboard.web.lists.download.CHUNK", 7)
    for n in range(45):
        feed(*failing(f"s{n}", "oops"), *approval_request(f"q{n}", "ls"))
    rows = table(get("attention.csv"))

    assert [row["list"] for row in rows].count("failed") == 45
    assert [row["list"] for row in rows].count("waiting") == 45
    assert len({(row["list"], row["url"]) for row in rows}) == len(rows)


def test_chunks_of_evaluations_follow_each_other(get, recorded, monkeypatch):
    monkeypatch.setattr("dashboard.web.lists.download.CHUNK", 3)
    assert [row["url"] for row in table(get("evaluations.csv"))] == in_page(
        get("evaluations"), LISTS["evaluations"]
    )


@pytest.mark.parametrize(
    "name", ["evaluations", "compactions", "attention", "leaderboard", "costs", "insights"]
)
def test_an_empty_list_gives_a_header_and_an_empty_array(get, name):
    assert json.loads(get(f"{name}.json"))["items"] == []
    assert table(get(f"{name}.csv")) == []


@pytest.mark.parametrize(
    "name", ["evaluations", "compactions", "attention", "leaderboard", "costs", "insights"]
)
def test_only_people_of_the_project_download(client, project, name):
    path = f"/p/default/{name}.json"
    assert client.get(path).status_code == 302
    client.force_login(User.objects.create_user("stranger"))
    assert client.get(path).status_code == 404


@pytest.mark.parametrize("name", ["sessions", "evaluations", "compactions", "attention"])
def test_a_query_chooses_the_rows_and_one_that_cannot_be_read_is_refused(get, recorded, name):
    everything = json.loads(get(f"{name}.json"))["items"]
    assert everything
    assert json.loads(get(f"{name}.json?q=agent:nobody"))["items"] == []
    assert json.loads(get(f"{name}.json?q=-agent:nobody"))["items"] == everything
    assert "Unknown key" in get(f"{name}.csv?q=nothing:x", 400)


@pytest.mark.parametrize(
    "name", ["sessions", "search", "evaluations", "compactions", "attention", "leaderboard", "costs"]
)
def test_a_json_file_with_a_bad_query_is_refused_as_json(get, recorded, name):
    answer = json.loads(get(f"{name}.json?q=status:failed+costs:>1", 400))
    assert (answer["code"], answer["at"]) == ("bad_query", 14)
    assert "Did you mean cost?" in answer["message"]


def test_the_leaderboard_by_a_score_gives_the_table_of_the_score(get, recorded, project):
    define(project, Draft("quality", "number", 1, 5), "mira")
    loop = LoopRecord.objects.filter(role="branch").select_related("session").first()
    target = find(project.pk, loop.session.session_id, loop=loop.pk)
    give_score(project.pk, Author("ci", "code", token=1), target, "quality", 4)

    (item,) = json.loads(get("leaderboard.json?outcome=quality"))["items"]
    assert item | {"config": ""} == {"config": "", "scores": 1, "mean": 4.0, "ci_low": None, "ci_high": None}
    assert [row["scores"] for row in table(get("leaderboard.csv?outcome=quality"))] == ["1"]
    assert "leaderboard.csv?outcome=quality" in get("leaderboard?outcome=quality")


def test_an_invalid_filter_is_refused(get, recorded):
    assert "Ignored verdict “x”" in get("evaluations.csv?verdict=x", 400)
    assert "Ignored cols “x”" in get("compactions.json?cols=x", 400)


def test_rows_of_other_projects_are_in_no_file(get, feed, recorded):
    other = Project.objects.create(slug="other")
    feed(*failing("theirs", "secret"), into=other)
    assert "theirs" not in get("attention.csv")
