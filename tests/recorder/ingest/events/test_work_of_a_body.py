"""What a body or a frame can cost: bounded, linear in its size, and long ones off the event loop."""

import asyncio
import json

import pytest
from django.conf import settings

from recorder.core.formats import native
from recorder.ingest.events import endpoint as http
from recorder.ingest.events.endpoint import INLINE_REJECTS
from recorder.ingest.websocket.frames import LINES_MAX, BadFrame, Lines, read
from recorder.journal import batch
from recorder.models import QuarantinedLine
from tests.support.endpoint_clients import post

BODY_LINES = settings.LOOPSCOPE_LIMITS["body_lines"]


class Count:
    """The lines that `lines_of` looks at, and whether it was on the event loop."""

    def __init__(self, monkeypatch):
        self.lines, self.on_loop = 0, set()
        monkeypatch.setattr(http, "lines_of", self._lines_of)

    def _lines_of(self, body):
        self.lines += body.count(b"\n")
        try:
            asyncio.get_running_loop()
            self.on_loop.add(True)
        except RuntimeError:
            self.on_loop.add(False)
        return batch.lines_of(body)


@pytest.mark.parametrize("line", [b"\n", b"1\n"], ids=["blank", "invalid"])
def test_a_body_of_too_many_lines_is_refused_before_any_is_read(token, monkeypatch, line):
    count = Count(monkeypatch)

    answer = post(line * (BODY_LINES + 1), token)

    assert (answer.status, answer.json["code"]) == (413, "too_large")
    assert count.lines == 0
    assert not QuarantinedLine.objects.exists()


def test_a_body_of_the_limit_of_bytes_may_have_events_of_200_bytes():
    limits = settings.LOOPSCOPE_LIMITS

    assert limits["body_lines"] * 200 >= limits["body_bytes"]


def test_as_many_blank_lines_as_allowed_are_read_off_the_event_loop_at_linear_cost(token, monkeypatch):
    count = Count(monkeypatch)
    post(b" \n" * (BODY_LINES // 2), token)
    once, count.lines = count.lines, 0
    assert post(b" \n" * BODY_LINES, token).status == 200

    assert count.lines <= 2.5 * once
    assert count.on_loop == {False}


def test_the_answer_to_many_invalid_lines_is_written_off_the_event_loop(token, monkeypatch):
    on_loop = []

    def content(receipt):
        try:
            asyncio.get_running_loop()
            on_loop.append(True)
        except RuntimeError:
            on_loop.append(False)
        return original(receipt)

    original = http._content
    monkeypatch.setattr(http, "_content", content)
    few = post(b"1\n" * INLINE_REJECTS, token)
    many = post(b"1\n" * (INLINE_REJECTS + 1), token)

    assert on_loop == [True, False]
    assert [len(each.json["rejected"]) for each in (few, many)] == [INLINE_REJECTS, INLINE_REJECTS + 1]


def test_a_frame_of_too_many_blank_lines_is_a_bad_frame():
    event = json.dumps({"type": "X"})

    assert isinstance(read("\n" * (LINES_MAX - 1) + event, is_bare=True), Lines)
    with pytest.raises(BadFrame):
        read("\n" * (LINES_MAX + 1) + event, is_bare=True)


@pytest.mark.parametrize("media", [http.NDJSON, http.JSON])
def test_a_line_of_more_values_than_allowed_is_rejected_alone_and_never_parsed(token, monkeypatch, media):
    def parse(*_args, **_options):
        raise AssertionError("the line is parsed")

    monkeypatch.setattr(http, "from_json", parse)
    monkeypatch.setattr(native, "from_json", parse)
    line = b'{"type":"X","x":[' + b"[]," * settings.LOOPSCOPE_LIMITS["event_values"] + b"1]}"

    answer = post(line, token, content_type=media)

    assert answer.status == 200
    assert [(each["seq"], each["code"]) for each in answer.json["rejected"]] == [(0, "too_large")]
    assert QuarantinedLine.objects.get().size == len(line)
