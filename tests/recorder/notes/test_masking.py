"""Masking of notes, scores and bookmarks: no secret is stored, by any author."""

import pytest
from django.contrib.auth.models import User

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import Note, Project
from recorder.notes import targets, write
from recorder.notes.definitions import Draft, define
from recorder.notes.write import Author
from tests.support import build

pytestmark = pytest.mark.django_db(transaction=True)
KEY = "AKIAIOSFODNN7EXAMPLE"


@pytest.fixture
def target():
    project = Project.objects.create(slug="noted", title="Noted")
    ingest(
        Batch(project=project.pk, producer=None, first=None, lines=[build.line(build.agent_start("s.a.1"))])
    )
    define(project, Draft("quality", "number", 1, 5), "mira")
    return project.pk, targets.find(project.pk, "s")


def authors():
    person = User.objects.create_user("mira")
    return [Author("mira", user=person), Author(f"judge {KEY}", source=Note.Source.JUDGE, token=1)]


def test_no_secret_of_a_note_a_score_or_a_bookmark_is_stored(target):
    project, at = target
    for author in authors():
        note = write.add_note(project, author, at, f"the key is {KEY}").note
        write.add_note(project, author, at, f"reply {KEY}", parent=note)
        write.give_score(project, author, at, "quality", 4, text=f"uses {KEY}")
        write.add_bookmark(project, author, at, f"here {KEY}")
        changed = write.add_note(project, author, at, "plain").note
        write.edit(changed, author, text=f"now {KEY}")
    rows = list(Note.objects.all())
    assert len(rows) == 10
    for row in rows:
        assert KEY not in f"{row.text} {row.author}"
        assert "[masked:aws-access-key-id:" in row.text
    assert {row.author for row in rows if row.user} == {"mira"}


def test_a_score_that_is_repeated_with_a_secret_is_the_same(target):
    project, at = target
    author = authors()[1]
    first = write.give_score(project, author, at, "quality", 4, text=KEY)
    again = write.give_score(project, author, at, "quality", 4, text=KEY)
    assert (first.is_new, again.is_new, again.note.edited_at) == (True, False, None)
