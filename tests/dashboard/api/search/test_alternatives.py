"""`GET /api/v1/search` of queries that sessions without any of the words may satisfy."""

import pytest
from django.utils import timezone

from recorder.models import Session
from recorder.search import documents, notes, queries
from tests.support import build

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def recorded(record):
    """Three sessions, of which the last is the newest; the first two have the word, two are of a tester."""
    record("one", build.user("cargo"), at=1)
    record("two", build.user("cargo trial"), agent_id="tester", at=2)
    record("three", build.user("other"), agent_id="tester", at=3)


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("other OR agent:tester", ["three", "two"]),
        ("cargo OR agent:tester", ["three", "two", "one"]),
        ("-cargo OR cargo", ["three", "two", "one"]),
        ("(cargo OR agent:tester) -trial", ["three", "one"]),
        ("trial OR -cargo", ["three", "two"]),
        ("nowhere OR agent:tester", ["three", "two"]),
        ("nowhere OR agent:nobody", []),
    ],
)
@pytest.mark.parametrize("sort", ["newest", "best"])
def test_a_session_needs_no_words_where_a_condition_is_enough(get, sessions, q, expected, sort):
    assert sessions(q, sort=sort) == sessions(q, limit=1, sort=sort) == expected
    assert [item["session_id"] for item in get("sessions", q=q)["items"]] == expected
    assert get("search", q=q)["total"] == len(expected)


@pytest.mark.usefixtures("recorded")
def test_such_a_session_has_hits_where_there_are_any(get):
    items = get("search", q="trial OR agent:tester")["items"]
    assert [len(item["hits"]) for item in items] == [0, 2]
    assert {hit["kind"] for hit in items[1]["hits"]} == {"prompt", "title"}


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    ("q", "kind", "expected"),
    [
        ("agent:tester", "prompt", {"three": ["prompt"], "two": ["prompt"]}),
        ("agent:tester", "note", {"two": ["note"]}),
        ("", "note", {"two": ["note"], "one": ["note"]}),
        ("-agent:tester", "note", {"one": ["note"]}),
        ("agent:tester", "answer", {}),
        ("cargo OR agent:tester", "note", {"two": []}),
        ("quartz OR agent:tester", "note", {"two": [], "one": ["note"]}),
        ("(cargo OR agent:tester) -trial", "prompt", {"three": [], "one": ["prompt"]}),
        ("-> OR agent:tester", "note", {"two": ["note"]}),
        ("->", "note", {}),
    ],
)
@pytest.mark.parametrize("is_common", [False, True])
def test_kinds_limit_the_sessions_of_conditions(
    get, sessions, project, monkeypatch, q, kind, expected, is_common
):
    at = timezone.now()
    for note, (session, text) in enumerate((("one", "quartz"), ("two", "basalt"))):
        place = documents.Place(Session.objects.get(session_id=session).pk)
        notes.put_note(project.pk, note, place, text, at)
    if is_common:
        monkeypatch.setattr(queries, "RARE", 0)
    found = get("search", q=q, kind=kind)

    assert {item["session_id"]: [hit["kind"] for hit in item["hits"]] for item in found["items"]} == expected
    assert sessions(q, kind=kind, limit=1) == list(expected)
    assert found["total"] == len(expected)


def test_the_number_of_queries_is_that_of_a_page(get, record, django_assert_max_num_queries):
    for n in range(30):
        record(f"s{n}", build.user("needle"), at=n)
    with django_assert_max_num_queries(20):
        assert len(get("search", q="needle OR agent:tester")["items"]) == 30
