"""Words in lists: what the index has, ids that are pasted, and titles of sessions not indexed yet."""

import pytest

from dashboard.query_conditions.conditions import search_condition, session_condition
from dashboard.query_language import parse
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import Project, Session
from recorder.search import indexer
from tests.dashboard.query_conditions.test_conditions import NOW
from tests.support import build

pytestmark = pytest.mark.django_db(transaction=True)

ID = "0198bad4-42ed-7fed-9abc-b42edbad0042"


@pytest.fixture
def project(transactional_db):
    return Project.objects.create(slug="default")


@pytest.fixture
def record(project):
    """Return a function that records a session with a prompt."""

    def record(session, prompt):
        loop = f"{session}.a.1"
        message = {"type": "MessageEnd", "loop_id": loop, "message": build.user(prompt)}
        events = [build.agent_start(loop, session=session), build.turn_start(loop), message]
        ingest(Batch(project.pk, None, None, [build.line(event) for event in events], "native"))

    return record


def selected(project, q, condition=session_condition):
    rows = Session.objects.filter(condition(project.pk, parse(q), NOW), project=project)
    return set(rows.values_list("session_id", flat=True))


@pytest.mark.parametrize("is_indexed", [True, False])
def test_parts_of_words_and_of_random_ids_are_not_found(project, record, is_indexed):
    record(ID, "Migrated the webhooks")
    record("s-2", "42 bad eggs")
    if is_indexed:
        indexer.run_all()

    assert selected(project, "-ed") == {ID, "s-2"}
    assert selected(project, "42") == selected(project, "bad") == {"s-2"}
    assert selected(project, "web") == selected(project, "igrated") == set()
    assert selected(project, "WEBHOOKS") == selected(project, '"the webhooks"') == {ID}
    assert selected(project, "web*") == {ID}


@pytest.mark.parametrize("is_indexed", [True, False])
def test_a_pasted_id_finds_its_session(project, record, is_indexed):
    record(ID, "one")
    record("x" * 7 + "y", "two")
    if is_indexed:
        indexer.run_all()

    assert selected(project, ID) == selected(project, ID[:8]) == selected(project, ID[:11]) == {ID}
    assert selected(project, ID[:7]) == set()
    assert selected(project, "x" * 7) == set()
    assert selected(project, "x" * 7 + "y") == {"x" * 7 + "y"}
    assert selected(project, "s OR one") == {ID}


def test_lists_select_what_search_selects(project, record):
    for n, prompt in enumerate(("café in der Straße", "修改服务端的计划", "foo_bar /usr/local/bin", "retry")):
        record(f"{n}-{ID}", prompt)
    before = {
        q: selected(project, q)
        for q in ("cafe", "服务", "务", "foo", "foo_bar", "usr local", "retr*", "-retry", "STRASSE", "ret")
    }
    indexer.run_all()

    assert [len(before[q]) for q in before] == [1, 1, 1, 1, 1, 1, 1, 3, 1, 0]
    assert {q: selected(project, q) for q in before} == before
    assert {q: selected(project, q, search_condition) for q in before} == before


def test_sessions_that_are_not_indexed_are_read_once_a_query(project, record, django_assert_num_queries):
    record(ID, "one")
    with django_assert_num_queries(6):  # the index for each word, the sessions not indexed, rows
        assert selected(project, "one OR two OR three OR four") == {ID}
