"""The search: results, access, number of queries."""

import json
import re
from html import unescape

import pytest
from django.contrib.auth.models import User

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import Project
from tests.support import build
from tests.support.small_loop import Loop

QUERIES = 10


@pytest.fixture
def project(db):
    return Project.objects.create(slug="default")


@pytest.fixture
def reader(client, project):
    user = User.objects.create_user("reader")
    project.memberships.create(user=user)
    client.force_login(user)
    return user


def record(project, *events):
    lines = [json.dumps(event).encode() for event in events]
    assert ingest(Batch(project=project.pk, producer=None, first=None, lines=lines)).rejected == []


def found(client, q, **headers):
    answer = client.get("/p/default/find", {"q": q}, headers={"hx-request": "true"})
    assert answer.status_code == 200
    html = answer.content.decode()
    return re.findall(r'role="option".*?<span class="clip"[^>]*>(.*?)</span>', html, re.S)


def test_sessions_evaluations_and_agents_are_found_by_words(client, project, reader):
    record(project, *Loop("one").whole("migrate the webhooks"), *Loop("two").whole("draft the notes"))
    start = build.agent_start("g.a.1", agent_id="webber", continuation_kind="Initial")
    record(project, build.parallel_start("g.a.1", "g.a.2"), start, *build.small_loop("g.a.1")[1:])

    assert found(client, "WEBHOOKS")[0] == "Ask migrate the webhooks"
    assert not any("notes" in words for words in found(client, "webhooks"))
    assert "webber" in found(client, "webb")
    assert "Fix the parser." in found(client, "parser")


@pytest.mark.parametrize(
    "typed", ["webh", "the webh", "migr", "Ask migrate the webhooks", "webhooks OR", "wébh"]
)
def test_a_session_is_found_while_its_last_word_is_typed(client, project, reader, typed):
    record(project, *Loop("one").whole("migrate the webhooks"))
    assert ("Ask migrate the webhooks" in found(client, typed)) == (not typed.endswith("OR"))


def test_without_words_the_latest_rows_and_all_pages_are_listed(client, project, reader):
    record(project, *Loop("one").whole("first"), *Loop("two").whole("second"))

    words = found(client, "")

    assert {"Ask first", "Ask second"} <= set(words)
    assert "Go to costs" in words
    assert not any(each.startswith("Filter") for each in words)


def test_the_query_is_escaped_and_links_to_the_filtered_list(client, project, reader):
    words = found(client, '"><b>x\x00')

    assert [unescape(each) for each in words] == [
        'Search all text for “"><b>x\ufffd”',
        'Filter sessions by “"><b>x\ufffd”',
    ]
    html = client.get("/p/default/find", {"q": '"><b>x'}).content.decode()
    assert "<b>x" not in html


def test_only_members_can_search(client, project, reader):
    other = Project.objects.create(slug="other")
    record(other, *Loop("secret").whole("secret words"))

    assert not any("secret words" in each for each in found(client, "secret")[:-1])
    assert client.get("/p/other/find").status_code == 404
    client.logout()
    assert client.get("/p/default/find").status_code == 302


def test_a_page_without_scripts_shows_the_same(client, project, reader):
    record(project, *Loop("one").whole("migrate the webhooks"))

    html = client.get("/p/default/find", {"q": "webhooks"}).content.decode()

    assert "<h1>Search</h1>" in html
    assert "Ask migrate the webhooks" in html


def test_the_number_of_queries_does_not_grow(client, project, reader, django_assert_num_queries):
    for n in range(30):
        record(project, *Loop(f"s{n}").whole("the same words"))
        record(project, build.parallel_start(f"g{n}.a.1"), *build.small_loop(f"g{n}.a.1"))

    with django_assert_num_queries(QUERIES):
        found(client, "s")


def test_a_path_offers_the_sessions_that_used_the_file(client, project, reader):
    record(project, *Loop("one").whole("first"))

    words = found(client, "src/ledger.py")

    assert words[0] == "Sessions that used the file “src/ledger.py”"
    html = client.get("/p/default/find", {"q": "src/ledger.py"}).content.decode()
    assert 'href="/p/default/sessions?q=file%3Asrc%2Fledger.py&amp;since=all"' in html
    assert found(client, "app.py")[0] == "Sessions that used the file “app.py”"
    assert not any("used the file" in each for q in ("3.5", "e.g. this", "a") for each in found(client, q))
