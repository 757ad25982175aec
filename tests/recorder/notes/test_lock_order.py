"""A score that is given while lines are recorded: both take their locks in the same order."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from recorder.models import Project, Session
from recorder.notes import definitions, search, targets, write
from recorder.notes.definitions import Draft
from recorder.notes.write import Author
from tests.recorder.journal.spans import captures
from tests.recorder.notes.test_evaluations import span
from tests.support.wait import LONGEST_S, until

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer"),
]


def is_waited_for():
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        return cursor.fetchone()


@pytest.mark.parametrize("is_edit", [False, True])
def test_a_score_waits_for_the_index_before_it_locks_its_definition(is_edit):
    project = Project.objects.create(slug="p")
    captures.record(project, [span()])
    definitions.define(project, Draft("quality", "number"), "admin")
    author, target = Author("ci", "code", token=1), targets.find(project.pk, Session.objects.get().session_id)

    def give(value):
        try:
            if is_edit:
                write.edit(note, author, value=value)
            else:
                write.give_score(project.pk, author, target, "quality", value)
        finally:
            connection.close()

    note = write.give_score(project.pk, author, target, "quality", 3).note
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            search.lock()
            writing = pool.submit(give, 4)
            until(is_waited_for)
            definitions.definition(project.pk, "quality", "session", "code")
            note.save(update_fields=("event",))
        writing.result(timeout=LONGEST_S)

    note.refresh_from_db()
    assert note.value == 4
