"""The page on which a note, a score or a bookmark is written."""

from recorder.models import LoopRecord, Membership, Session
from tests.dashboard.pages.session.conftest import words
from tests.support import build


def test_a_form_names_the_session_by_its_title(feed, see):
    feed(*build.small_loop("s.a.1"))
    Session.objects.update(title="Fix the parser")
    url = f"/p/default/sessions/{Session.objects.get().pk}/notes/new"

    assert "On the session: Fix the parser" in words(see(url).html)
    assert "On turn 1: Fix the parser" in words(see(f"{url}?loop={LoopRecord.objects.get().pk}&turn=0").html)


def test_a_form_without_scores_links_the_settings_for_who_may_define_one(feed, see):
    feed(*build.small_loop("s.a.1"))
    url = f"/p/default/sessions/{Session.objects.get().pk}/notes/new?kind=score"
    link = 'href="/p/default/settings#scores"'

    assert "Admins define scores in the settings." in words(see(url).html)
    assert link not in see(url).html
    Membership.objects.filter(user__username="reader").update(role="admin")
    assert link in see(url).html
    assert "Admins define scores" not in see(url).html
