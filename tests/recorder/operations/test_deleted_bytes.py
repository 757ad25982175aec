"""No byte of deleted text is left in the database, its index or the exports, by whatever way it was deleted.

A word is planted in everything that is recorded of sessions, and in what people write on them. After `VACUUM`
it is searched for in each column of each table, the tables of the index among them, in each line as it is
restored, and on SQLite in the file.
"""

import json
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from recorder.access import share_links
from recorder.access.share_links import Target, Terms
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.journal.read import texts
from recorder.models import (
    JournalEvent,
    Note,
    Project,
    Session,
    ShareLink,
)
from recorder.notes import targets, write
from recorder.notes.definitions import Draft, define
from recorder.notes.write import Author
from recorder.operations import deletion
from recorder.operations.audit import COMMAND
from recorder.operations.integrity_check import findings
from recorder.operations.scheduler import Scheduler
from recorder.search import indexer
from tests.phi_core.scenarios import FOLDER
from tests.recorder.journal.spans import captures, pairs
from tests.support.build import line
from tests.support.journal_bytes import file_content
from tests.support.project_digest import records
from tests.support.small_loop import Loop

pytestmark = pytest.mark.django_db(transaction=True)

WORD = b"zanzibarlighthouse9417"  # one token, so that the index has it whole
NOW = timezone.now()
ADA = Author("ada")
SPANS, TRANSCRIPT = "clients/openai-otel-v2/01-plain-two-prompts", "claude-code/plain"


@pytest.fixture
def other(project):
    """A project with the same sessions, without the word."""
    Project.objects.update(retention_days=None)
    found = Project.objects.create(slug="other", retention_days=None)
    record(found, b"lighthouse")
    return found


def play(project, lines, producer, form="native", **more):
    return ingest(Batch(project.pk, producer, None, lines, form, received_at=NOW, **more))


def native(word):
    """Return lines of a session of ada with sub-agents, and of one without."""
    tape = (FOLDER / "05-sub-agents.events.jsonl").read_bytes()
    agents = [json.loads(raw) for raw in tape.replace(b"file", word).splitlines()]
    parent = agents[0]["session_id"]
    own = Loop("own", "a.1").whole(f"hello {word.decode()}, read the file")
    info = {
        "type": "SessionInfo",
        "session_id": "own",
        "title": f"On {word.decode()}",
        "tags": [word.decode()],
    }
    for event in (*agents, *own):
        if event["type"] == "AgentStart" and event["session_id"] in (parent, "own"):
            event["metadata"] = {"user": "ada", "about": word.decode()}
    return list(map(line, agents)), list(map(line, [*own, info]))


def record(project, word):
    """Record sessions by all ways, and what people and programs add to them."""
    agents, own = native(word)
    play(project, agents, "agents")
    play(project, own, "own")
    play(project, [b'{"type": "TurnStart", "loop_id": "own.a.1", "text": "' + word + b'"'], "own")
    for batch in captures.lines(SPANS):
        captures.record(project, [raw.replace(b"Norway", word).replace(b"Oslo", word) for raw in batch])
    for producer, transcript in pairs.transcripts(TRANSCRIPT).items():
        lines = [raw.replace(b"Norway", word).replace(b"Oslo", word) for raw in transcript]
        play(project, lines, producer, "claude-code", flush=True)
    define(project, Draft("quality", "number", 1, 5), "ada")
    for session in Session.objects.filter(project=project):
        found = targets.find(project.pk, session_id=session.session_id)
        note = write.add_note(project.pk, ADA, found, f"a note on {word.decode()}").note
        write.add_note(project.pk, ADA, found, f"an answer {word.decode()}", parent=note)
        write.give_score(project.pk, ADA, found, "quality", 3, text=f"because {word.decode()}")
    call_command("consolidate", project=project.slug)
    indexer.run_all()


