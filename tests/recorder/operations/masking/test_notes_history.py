"""`mask --history` masks notes, scores and bookmarks that were written before a rule was on."""

from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from recorder.masking.matcher import OwnPattern, RuleSettings
from recorder.masking.project_rules import masker_of, save
from recorder.models import AuditEntry, Note, NoteRevision, Project, SearchDocument
from recorder.notes import targets, write
from recorder.notes.definitions import Draft, define
from recorder.notes.masking import mask_notes
from recorder.notes.write import Author
from recorder.operations.audit import COMMAND
from recorder.operations.masking import history as masking_history
from tests.recorder.operations.secret_sessions import RULES, SECRET, play, whole
from tests.support.journal_bytes import file_content

pytestmark = pytest.mark.django_db(transaction=True)
PERSON = "zanzibar-mira-1"  # the rule matches the name of this person, too


@pytest.fixture
def noted(project):
    """Return a project with entries of a person and a judge that quote a secret, and one without it."""
    play(project, whole("s", "nothing to hide"))
    define(project, Draft("quality", "number", 1, 5), PERSON)
    at = targets.find(project.pk, "s")
    person = Author(PERSON, user=User.objects.create_user(PERSON))
    judge = Author(f"judge {SECRET}", source=Note.Source.JUDGE, token=1)
    note = write.add_note(project.pk, person, at, f"the place is {SECRET}").note
    write.add_note(project.pk, person, at, f"reply {SECRET}", parent=note)
    write.give_score(project.pk, judge, at, "quality", 4, text=f"names {SECRET}")
    write.add_bookmark(project.pk, person, at, f"here {SECRET}")
    edited = write.add_note(project.pk, person, at, f"was {SECRET}").note
    write.edit(edited, person, text="is plain")
    write.resolve(edited, judge, is_resolved=True)
    write.add_note(project.pk, person, at, "plain")
    save(project.pk, RULES)
    return project


def texts():
    notes = Note.objects.values_list("text", "author", "resolved_by")
    revisions = NoteRevision.objects.values_list("text", "resolved_by", "changed_by")
    documents = SearchDocument.objects.values_list("text")
    return "\n".join(str(row) for rows in (notes, revisions, documents) for row in rows)


def test_texts_earlier_texts_and_names_of_programs_are_masked(noted):
    assert SECRET in texts()
    done = masking_history.run(noted, COMMAND)
    assert (done.lines, done.notes) == (0, 5)
    assert SECRET not in texts()
    assert NoteRevision.objects.get().text.startswith("was [masked:place:")
    judge = Note.objects.get(kind="score")
    assert judge.author.startswith("judge [masked:place:")
    assert (judge.value, judge.name) == (4, "quality")
    assert AuditEntry.objects.get(action="masking.history").after["notes"] == 5


def test_names_of_people_and_other_entries_stay(noted):
    masking_history.run(noted, COMMAND)
    assert set(Note.objects.filter(source="human").values_list("author", flat=True)) == {PERSON}
    assert NoteRevision.objects.get().changed_by == PERSON
    assert Note.objects.filter(text="plain").exists()


def test_a_second_run_changes_nothing_and_other_projects_stay(noted):
    other = Project.objects.create(slug="other")
    play(other, whole("o", "text"))
    at = targets.find(other.pk, "o")
    write.add_note(other.pk, Author(PERSON, user=User.objects.get()), at, SECRET)
    masking_history.run(noted, COMMAND)
    before = texts()
    assert masking_history.run(noted, COMMAND).notes == 0
    assert texts() == before
    assert Note.objects.filter(project=other, text=SECRET).exists()


def test_notes_of_lines_that_change_too_are_masked(project):
    play(project, whole("s", f"go to {SECRET}"))
    person = Author("mira", user=User.objects.create_user("mira"))
    write.add_note(project.pk, person, targets.find(project.pk, "s"), f"it said {SECRET}")
    save(project.pk, RULES)
    done = masking_history.run(project, COMMAND)
    assert done.lines > 0
    assert done.notes == 1
    assert SECRET not in texts()


def test_the_command_counts_them_first(noted):
    before, out = texts(), StringIO()
    call_command("mask", "--history", "--dry-run", stdout=out)
    assert "and 5 notes, scores or bookmarks would be masked" in out.getvalue()
    assert texts() == before
    out = StringIO()
    call_command("mask", "--history", stdout=out)
    assert "and 5 notes, scores or bookmarks masked" in out.getvalue()
    assert "VACUUM" in out.getvalue()


@pytest.mark.sqlite
def test_no_byte_of_them_is_in_the_file_after_vacuum(noted):
    file = Path(connection.settings_dict["NAME"])
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert SECRET.encode() in file_content(file), "else this tests nothing"
    call_command("mask", "--history", stdout=StringIO())
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for each in file.parent.glob(f"{file.name}*"):
        assert b"lighthouse-9417" not in file_content(each)


def test_twice_the_notes_take_at_most_twice_the_queries(project):
    play(project, whole("s", "text"))
    at = targets.find(project.pk, "s")
    person = Author("mira", user=User.objects.create_user("mira"))
    save(project.pk, RuleSettings())
    counts = []
    for size in (20, 20):
        for _ in range(size):
            write.add_note(project.pk, person, at, SECRET)
        save(project.pk, RuleSettings(patterns=(OwnPattern("place", SECRET),)))
        with CaptureQueriesContext(connection) as queries:
            assert mask_notes(project.pk, masker_of(project.pk), write=False) == Note.objects.count()
        save(project.pk, RuleSettings())
        counts.append(len(queries))
    assert counts[1] <= 2.5 * counts[0]
