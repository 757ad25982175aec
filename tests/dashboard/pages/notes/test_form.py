"""The page on which a note, a score or a bookmark is written."""

from recorder.models import LoopRecord, Session
from tests.dashboard.pages.session.conftest import words
from tests.support import build


def test_a_form_names_the_session_by_its_title(feed, see):
    feed(*build.small_loop("s.a.1"))
    Session.objects.update(title="Fix the parser")
    url = f"/p/default/sessions/{Session.objects.get().pk}/notes/new"

    assert "On the session: Fix the parser" in words(see(url).html)
    assert "On turn 1: Fix the parser" in words(see(f"{url}?loop={LoopRecord.objects.get().pk}&turn=0").html)
