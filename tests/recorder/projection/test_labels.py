"""Tags and metadata of sessions: what is recorded, indexed, replayed and found."""

import json

import pytest
from django.db import transaction
from hypothesis import given
from hypothesis import strategies as st

from dashboard.shared.queries.session_filter import Wanted, matching
from recorder.core.content import labels
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import EventRecord, Session, SessionLabel
from recorder.projection.as_of import as_of
from recorder.projection.rebuild import rebuild
from tests.recorder.query_work import query_work
from tests.support import build

pytestmark = pytest.mark.django_db(transaction=True)
TIMES = ("created_at", "last_active_at", "last_event_at", "last_received_at")


def send(project, *events, producer="p"):
    receipt = ingest(Batch(project.pk, producer, None, [build.line(event) for event in events], "native"))
    assert receipt.rejected == []


def indexed(session="s"):
    rows = SessionLabel.objects.filter(session__session_id=session)
    return sorted(rows.values_list("name", "value"))


def info(tags, session="s"):
    return {"type": "SessionInfo", "session_id": session, "tags": tags}


def start(loop="s.a.1", metadata=None):
    return build.agent_start(loop) | {"metadata": metadata}


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        (None, []),
        ("text", []),
        (["a"], []),
        ({}, []),
        ({"ticket": "A-1"}, [("ticket", "A-1")]),
        ({"n": 7, "x": 1.5, "on": True, "off": False, "none": None},
         [("n", "7"), ("off", "false"), ("on", "true"), ("x", "1.5")]),
        ({"build": {"id": 7, "of": {"by": "ci"}}}, [("build.id", "7"), ("build.of.by", "ci")]),
        ({"a": {"b": {"c": {"d": {"e": 1}}}}}, []),
        ({"env": ["prod", "eu", None, {"x": 1}]}, [("env", "eu"), ("env", "prod")]),
        ({"k" * 300: "v" * 300}, [("k" * 200, "v" * 200)]),
        ({"a\0b": "\ud800x\x1f"}, [("a\ufffdb", "\ufffdx\ufffd")]),
    ],
)  # fmt: skip
def test_metadata_of_a_loop_is_indexed_by_name_and_value(project, metadata, expected):
    send(project, start(metadata=metadata))

    assert indexed() == [(f"metadata.{name}", value) for name, value in expected]
    assert labels.metadata_of(Session.objects.get().metadata).keys() == {name for name, _ in expected}


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (["nightly", "eu", "nightly"], ["eu", "nightly"]),
        ("single", ["single"]),
        ({"starred": True, "team": "core", "off": False, "none": None}, ["starred", "team=core"]),
        ([1, None, True, {"kind": "lesson"}, ""], ["1"]),
        ([], []),
    ],
)
def test_tags_are_indexed(project, tags, expected):
    send(project, start(), info(tags))

    assert indexed() == [("tag", tag) for tag in expected]


def test_new_tags_replace_the_former_and_an_info_without_tags_leaves_them(project):
    send(project, start(), info(["a", "b"]))
    send(project, info(None), {"type": "SessionInfo", "session_id": "s", "title": "T"})
    assert indexed() == [("tag", "a"), ("tag", "b")]
    send(project, info(["b", "c"]))
    assert indexed() == [("tag", "b"), ("tag", "c")]
    send(project, info([]))
    assert indexed() == []
    assert Session.objects.get().tags is None


def test_a_session_has_the_metadata_of_all_its_loops_up_to_a_bound(project):
    send(project, start(metadata={"env": "prod", "n": 0}), start("s.a.2", {"env": "prod", "n": 1}))
    assert Session.objects.get().metadata == {"env": ["prod"], "n": ["0", "1"]}

    send(project, *(start(f"s.a.{n}", {"message_id": f"m{n}"}) for n in range(3, 200)))
    assert len(indexed()) == labels.LABELS_MAX


def test_a_rebuild_a_repeated_stream_and_any_batching_give_the_same_labels(project):
    events = [start(metadata={"a": [1, 2]}), info(["x"]), start("s.a.2", {"b": 3}), info(["y", "z"])]
    lines = [build.line(event) for event in events]
    for line in lines:
        ingest(Batch(project.pk, "p", None, [line], "native"))
    expected, stored = indexed(), Session.objects.values_list("tags", "metadata").get()
    assert len(expected) == 5

    ingest(Batch(project.pk, "p", 0, lines, "native"))
    assert indexed() == expected
    rebuild(project)
    assert indexed() == expected
    assert Session.objects.values_list("tags", "metadata").get() == stored


def test_a_session_as_of_an_event_has_the_labels_of_that_time(project):
    send(project, start(metadata={"a": 1}), info(["x"]), start("s.a.2", {"a": 2}), info(["y"]))
    session = Session.objects.get()
    second = EventRecord.objects.filter(session=session).order_by("pk")[1].pk

    with as_of(session, second):
        past = Session.objects.get()
        assert (past.tags, past.metadata) == (["x"], {"a": ["1"]})
    assert indexed() == [("metadata.a", "1"), ("metadata.a", "2"), ("tag", "y")]


@given(st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
))  # fmt: skip
def test_any_content_gives_storable_labels(content):
    found = labels.merged({}, content)

    for name, values in found.items():
        assert len(name) <= 200
        assert all(len(value) <= 200 and "\0" not in value for value in values)
        json.dumps(values).encode("ascii")


@pytest.fixture
def three(project):
    send(project, start("one.a.1", {"env": "prod", "n": 1}), info(["x", "y"], "one"))
    send(project, start("two.a.1", {"env": "test"}), info(["y"], "two"), producer="q")
    send(project, start("three.a.1"), producer="r")


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Wanted(tag=("x",)), {"one"}),
        (Wanted(tag=("y",)), {"one", "two"}),
        (Wanted(tag=("x", "nothing")), {"one"}),
        (Wanted(metadata=(("env", "prod"),)), {"one"}),
        (Wanted(metadata=(("env", "prod"), ("env", "test"))), {"one", "two"}),
        (Wanted(metadata=(("env", "prod"), ("n", "2"))), set()),
        (Wanted(tag=("y",), metadata=(("env", "test"),)), {"two"}),
        (Wanted(metadata=(("tag", "x"),)), set()),
    ],
)
def test_sessions_are_found_by_tag_and_metadata(project, three, wanted, expected):
    assert {session.session_id for session in matching(project.pk, wanted)} == expected


def test_labels_are_found_without_reading_those_of_other_sessions(project, three):
    """Counted, not read from a plan: PostgreSQL's depends on the statistics that autovacuum gathers."""
    found = matching(project.pk, Wanted(tag=("x",), metadata=(("env", "prod"),)))
    with transaction.atomic():
        label_others(project, 200)
        few = query_work(lambda: list(found.all()))
        label_others(project, 200)
        many = query_work(lambda: list(found.all()))

    assert many <= few + 20


def label_others(project, count):
    """Add sessions with two other labels each."""
    at, first = Session.objects.count(), Session.objects.first()
    times = {name: getattr(first, name) for name in TIMES}
    sessions = Session.objects.bulk_create(
        Session(project=project, session_id=f"other-{n}", **times) for n in range(at, at + count)
    )
    SessionLabel.objects.bulk_create(
        SessionLabel(project=project, session=session, name=name, value=f"other-{session.pk}")
        for session in sessions
        for name in ("tag", "metadata.env")
    )
