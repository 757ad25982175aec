"""Which texts of events a share link shows: those that the conversation links, and no recorded lines."""

import pytest
from django.test import Client

from recorder.models import Session
from tests.dashboard.pages.share.conftest import FOREIGN
from tests.support.small_loop import Loop, now

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def events(feed):
    """Return the first event of each type of a session whose requests and other lines hold FOREIGN."""
    loop = Loop("texts")
    system = {"role": "system", "content": [{"type": "text", "text": FOREIGN}], "timestamp": 1}
    kinds = {"loop_id": loop.id, "turn_index": 0, "timestamp": now()}
    feed(
        loop.start(),
        loop.turn(),
        {"type": "TurnRequest", "payload": {"messages": [system], "tools": [{"name": FOREIGN}]}, **kinds},
        {"type": "MessageEnd", "loop_id": loop.id, "message": system},
        {"type": "SomethingElse", "loop_id": loop.id, "text": FOREIGN, "lines": [FOREIGN] * 40},
        *loop.prompt("the prompt"),
        loop.tool("c1", "db", query="select"),
        loop.tool_end("c1", "the result", "db"),
        loop.turn_end("Done."),
        loop.end(),
    )
    session = Session.objects.get(session_id="texts")
    rows = session.eventrecord_set.order_by("-pk").values_list("type", "pk")
    return session, dict(rows), [pk for _, pk in rows]


def text_of(path, event, at):
    return Client().get(f"{path}/events/{event}/text{at}", headers={"HX-Request": "true"})


def test_what_the_conversation_links_is_shown(events, share):
    session, first, every = events
    path = share("session", session.pk)
    prompt = next(
        pk for pk in every if b"the prompt" in text_of(path, pk, "?at=message.content.0.text").content
    )
    assert text_of(path, prompt, "?at=message.content.0.text").status_code == 200
    assert b"select" in text_of(path, first["ToolExecutionStart"], "?at=args").content
    assert b"the result" in text_of(path, first["ToolExecutionEnd"], "?at=result.content").content


@pytest.mark.parametrize("is_masked", [True, False])
def test_no_recorded_line_and_no_other_path_is_shown(events, share, is_masked):
    session, first, every = events
    path = share("session", session.pk, is_masked=is_masked)
    for event in every:
        for at in ("", "?at=", "?at=type", "?at=message", "?at=messages", "?at=messages.0.content.0.text"):
            assert text_of(path, event, at).status_code == 404, at
    assert text_of(path, first["TurnRequest"], "?at=payload.messages").status_code == 404
    assert text_of(path, first["TurnRequest"], "?at=payload").status_code == 404
    assert text_of(path, first["AgentStart"], "?at=config_snapshot").status_code == 404
    assert text_of(path, first["ToolExecutionStart"], "?at=args.query").status_code == 404
    assert text_of(path, first["SomethingElse"], "?at=text").status_code == 404
    systems = [text_of(path, event, "?at=message.content.0.text").content.decode() for event in every]
    assert not any(FOREIGN in text for text in systems)


def test_the_page_has_no_link_to_a_text_that_is_not_shown(events, share):
    html = Client().get(share("session", events[0].pk)).content.decode()
    assert "/text?at=" not in html.replace("/text?at=message", "").replace("/text?at=result", "")