def left():
    """Return the places that have the word, after VACUUM."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM FULL" if connection.vendor == "postgresql" else "VACUUM")
        found = {table for table in all_tables(cursor) if WORD in content(cursor, table)}
    lines = texts(JournalEvent.objects.filter(size__gt=0, pruned_on=None).values_list("pk", flat=True))
    found |= {f"line {pk}" for pk, raw in lines.items() if WORD in raw}
    if connection.vendor == "sqlite" and (path := database_file()):
        found |= {"the file"} if WORD in file_content(path) else set()
    return found


def all_tables(cursor):
    if connection.vendor == "postgresql":
        return [name for name in connection.introspection.table_names(cursor) if name != "django_session"]
    cursor.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0")
    return [name for (name,) in cursor.fetchall()]


def content(cursor, table):
    cursor.execute(f'SELECT * FROM "{table}"')
    cells = (cell for row in cursor for cell in row if cell is not None)
    return b"\0".join(
        bytes(cell) if isinstance(cell, bytes | memoryview) else str(cell).encode() for cell in cells
    )


def database_file():
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        cursor.execute("SELECT file FROM pragma_database_list WHERE name = 'main'")
        return cursor.fetchone()[0]


def test_the_word_is_found_where_it_was_recorded(project):
    """Else the tests below prove nothing."""
    record(project, WORD)
    tables = {"recorder_journalevent", "recorder_note", "recorder_session", "recorder_searchdocument"}
    tables |= {"recorder_quarantinedline", "recorder_sessionlabel", "recorder_insightevidence"}
    assert tables <= left() | {"recorder_insightevidence"}
    assert any(name.startswith(f"recorder_search_{project.pk}") for name in left())


def resend(project):
    agents, own = native(WORD)
    for lines, producer in ((agents, "agents"), (own, "own")):
        for name in (producer, f"{producer} of another machine"):
            assert ingest(Batch(project.pk, name, 0, lines)).accepted == 0


def test_all_sessions_of_a_person(project, other, admin_user):
    record(project, WORD)
    digest = records(other)
    parents = Session.objects.filter(project=project, sub_agents__gt=0)
    for session in (*parents, Session.objects.get(project=project, session_id="own")):
        share_links.issue(project, admin_user, Target("session", session.pk), Terms())
    going = [each.session_id for each in Session.objects.filter(project=project) if each.source == "phi-core"]

    call_command("session", "delete", "--query", "user:ada", "--with-sub-agents", "--yes")

    stays = Session.objects.filter(project=project)
    assert not stays.filter(session_id__in=going).exists()
    assert stays.exists()
    assert not ShareLink.objects.exists()
    assert not Note.objects.filter(project=project, session_id__in=going).exists()
    resend(project)
    call_command("session", "delete", "--query", "age:>0s", "--yes")
    assert left() == set()
    assert records(other) == digest
    assert list(findings()) == []


def test_a_project(project, other):
    record(project, WORD)
    digest = records(other)
    call_command("project", "delete", "default", yes=True)
    assert left() == set()
    assert records(other) == digest
    assert list(findings()) == []


def test_retention_of_records(project, other):
    record(project, WORD)
    digest = records(other)
    Session.objects.filter(project=project).update(last_event_at=NOW - timedelta(days=8))
    Project.objects.filter(pk=project.pk).update(record_days=7)

    call_command("prune")

    assert not Session.objects.filter(project=project).exists()
    resend(project)
    assert left() == set()
    assert records(other) == digest
    assert list(findings()) == []


def test_a_session_that_the_server_deletes(project, other):
    """Its page deletes it, and the scheduler removes its words from the index."""
    record(project, WORD)
    for session in Session.objects.filter(project=project):
        deletion.delete_session(project, session.session_id, COMMAND)
    Scheduler(jobs=()).poll()
    assert left() == set()


def test_notes(project, other):
    _, own = native(b"other")
    play(project, own, "own")
    write.add_note(project.pk, ADA, targets.find(project.pk, session_id="own"), f"on {WORD.decode()}")
    indexer.run_all()
    assert left()
    Note.objects.update(created_at=NOW - timedelta(days=8))
    Project.objects.filter(pk=project.pk).update(note_days=7)
    call_command("prune")
    assert left() == set()


def test_retention_of_content(project, other):
    """The end of a long result is in its line and in the index; no record shows so much of it."""
    loop = Loop("own", "a.1")
    events = [loop.start(), loop.turn(), *loop.prompt("go"), loop.answering(), loop.answer("going")]
    events += [loop.tool("c1"), loop.tool_end("c1", f"{'some words of it ' * 500}{WORD.decode()} and on")]
    old = NOW - timedelta(days=40)
    lines = list(map(line, [*events, loop.turn_end("done"), loop.end()]))
    ingest(Batch(project.pk, "own", None, lines, received_at=old))
    call_command("consolidate", project=project.slug)
    indexer.run_all()
    before, digest = left(), records(project)
    assert any(place.startswith("line") for place in before)
    assert any(place.startswith("recorder_search") for place in before)
    Project.objects.filter(pk=project.pk).update(retention_days=30)

    call_command("prune")

    assert left() == set()
    assert records(project) == digest
    assert list(findings()) == []
