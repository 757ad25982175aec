"""Deleted sessions of spans and of transcripts stay deleted, whatever sends them again."""

import pytest

from recorder.core.formats.registry import READERS
from recorder.models import (
    CallFigures,
    Deletion,
    EventRecord,
    JournalEvent,
    Producer,
    Project,
    Session,
    SpanKey,
    SpanTrace,
    SpanUnit,
)
from recorder.operations import deletion
from recorder.operations.audit import COMMAND
from recorder.operations.integrity_check import findings
from recorder.projection.rebuild import rebuild
from tests.recorder.imports.transcripts.test_repeated_history import Transcript, record, resumed
from tests.recorder.journal.spans import captures, pairs
from tests.support.project_digest import records

pytestmark = pytest.mark.django_db(transaction=True)
CAPTURES = tuple(
    next(each for each in captures.CAPTURES if each.startswith(name))
    for name in ("clients/openai", "frameworks/langgraph", "frameworks/crewai", "coding_agents/codex")
)


def delete_all(project):
    for session in Session.objects.filter(project=project).order_by("pk"):
        deletion.delete_session(project, session.session_id, COMMAND)


def placed(project):
    """Count the lines of a project that have a session."""
    return EventRecord.objects.filter(journal__project=project, session__isnull=False).count()


@pytest.fixture
def project():
    return Project.objects.create(slug="p")


@pytest.mark.parametrize("capture", CAPTURES)
def test_spans_that_are_sent_again_store_nothing(project, capture):
    batches = captures.lines(capture)
    for batch in batches:
        captures.record(project, batch)
    assert Session.objects.exists()
    delete_all(project)
    left = JournalEvent.objects.count()

    for batch in batches:
        captures.record(project, batch)

    assert not Session.objects.exists()
    assert not SpanUnit.objects.exists()
    assert not SpanTrace.objects.filter(unit__isnull=False).exists()
    assert not SpanKey.objects.exists()
    assert JournalEvent.objects.count() == left
    assert placed(project) == 0
    assert list(findings()) == []
    rebuild(project)
    assert not Session.objects.exists()


@pytest.mark.parametrize("pair", pairs.PAIRS)
@pytest.mark.parametrize("first", ["spans", "transcripts"])
def test_a_session_of_spans_and_a_transcript_is_deleted_with_both(project, pair, first):
    send = {"spans": pairs.record_spans, "transcripts": pairs.record_transcripts}
    for name in (first, *send.keys() - {first}):
        send[name](project, pair)
    delete_all(project)
    assert not Session.objects.exists()
    left = JournalEvent.objects.exclude(kind="flush").count()

    for each in send.values():
        each(project, pair)

    assert not Session.objects.exists()
    assert JournalEvent.objects.exclude(kind="flush").count() == left
    assert not CallFigures.objects.filter(is_report=False).exists()
    for each in Producer.objects.exclude(reading=None):  # as of a reader that has read nothing
        assert each.reading == READERS[each.format](None, str(each.pk), lambda _: 0).state
    assert sum(Deletion.objects.values_list("dropped", flat=True)) > 0
    rebuild(project)
    assert not Session.objects.exists()


def test_history_of_a_deleted_session_stays_history_in_the_one_that_repeats_it(project):
    first = Transcript("first").prompt(0, "a")
    second = resumed("second", first, "b")
    record(first, second, project=project)
    before = [each for each in records(project) if '"session_id": "second"' in each]
    assert before

    deletion.delete_session(project, "first", COMMAND)

    assert [each for each in records(project) if '"session_id": "second"' in each] == before
    left = records(project)
    rebuild(project)
    assert records(project) == left
    record(second, first, project=project)
    assert set(Session.objects.values_list("session_id", flat=True)) == {"second"}


def test_a_file_that_begins_with_lines_of_a_deleted_session_keeps_its_rest(project):
    """Older releases repeated the history of a resumed session under its own id."""
    first = Transcript("first").prompt(0, "a")
    record(first, project=project)
    deletion.delete_session(project, "first", COMMAND)
    second = Transcript("second").prompt(100, "b")
    second.lines = [*first.lines, *second.lines]

    record(second, project=project)

    assert [(each.session_id, each.turns) for each in Session.objects.all()] == [("second", 2)]
    assert list(findings()) == []
