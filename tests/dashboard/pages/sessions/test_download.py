"""The list of sessions as CSV and JSON: all rows of the filter, in order, read chunk by chunk."""

import csv
import io
import json
from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User

from dashboard.pages.sessions import download
from dashboard.pages.sessions.params import Filters
from dashboard.pages.sessions.queries import download as queries
from recorder.models import Membership, Project, Session
from tests.dashboard.page_model import parse
from tests.support import build
from tests.support.small_loop import Loop

HOSTILE = "=HYPERLINK(1)"


@pytest.fixture
def get(client, project):
    user = User.objects.create_user("reader")
    project.memberships.create(user=user, role=Membership.Role.VIEWER)
    client.force_login(user)

    def get(query="", suffix="csv", expect=200):
        answer = client.get(f"/p/default/sessions.{suffix}{query}")
        assert answer.status_code == expect
        return b"".join(answer).decode()

    return get


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def recorded(feed):
    for n in range(5):
        feed(*Loop(f"s{n}").whole(f"task {n}"))
    feed(build.agent_start("t.a.1", agent_id="@SUM(1)"), build.turn_end("t.a.1", tokens=7))
    feed({"type": "SessionInfo", "session_id": "t", "title": HOSTILE})


def test_unknown_usage_is_empty(get, feed):
    feed(build.agent_start("u.a.1"), build.turn_end("u.a.1", tokens=0) | {"has_usage": False})
    (row,) = rows(get())
    assert {row[f"{name}_tokens"] for name in ("input", "output")} == {""}
    assert row["cost_usd"] == ""
    assert json.loads(get(suffix="json"))["items"][0]["usage"] is None


def test_the_csv_file_has_every_column_of_every_session_in_the_order_of_the_list(get, recorded):
    found = rows(get("?sort=created"))

    assert [row["session_id"] for row in found] == ["t", "s0", "s1", "s2", "s3", "s4"]
    assert tuple(found[0]) == download.HEADER
    first = found[1]
    assert (first["title"], first["status"], first["configs"]) == (
        "Ask task 0",
        "completed",
        "claude-sonnet-4-5",
    )
    assert (first["loops"], first["input_tokens"], first["cost_source"]) == ("1", "10", "computed")
    assert float(first["cost_usd"]) == Session.objects.get(session_id="s0").cost_nano / 10**9
    assert found[0]["duration_ms"] == found[0]["ended_at"] == ""


def test_a_cell_that_starts_a_formula_is_text(get, recorded):
    (row,) = rows(get("?status=running"))

    assert (row["title"], row["agent_id"]) == (f"'{HOSTILE}", "'@SUM(1)")


def test_the_json_document_has_the_items_of_the_read_api(get, recorded, client):
    items = json.loads(get("?sort=created", "json"))["items"]
    listed = client.get("/api/v1/sessions?project=default&sort=created").json()["items"]

    assert [{name: item[name] for name in listed[0]} for item in items] == listed
    assert items[1]["configs"] == ["claude-sonnet-4-5"]
    assert items[0]["title"] == HOSTILE


@pytest.mark.parametrize(
    "query", ["?q=task+3", "?agent=coder", "?view=running", "?since=1h&outcome=completed"]
)
def test_downloads_have_the_rows_of_the_list(get, recorded, client, query):
    page = parse(client.get(f"/p/default/sessions{query}").content.decode())
    shown = [e.attributes["href"] for e in page.walk() if "data-row" in e.attributes]

    assert shown
    assert [row["url"] for row in rows(get(query))] == shown
    assert [item["url"] for item in json.loads(get(query, "json"))["items"]] == shown


def test_an_empty_list_gives_a_header_and_an_empty_array(get):
    assert rows(get()) == []
    about = {"list": "sessions", "project": "default", "query": ""}
    assert json.loads(get(suffix="json")) == about | {"items": []}


def test_an_invalid_filter_is_refused_and_named(get, recorded):
    assert "Ignored since “soon”" in get("?since=soon", expect=400)
    assert "Ignored status “asleep”" in get("?status=asleep", "json", expect=400)


def test_the_page_links_to_the_downloads_of_its_filters(get, recorded, client):
    page = client.get("/p/default/sessions?agent=coder&sort=created").content.decode()

    for suffix in ("csv", "json"):
        assert f'href="/p/default/sessions.{suffix}?q=agent%3Acoder&amp;sort=created"' in page


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_only_members_of_the_project_can_download(client, project, recorded, suffix):
    path = f"/p/default/sessions.{suffix}"

    assert client.get(path).status_code == 302
    client.force_login(User.objects.create_user("stranger"))
    assert client.get(path).status_code == 404
    assert client.post(path).status_code == 405


def test_sessions_of_other_projects_are_not_in_a_download(get, feed, recorded):
    other = Project.objects.create(slug="other")
    feed(*Loop("elsewhere").whole("secret"), into=other)

    assert "elsewhere" not in get()


def test_memory_and_queries_of_a_chunk_do_not_depend_on_the_rows(
    project, feed, monkeypatch, django_assert_num_queries
):
    monkeypatch.setattr(queries, "CHUNK", 2)
    for n in range(7):
        feed(*Loop(f"s{n}").whole("task"))
    now = datetime.now(UTC)

    chunks = queries.chunks(project, Filters(), now)
    assert [len(chunk) for chunk in chunks] == [2, 2, 2, 1]
    chunks = queries.chunks(project, Filters(), now)
    next(chunks)
    for _ in range(2):
        with django_assert_num_queries(5):
            next(chunks)


def test_a_session_that_is_active_or_deleted_during_a_download_changes_no_other_row(
    project, feed, monkeypatch
):
    monkeypatch.setattr(queries, "CHUNK", 2)
    loops = [Loop(f"s{n}") for n in range(6)]
    for loop in loops:
        feed(loop.start())

    chunks = queries.chunks(project, Filters(), datetime.now(UTC))
    seen = [row.item.session_id for row in next(chunks)]
    feed(loops[0].turn())
    Session.objects.get(session_id="s2").delete()
    seen += [row.item.session_id for chunk in chunks for row in chunk]

    assert seen == ["s5", "s4", "s3", "s1", "s0"]
