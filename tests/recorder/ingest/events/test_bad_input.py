"""Every hostile line of the sample is answered, its neighbours are stored, and pages still answer."""

import base64
import json
from pathlib import Path

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth.models import User
from django.test import Client as Browser
from django.urls import reverse

from recorder.journal.read import texts
from recorder.models import Anomaly, JournalEvent, LoopRecord, QuarantinedLine, Session
from tests.support.build import agent_start, line, tool_start, turn_start
from tests.support.endpoint_clients import Client, post

SAMPLE = [json.loads(each) for each in Path("tests/tapes/bad_inputs_sample.jsonl").read_text().splitlines()]
SESSION, LOOP, PRODUCER = "hostile", "hostile.main.1", "p"
BEFORE = [
    line(agent_start(LOOP, session=SESSION)),
    line(turn_start(LOOP)),
    line(tool_start(LOOP, call="tc-1")),
    line(tool_start(LOOP, call="tc-9")),
]
AFTER = line(
    {"type": "ProgressMessage", "loop_id": LOOP, "tool_call_id": "tc-9", "tool_name": "t", "text": "on"}
)
NEXT = len(BEFORE)


def of(transport):
    return [pytest.param(each, id=each["name"]) for each in SAMPLE if each["transport"] == transport]


def filled(text, token=""):
    words = {"{{L}}": LOOP, "{{S}}": SESSION, "{{P}}": PRODUCER, "{{N}}": "7", "{{INGEST_TOKEN}}": token}
    words |= {'"{{NEXT-1}}"': str(NEXT - 1), "{{NEXT}}": str(NEXT), "{{LAST1}}": BEFORE[-1].decode()}
    for word, meant in words.items():
        text = text.replace(word, meant)
    return text


@pytest.mark.parametrize("sample", of("event"))
async def test_a_hostile_event_costs_only_itself(token, sample):
    raw, expect = filled(sample["raw"]).encode(), sample["expect"]
    async with Client(token) as client:
        await client.hello(PRODUCER)
        await client.send(0, *BEFORE)
        await client.send(NEXT, raw, AFTER)
        rejected = await client.upto(NEXT + 1)

        assert [(each["seq"], each["code"]) for each in rejected] == (
            [(NEXT, expect["code"])] if expect["line"] == "reject" else []
        )
        await database_sync_to_async(check)(expect, raw)


@pytest.mark.parametrize("sample", of("ws"))
async def test_a_hostile_frame_gets_the_answer_it_names(token, sample):
    async with Client(token) as client:
        await client.hello(PRODUCER)
        await client.send(0, *BEFORE)
        await client.upto(NEXT - 1)
        await client.send_frame(filled(sample["raw"]))
        received = await client.receive()

    reply = json.loads(filled(json.dumps(sample["expect"]["reply"])))
    assert {name: received[name] for name in reply} == reply
    assert await database_sync_to_async(JournalEvent.objects.count)() == NEXT + sample["expect"]["stored"]


@pytest.mark.parametrize("sample", of("http"))
def test_a_hostile_request_gets_the_answer_it_names(token, sample):
    post(b"\n".join(BEFORE), token, x_producer=PRODUCER, x_first_seq=0)
    headers = {
        name.lower().replace("-", "_"): filled(value, token) for name, value in sample["headers"].items()
    }
    packed = sample.get("raw_encoding") == "base64"
    body = base64.b64decode(sample["raw"]) if packed else filled(sample["raw"]).encode()

    answer = post(body, **headers)

    assert answer.status in sample["expect"]["http"]
    assert JournalEvent.objects.count() == NEXT + sample["expect"]["stored"]


def check(expect, raw):
    lines = list(texts(JournalEvent.objects.values_list("id", flat=True)).values())
    is_rejected = expect["line"] == "reject"
    assert lines == [*BEFORE, *([] if is_rejected else [raw]), AFTER]
    pages = shown()
    for wanted in expect["check"]:
        name, _, value = wanted.partition(":")
        CHECKS[name](value, raw, pages)


def shown():
    """Return every page that could show the line, as a signed-in person sees it."""
    browser = Browser(headers={"host": "127.0.0.1"})
    browser.force_login(User.objects.create_superuser("reader"))
    session, loop = Session.objects.get(session_id=SESSION), LoopRecord.objects.get(loop_id=LOOP)
    event = reverse("event", args=["default", JournalEvent.objects.order_by("-id").first().pk])
    loop_page = reverse("loop", args=["default", session.pk, loop.pk])
    paths = [
        reverse("sessions", args=["default"]),
        reverse("session", args=["default", session.pk]),
        *(f"{loop_page}?tab={tab}" for tab in ("conversation", "events", "json")),
        reverse("integrity", args=["default"]),
        event,
    ]
    answers = [browser.get(path, follow=True) for path in paths]
    assert [answer.status_code for answer in answers] == [200] * len(paths)
    return "".join(answer.content.decode() for answer in answers)


def quarantined(_, raw, pages):
    stored = QuarantinedLine.objects.get()
    assert bytes(stored.raw) == raw
    assert stored.code in pages


def verbatim(_, raw, pages):
    assert raw in texts(JournalEvent.objects.values_list("id", flat=True)).values()


def flagged(kind, raw, pages):
    assert Anomaly.objects.filter(kind=kind).count() == 1


def shown_as(text, raw, pages):
    assert text in pages


def inert(_, raw, pages):
    assert "&lt;b onmouseover=window.__pwned=1&gt;" in pages
    assert "<b onmouseover" not in pages


CHECKS = {
    "quarantined": quarantined,
    "raw_verbatim": verbatim,
    "flag": flagged,
    "shown_as": shown_as,
    "inert": inert,
    "page_200": lambda *_: None,  # `shown` has seen to it
}
