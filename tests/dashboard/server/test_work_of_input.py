"""Readers of what strangers and tokens send do at most 2.5 times the work for twice the input.

None of the parsing of events runs on the event loop.
"""

import asyncio
import json
from contextlib import suppress

import pytest
from django.http import QueryDict

from dashboard.live.consumers import _acknowledged_frame
from dashboard.shared.queries.session_filter import WORDS_MAX, Wanted, matching
from dashboard.web.query_params import VALUES_MAX, Reading
from recorder.access import tokens
from recorder.asgi.scope import header
from recorder.core.formats import native
from recorder.core.formats.base import InvalidLineError
from recorder.ingest.commit.writer import close
from recorder.ingest.events import endpoint as http
from recorder.ingest.events.endpoint import INLINE_OBJECT_BYTES
from recorder.ingest.websocket import frames as websocket_frames
from recorder.journal.batch import Receipt, Rejected, lines_of
from recorder.models import Project
from tests.support import build
from tests.support.count_calls import count_calls
from tests.support.endpoint_clients import post

FIRST = 400  # so many parts, and twice as many, are compared
REJECTED = Rejected(0, "not_object", "", "an event is a JSON object")
EVENT = json.dumps(build.turn_start("s.a.1")).encode()


def parsed(line):
    with suppress(InvalidLineError):
        native.parse(line)


def framed(text):
    with suppress(websocket_frames.BadFrame, websocket_frames.UnknownOp):
        websocket_frames.read(text, is_bare=True)


def one_line(body):
    with suppress(http.Fault):
        http._one_line(body)


def values(query):
    reading = Reading(QueryDict(query))
    assert len(reading.values("model")) <= VALUES_MAX
    reading.words("q")
    reading.text("sort")


def nested(depth):
    return b'{"type":"X","a":' + b"[" * depth + b"]" * depth + b"}"


def wide(keys):
    return b'{"type":"X",' + b",".join(b'"k%d":{"a":[%d,"x"]}' % (n, n) for n in range(keys)) + b"}"


def twice_a_key(keys):
    return b'{"type":"X",' + b",".join(b'"k%d":1,"k%d":2' % (n, n) for n in range(keys)) + b"}"


READERS = {
    "JSON lines": lambda n: (lines_of, (EVENT + b"\n") * n),
    "events": lambda n: (native.parse_all, [EVENT] * n),
    "lines that are no events": lambda n: (native.parse_all, [b"1"] * n),
    "an answer of rejected lines": lambda n: (http._content, Receipt("p", n, rejected=[REJECTED] * n)),
    "wide keys": lambda n: (parsed, wide(n)),
    "keys that come twice": lambda n: (parsed, twice_a_key(n)),
    "deep nesting": lambda n: (parsed, nested(n)),
    "brackets that never close": lambda n: (parsed, b"[" * 100 * n),
    "long numbers": lambda n: (parsed, b'{"type":"X","a":' + b"9" * 50 * n + b"}"),
    "one JSON object": lambda n: (one_line, wide(n)),
    "one broken JSON object": lambda n: (one_line, wide(n)[:-1]),
    "a frame of lines": lambda n: (framed, '{"op":"events","first":0,"n":9}\n' + (EVENT.decode() + "\n") * n),
    "a frame of blank lines": lambda n: (framed, "\n" * 10 * n),
    "a frame with a long header": lambda n: (framed, '{"op":"hello","v":1,"producer":"' + "x" * n * 9 + '"}'),
    "a frame with a header of many keys": lambda n: (
        framed,
        '{"op":"hello",' + ",".join('"a":1' for _ in range(n)) + "}",
    ),
    "a message of a page": lambda n: (_acknowledged_frame, '{"ack":' + "1" * n + "}"),
    "headers": lambda n: (lambda headers: header(headers, b"x-producer"), [(b"x-producer", b"a")] * n),
    "filters of an address": lambda n: (values, "&".join(f"model=m{each}" for each in range(n))),
    "one long filter": lambda n: (values, "sort=" + "x" * 50 * n + "&q=" + "a+" * 50 * n),
}


@pytest.mark.parametrize("name", READERS)
def test_twice_the_input_is_at_most_two_and_a_half_times_the_work(name):
    once, twice = (count_calls(*READERS[name](size)) for size in (FIRST, 2 * FIRST))

    assert once > 0
    assert twice <= 2.5 * once


@pytest.mark.django_db
def test_more_words_of_a_search_than_the_maximum_add_nothing_to_its_query():
    project = Project.objects.create(slug="searched").pk
    most, more = (
        matching(project, Wanted(q=" ".join(f"word{n}" for n in range(words)))).query.sql_with_params()
        for words in (WORDS_MAX, 4 * WORDS_MAX)
    )

    assert most == more


@pytest.fixture
def token(transactional_db):
    yield tokens.issue(Project.objects.create(slug="default"), "agent", ["ingest"])
    close()


@pytest.fixture
def on_loop(monkeypatch):
    """Whether each parse ran on the event loop, by what parsed."""
    seen = {"body": [], "events": []}

    def watched(module, name, kind):
        original = getattr(module, name)

        def watching(*args, **kwargs):
            try:
                asyncio.get_running_loop()
                seen[kind].append(True)
            except RuntimeError:
                seen[kind].append(False)
            return original(*args, **kwargs)

        monkeypatch.setattr(module, name, watching)

    watched(http, "_one_line", "body")
    watched(native, "parse_all", "events")
    return seen


@pytest.mark.parametrize("padding", [INLINE_OBJECT_BYTES, 4 * INLINE_OBJECT_BYTES])
def test_an_object_longer_than_an_event_usually_is_is_parsed_off_the_event_loop(token, on_loop, padding):
    body = json.dumps(build.agent_start("s.a.1") | {"note": "x" * padding}).encode()

    assert post(body, token, content_type="application/json").json["accepted"] == 1
    assert on_loop == {"body": [False], "events": [False]}


def test_events_are_never_parsed_on_the_event_loop(token, on_loop):
    assert post(EVENT, token).status == 200
    assert post((EVENT + b"\n") * 2_000, token).status == 200

    assert on_loop["events"]
    assert True not in on_loop["events"]
