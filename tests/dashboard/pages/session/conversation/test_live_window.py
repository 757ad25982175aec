"""An open page of a long loop gets the turns that a reload would show, and no others."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.http import QueryDict

from dashboard.pages.session.conversation.queries import window
from dashboard.pages.session.live import open_page
from recorder.models import LoopRecord, Turn
from recorder.pubsub.invalidation import Invalidation
from tests.support import build


@pytest.fixture
def opened(feed, project):
    """Return a function that opens the page of a loop with `turns` turns."""

    def opened(turns, **params):
        events = ((build.turn_start(index=n), build.turn_end()) for n in range(turns))
        feed(build.agent_start(), *(event for both in events for event in both))
        loop = LoopRecord.objects.get()
        query = QueryDict("&".join(f"{name}={value}" for name, value in params.items()), mutable=True)
        query.update({"session": str(loop.session_id), "loop": str(loop.pk)})
        page = open_page(project, AnonymousUser(), query)
        page.dirty_panels(None)
        return page, loop

    return opened


def turns(dirty_panels):
    return [pk for panel, pks in dirty_panels for pk in pks if panel.name == "session/conversation/turn"]


def test_a_reconnected_page_gets_the_turns_that_a_reload_shows(opened):
    page, loop = opened(100, first=3)
    assert turns(page.dirty_panels(None)) == list(
        Turn.objects.filter(loop=loop, ordinal__gte=100 - window.PAGE).values_list("pk", flat=True)
    )


def test_a_page_of_earlier_turns_gets_no_new_turns(opened):
    page, loop = opened(40, first=0, last=10)
    shown = Turn.objects.get(loop=loop, ordinal=9).pk
    later = Turn.objects.get(loop=loop, ordinal=10).pk
    touched = Invalidation(
        page.project, loops={loop.pk: page.session}, turns={shown: loop.pk, later: loop.pk, 9_999: loop.pk}
    )
    assert turns(page.dirty_panels(touched)) == [shown]


def test_a_page_that_is_open_for_long_keeps_few_turns(opened):
    page, loop = opened(1)
    for pk in range(10_000, 20_000):
        page.dirty_panels(Invalidation(page.project, turns={pk: loop.pk}, blocks={pk * 2: pk}))
    linked = page.dirty_panels(
        Invalidation(page.project, sessions={page.session}, reshaped={page.session, 77})
    )
    assert len(turns(linked)) == window.HELD
    assert turns(linked)[-1] == 19_999


def test_a_new_block_updates_the_turn_and_a_growing_block_only_itself(opened):
    page, loop = opened(1)
    turn = Turn.objects.get().pk

    def dirty(block):
        dirty_panels = page.dirty_panels(
            Invalidation(page.project, loops={loop.pk: page.session}, blocks={block: turn})
        )
        return turns(dirty_panels), [
            pk for panel, pks in dirty_panels for pk in pks if panel.name == "_shared/text-block"
        ]

    assert [dirty(7), dirty(7), dirty(8), dirty(7)] == [([turn], []), ([], [7]), ([turn], []), ([], [7])]
