"""The flame graph while it is open: what redraws it, and that it is what a reload shows."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.http import Http404, QueryDict

from dashboard.live.viewer import PageGone
from dashboard.pages.flame.figure import label_of
from dashboard.pages.flame.live import open_page
from recorder.models import Project, Session
from recorder.pubsub.invalidation import Invalidation
from tests.support import build
from tests.support.small_loop import Loop


def opened(project, name, query=""):
    pk = Session.objects.get(session_id=name).pk
    page = open_page(project, AnonymousUser(), QueryDict(f"session={pk}&{query}"))
    page.dirty_panels(None)
    return page


def touched(page, **changed):
    return page.dirty_panels(Invalidation(page.project, **changed))


def test_a_change_of_a_drawn_session_redraws_it_as_a_reload_shows(client, project, see, feed):
    loop = Loop("one")
    feed(loop.start(), *loop.whole_turn("first"))
    see()
    page = opened(project, "one", "by=tokens")

    feed(*loop.whole_turn("second"))
    ((panel, pks),) = touched(page, sessions={page.session})

    html = panel.draw(pks)[page.session]
    assert "Turn 2" in html
    assert html.strip() in client.get(f"/p/default/sessions/{page.session}/flame?by=tokens").content.decode()
    assert touched(page, ledgers={page.session})
    assert not touched(page, sessions={page.session + 100})


def test_a_sub_agent_that_begins_later_redraws_it_too(project, see, feed):
    feed(build.agent_start("one.a.1"), build.turn_start("one.a.1"), build.tool_start("one.a.1"))
    see()
    page = opened(project, "one")
    child = page.session + 1

    assert not touched(page, sessions={child})
    assert touched(page, sessions={child}, reshaped={page.session})
    assert touched(page, sessions={child})


def test_a_deleted_session_ends_the_page_and_a_past_one_is_never_redrawn(project, see, feed):
    feed(*Loop("one").whole("first"))
    see()

    assert not touched(opened(project, "one", "at=1"), sessions={Session.objects.get().pk})
    with pytest.raises(PageGone):
        touched(opened(project, "one"), deleted={Session.objects.get().pk})


def test_a_session_of_another_project_has_no_live_page(project, see, feed):
    feed(*Loop("one").whole("first"))
    other = Project.objects.create(slug="other")
    see()

    with pytest.raises(Http404):
        opened(other, "one")
    with pytest.raises(Http404):
        opened(project, "one", "with=999")


def test_a_label_has_room_in_its_box():
    assert label_of("Turn 12", 100) == ("Turn 12", "")
    assert label_of("Turn 12", 6) == ("Turn 12", "label-wide")
    assert label_of("Turn 12", 2) == ("", "")
    assert label_of("word " * 2_000, 100)[0].endswith("word\N{HORIZONTAL ELLIPSIS}")
    assert len(label_of("word " * 2_000, 100)[0]) < 60
    assert label_of("W" * 10_000, 100) == ("", ""), "a cut word is no part of the accessible name"
