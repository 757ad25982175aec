"""Parts of values: a masked link shows none, wherever a text is cut."""

import re

import pytest
from django.test import Client

from dashboard.pages.session.events.bodies import PREVIEW
from dashboard.pages.share.mask import HELD, stream_parts
from recorder.masking.catalogue import CANDIDATES
from recorder.masking.masker import Masker
from recorder.masking.matcher import RuleSettings, compile_rules
from recorder.models import Session
from tests.support.small_loop import Loop

pytestmark = pytest.mark.django_db(transaction=True)
VALUE = "Xk39fQ7zLm42Tw8r"
EVERY = Masker(compile_rules(RuleSettings(on=frozenset(rule.name for rule in CANDIDATES))), b"k" * 32)
FRAGMENT = {"HX-Request": "true"}


@pytest.fixture
def parted(feed):
    """A session with a tool call whose arguments and long result hold a value of a candidate rule."""
    loop = Loop("parted")
    feed(
        loop.start(),
        loop.turn(),
        loop.tool("c1", "db", password=VALUE),
        loop.tool_end("c1", "x " * 7_993 + f"db_password={VALUE} end\n" + "y\n" * 20_000, "db"),
        loop.turn_end("Done."),
        loop.end(),
    )
    return Session.objects.get(session_id="parted")


def event_of(session, kind):
    return session.eventrecord_set.filter(type=kind).first().pk


def test_a_text_is_masked_before_it_is_cut(parted, share):
    path = f"{share('session', parted.pk)}/events/{event_of(parted, 'ToolExecutionEnd')}/text"
    for start in range(15_980, 16_030, 3):
        html = Client().get(f"{path}?at=result.content&from={start}", headers=FRAGMENT).content.decode()
        assert not re.search(f"{VALUE[-6:]}|{VALUE[:6]}", html), start
    assert VALUE not in Client().get(f"{path}?at=result.content").content.decode()


def test_a_value_is_masked_by_the_name_of_its_key(parted, share):
    path = f"{share('session', parted.pk)}/events/{event_of(parted, 'ToolExecutionStart')}/text"
    for url in (f"{path}?at=args", f"{path}?at=args.password"):
        for headers in (FRAGMENT, {}):
            assert VALUE not in Client().get(url, headers=headers).content.decode(), url


def test_a_preview_of_a_page_is_masked_before_it_is_cut(feed, share):
    loop = Loop("preview")
    begin = "word " * 3_300
    text = f"{begin[: PREVIEW - 20]} db_password={VALUE} {begin}"
    feed(loop.start(), loop.turn(), *loop.prompt(text), loop.end())
    session = Session.objects.get(session_id="preview")
    html = Client().get(share("session", session.pk)).content.decode()
    assert "word word" in html
    assert VALUE[:6] not in html


def test_a_note_is_masked_before_it_is_cut(feed, share):
    loop = Loop("note")
    text = "word " * 794 + f"the db_password={VALUE} " + "word " * 50
    assert VALUE[:8] in text[:4_000]
    assert VALUE not in text[:4_000]
    feed(loop.start(), loop.turn(), loop.approval("c1", text), loop.end())
    session = Session.objects.get(session_id="note")
    html = Client().get(share("session", session.pk)).content.decode()
    assert "word word" in html
    assert VALUE[:5] not in html


def test_no_part_of_a_value_of_a_stream_is_shown_wherever_it_is_divided():
    text = "word " * 200 + f"password= {VALUE} then " + "é " * 400
    for first in range(980, 1_060):
        for until in range(first, first + 300, 7):
            parts = stream_parts(EVERY, [text[:first], text[first:until]])
            assert not re.search(f"{VALUE[:4]}|{VALUE[-4:]}", "".join(parts)), (first, until)
    whole = "".join(stream_parts(EVERY, [text[:1_020], text[1_020:]]))
    assert EVERY.mask_text(text).startswith(whole)
    assert len(whole.encode()) >= len(EVERY.mask_text(text).encode()) - HELD - 10


def test_a_complete_part_of_a_stream_stays_when_others_follow():
    text = f"password= {VALUE} and some words more. " * 60
    for end in (600, 700, 1_000):
        first, _ = stream_parts(EVERY, [text[:500], text[500:end]])
        assert stream_parts(EVERY, [text[:500]]) == [first]


def test_an_open_stream_and_a_cut_title_show_no_part_of_a_value(feed, share):
    loop = Loop("open")
    title = "Pay with the card " + "x" * 70 + " 4111 1111 1111 1111 today " + "y " * 200
    feed(
        loop.start(), loop.turn(), *loop.prompt(title), loop.answering(),
        loop.delta("It is here. " * 40), loop.delta(f"password={VALUE[:4]}"),
    )  # fmt: skip
    session = Session.objects.get(session_id="open")
    session.title = "Pay with 4111 1111 1…"
    session.save()
    html = Client().get(share("session", session.pk)).content.decode()
    assert "It is here." in html
    assert VALUE[:4] not in html
    assert "4111" not in html
