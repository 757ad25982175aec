"""`file:` and `tool.arg:` read the whole arguments of tool calls, not only the summary of the record."""

from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dashboard.query_conditions.conditions import loop_condition, session_condition, tool_call_condition
from dashboard.query_conditions.queries import arguments
from dashboard.query_language import parse
from recorder.core.search.event_texts import HEAD_BYTES
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import LoopRecord, Project, Session, ToolCall
from recorder.search import indexer
from tests.support import build
from tests.support.small_loop import Loop

NOW = datetime(2100, 1, 1, tzinfo=UTC)
LONG = "word " * 100  # more than the summary of a call has


@pytest.fixture
def project(transactional_db):
    return Project.objects.create(slug="default")


@pytest.fixture
def record(project):
    """Return a function that records a session with one tool call."""

    def record(session, of=project, **args):
        loop = Loop(session)
        events = [loop.start(), loop.turn(), loop.tool("c1", **args), loop.tool_end("c1", "src/result.py")]
        ingest(Batch(of.pk, session, None, [build.line(event) for event in events], "native"))
        indexer.run_all()

    return record


@pytest.fixture
def found(project):
    """Return a function that searches for sessions, after loops and tool calls agreed."""

    def found(text):
        node = parse(text)
        sessions = Session.objects.filter(session_condition(project.pk, node, NOW), project=project)
        loops = LoopRecord.objects.filter(loop_condition(project.pk, node, NOW), session__project=project)
        calls = ToolCall.objects.filter(
            tool_call_condition(project.pk, node, NOW), loop__session__project=project
        )
        names = set(sessions.values_list("session_id", flat=True))
        assert set(loops.values_list("session__session_id", flat=True)) == names
        assert set(calls.values_list("loop__session__session_id", flat=True)) == names
        return names

    return found


@pytest.mark.parametrize("key", ["file", "tool.arg"])
def test_a_path_beyond_the_summary_is_found(record, found, key):
    record("first", command=f"{LONG} src/app/models.py")
    record("second", path="src/app/models.py")
    record("other", command=f"{LONG} src/app/views.py")

    assert found(f"{key}:src/app/models.py") == {"first", "second"}
    assert found(f"{key}:app/MODELS") == {"first", "second"}
    assert found(f"{key}:[models.py,views.py]") == {"first", "second", "other"}
    assert found(f"-{key}:src/app/models.py") == {"other"}
    assert found(f"{key}:src/result.py") == set()  # of a result


def test_the_recorded_arguments_decide_about_signs_between_words(record, found):
    record("path", command=f"{LONG} src/app.py")
    record("words", command=f"{LONG} src app py")

    assert found("file:src/app.py") == {"path"}
    assert found('tool.arg:"src app py"') == {"words"}


def test_a_value_that_begins_so_is_found_in_any_argument(record, found):
    record("begins", text=LONG, more=[{"path": "src/app.py"}])
    record("holds", text=LONG, more=[{"path": "lib/src/app.py"}])

    assert found("file:src/*") == {"begins"}
    assert found("file:src/ap*") == {"begins"}


def test_any_script_and_json_within_json_is_found(record, found):
    record("chinese", command=f"{LONG} 修改服务端的计划.md")
    record("escaped", body=f'{LONG} {{"path": "\\u5317\\u4eac/caf\\u00e9.txt"}}')

    assert found("file:服务端") == {"chinese"}
    assert found("file:北京/CAFÉ.txt") == {"escaped"}
    assert found("file:--") == set()


def test_the_end_of_very_long_arguments_is_found(record, found):
    record("long", body="x " * HEAD_BYTES + "src/last.py")

    assert found("file:src/last.py") == {"long"}


def test_of_a_text_in_many_calls_the_words_decide_and_no_line_is_read(record, found, monkeypatch):
    monkeypatch.setattr(arguments, "CHECKED", 1)
    record("path", command=f"{LONG} src/app.py")
    record("words", command=f"{LONG} src app py")
    record("other", command=f"{LONG} src/views.py")
    monkeypatch.setattr(arguments, "texts", None)

    assert found("file:src/app.py") == {"path", "words"}


def test_one_query_reads_a_bounded_number_of_calls(record, project, monkeypatch):
    monkeypatch.setattr(arguments, "CHECKED", 3)
    for number in range(4):
        record(f"s{number}", command=f"{LONG} src/app{number}.py")
    read = []
    texts = arguments.texts
    monkeypatch.setattr(arguments, "texts", lambda lines: read.extend(lines) or texts(lines))
    query = " OR ".join(f"file:src/app{number}.py" for number in range(4))

    sessions = Session.objects.filter(session_condition(project.pk, parse(query), NOW))

    assert len(read) == 3
    assert sessions.count() == 4


def test_other_projects_are_not_searched(record, found):
    record("secret", of=Project.objects.create(slug="other"), command=f"{LONG} src/app.py")

    assert found("file:src/app.py") == set()


def test_the_number_of_queries_does_not_grow_with_the_calls(record, project):
    counts = []
    for number in range(20):
        record(f"s{number}", command=f"{LONG} src/app.py")
        with CaptureQueriesContext(connection) as done:
            list(Session.objects.filter(session_condition(project.pk, parse("file:src/app.py"), NOW)))
        counts.append(len(done))

    assert counts[0] == counts[-1] <= 7
