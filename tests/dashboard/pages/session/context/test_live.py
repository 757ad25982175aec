"""The tab Context while it is open: what redraws it, and that it keeps the chosen turn and the filter."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.http import QueryDict

from dashboard.pages.session import panels
from dashboard.pages.session.live import open_page
from recorder.ledger import follower
from recorder.models import Session, Turn
from recorder.pubsub.invalidation import Invalidation
from tests.dashboard.pages.session.conftest import words
from tests.recorder.ledger import carried_file
from tests.support import build

NAME = "session/context/context"


@pytest.fixture
def opened(project, feed):
    """Open the page of the session computed by hand, with these parameters of its socket."""
    feed(*carried_file.events())
    follower.run_all()
    session = Session.objects.get()

    def opened(query="tab=context"):
        loop = Turn.objects.first().loop_id
        page = open_page(project, AnonymousUser(), QueryDict(f"session={session.pk}&loop={loop}&{query}"))
        page.dirty_panels(None)
        return page

    return opened


def dirty(page, **touched):
    return {
        panel.name: panel for panel, pks in page.dirty_panels(Invalidation(page.project, **touched)) if pks
    }


def test_a_ledger_and_a_turn_of_the_session_redraw_it_and_others_do_not(opened):
    page = opened()
    turn = Turn.objects.first()

    assert NAME in dirty(page, ledgers={page.session})
    assert NAME in dirty(
        page, turns={turn.pk: turn.loop_id}, loops={turn.loop_id: page.session}, sessions={page.session}
    )
    assert NAME not in dirty(page, ledgers={page.session + 1})
    assert NAME not in dirty(page, sessions={page.session})
    assert NAME not in dirty(opened("tab=timeline"), ledgers={page.session})


def test_the_redrawn_panel_is_that_of_a_reload_with_its_turn_and_filter(opened, see, feed):
    query = "tab=context&turn=5&q=poetry&by=price"
    page = opened(query)
    feed(*build.small_loop("s.b.1"))
    follower.run_all()

    html = dirty(page, ledgers={page.session})[NAME].draw([page.session])[page.session]

    assert 'aria-valuemax="24"' in html
    assert 'aria-valuenow="5"' in html
    assert 'value="poetry"' in html
    shown = see(f"/p/default/sessions/{page.session}/loops/{page.loop}?{query}")
    assert html.strip() in shown.html


def test_turns_that_come_late_into_the_ledger_get_their_words_on_the_cache_and_results_their_tokens(opened):
    page = opened("tab=conversation")
    turns = list(Turn.objects.order_by("ordinal").values_list("pk", flat=True))
    touched = Invalidation(page.project, ledgers={page.session}, ledger_turns={turns[2], turns[11]})

    drawn = [pks for panel, pks in page.dirty_panels(touched) if panel.name == "session/conversation/turn"]

    assert drawn == [[turns[1], turns[2], turns[10], turns[11]]]
    read, missed = panels.TURN.draw([turns[1], turns[11]]).values()
    assert "Carried cost of the result, 10,500 tokens a turn</a>" in read
    html = missed
    assert "0% read from cache; missed: cache expired" in words(html)
    assert "tab=context&amp;scope=" in html
