"""Mentions that are removed: the navigation of the user who was mentioned shows the new count at once."""

import pytest
from django.contrib.auth.models import User

from recorder.models import Mention
from recorder.notes import targets, write
from recorder.notes.write import Author
from recorder.pubsub import invalidation
from tests.support import build


@pytest.fixture
def mentioned(project, feed):
    """A note of mira that mentions ada."""
    feed(*build.small_loop("s.a.1"))
    mira, ada = (User.objects.create_user(name) for name in ("mira", "ada"))
    for user in (mira, ada):
        project.memberships.create(user=user)
    author = Author("mira", user=mira)
    note = write.add_note(project.pk, author, targets.find(project.pk, "s"), "@ada, look.").note
    assert Mention.objects.get().user == ada
    return project, author, note, ada


@pytest.mark.parametrize("change", ["edit", "delete", "delete the session's"])
def test_a_mention_that_goes_is_published_to_who_was_mentioned(
    mentioned, change, django_capture_on_commit_callbacks
):
    project, author, note, user = mentioned
    touched = []
    invalidation.subscribe(touched.append)
    try:
        with django_capture_on_commit_callbacks(execute=True):
            if change == "edit":
                write.edit(note, author, text="Never mind.")
            elif change == "delete":
                write.delete(note, author)
            else:
                write.delete_of_session(project.pk, "s")
    finally:
        invalidation.unsubscribe(touched.append)
    assert any(user.pk in each.people for each in touched)
