"""A page and the read API wait briefly for spans of their own project, and say how far behind they are."""

import asyncio
import gc
import threading
from contextlib import contextmanager
from unittest.mock import patch

import pytest

from dashboard.server import waiting_spans
from recorder.access import share_links, tokens
from recorder.access.share_links import Target, Terms
from recorder.ingest.commit import bisect, span_backlog
from recorder.ingest.commit.writer import writer
from recorder.models import Session, WaitingSpans
from tests.dashboard.open_page import Place
from tests.recorder.ingest.commit.test_waiting_spans import span_line
from tests.support import build
from tests.support.endpoint_clients import HOST, request
from tests.support.wait import LONGEST_S, until

BEHIND = waiting_spans.BEHIND.decode()
API = "/api/v1/sessions"


class Limits:
    """Limits of time that run out when the test says so, 12 s later; `seconds` are those that were given."""

    def __init__(self):
        self.now = 1_000.0
        self.seconds = []
        self._open = []
        self.is_over = False  # from the beginning

    def __call__(self, seconds):
        self.seconds.append(seconds)
        limit = asyncio.timeout(0 if self.is_over else None)
        self._open.append((asyncio.get_running_loop(), limit))
        return limit

    def expire(self):
        self.now += 11.5
        for loop, limit in self._open:
            loop.call_soon_threadsafe(limit.reschedule, 0)
        self._open.clear()


@pytest.fixture
def limits(monkeypatch):
    limits = Limits()
    monkeypatch.setattr(waiting_spans, "timeout", limits)
    return limits


@pytest.fixture
def behind(place, limits, monkeypatch):
    """A project with spans that are read only when a reader wants to see them; the clock stands still."""
    monkeypatch.setattr(span_backlog, "monotonic", lambda: limits.now)
    monkeypatch.setattr(span_backlog, "IDLE_S", LONGEST_S)
    monkeypatch.setattr(span_backlog, "ALONE_BYTES", 0)
    secret = tokens.issue(place.project, "sender", ["ingest"])
    headers = [HOST, (b"authorization", f"Bearer {secret}".encode()), (b"content-type", b"application/json")]
    assert request("/v1/traces", span_line(1), method="POST", headers=headers).status == 200
    assert WaitingSpans.objects.count() == 1
    return place


@contextmanager
def held_writer(limits=None):
    """Hold the writer where it reads spans; the limits run out as soon as it does."""
    record, is_held, release = bisect.record, threading.Event(), threading.Event()

    def held(batches, unread=None):
        is_held.set()
        if limits:
            limits.expire()
        release.wait(LONGEST_S)
        return record(batches, unread)

    with patch.object(bisect, "record", held):
        try:
            yield is_held
        finally:
            release.set()


@contextmanager
def busy_look_up():
    """Hold the thread that looks up the project of a request."""
    release = threading.Event()
    waiting_spans._EXECUTOR.submit(release.wait, LONGEST_S)
    try:
        yield
    finally:
        release.set()


def get(place, path, query="", status=200, headers=()):
    answer = request(path, headers=[HOST, place.cookie, *headers], query=query)
    assert answer.status == status
    return answer


def test_a_page_shows_what_is_there_and_says_how_far_behind_it_is(behind, limits):
    with held_writer(limits):
        page = get(behind, behind.sessions()).body.decode()

    assert "12 s behind" in page
    assert limits.seconds == [0.2]


def test_a_shared_page_says_how_far_behind_it_is(behind, limits):
    behind.feed(build.agent_start("s.a.1"))
    shared = Target("session", Session.objects.get().pk)
    link = share_links.issue(behind.project, behind.user, shared, Terms())

    with held_writer(limits):
        page = get(behind, f"/s/{link.secret}").body.decode()

    assert "12 s behind" in page


def test_an_open_page_asks_again_until_the_spans_are_read(behind, limits):
    ask, query = f"/p/{behind.project.slug}/behind", "live=1"
    with held_writer(limits):
        page = get(behind, behind.sessions()).body.decode()
        limits.is_over = True
        answer = get(behind, ask, query).body.decode()
    for html in (page, answer):
        assert f'hx-get="{ask}?{query}"' in html
        assert 'hx-trigger="every 5s"' in html
    assert "Spans that came last may still be missing" in answer

    limits.is_over = False
    assert get(behind, ask, query).body.strip() == b""


def test_a_page_without_a_socket_is_told_to_reload_when_the_spans_are_read(behind, limits):
    here = b"http://" + HOST[1] + f"/p/{behind.project.slug}/calls?q=x".encode()
    headers = [(b"hx-request", b"true"), (b"hx-current-url", here)]
    with held_writer(limits):
        page = get(behind, f"/p/{behind.project.slug}/calls").body.decode()
    assert f'hx-get="/p/{behind.project.slug}/behind"' in page

    answer = get(behind, f"/p/{behind.project.slug}/behind", headers=headers).body.decode()

    assert "have been read" in answer
    assert "hx-get" not in answer
    assert f'href="/p/{behind.project.slug}/calls?q=x"' in answer


def test_an_answer_of_the_read_api_names_how_far_behind_it_is(behind, limits):
    with held_writer(limits):
        answer = get(behind, API, f"project={behind.project.slug}")

    assert (answer.json["items"], answer.headers[BEHIND]) == ([], "12")
    assert limits.seconds == [0.2]


def test_a_reader_that_sees_all_of_its_project_says_nothing(behind, limits):
    answer = get(behind, API, f"project={behind.project.slug}")

    assert len(answer.json["items"]) == 1
    assert BEHIND not in answer.headers
    assert "behind" not in get(behind, behind.sessions()).body.decode()


def test_readers_of_another_project_do_not_wait(behind, limits):
    """Their limit never runs out, and the writer is held."""
    other = Place("other")
    with held_writer() as is_held:
        writer().backlog.hurry(LONGEST_S)
        until(is_held.is_set)
        page, answer = get(other, other.sessions()), get(other, API, "project=other")
        account = get(other, "/account")

    assert "s behind" not in page.body.decode()
    assert BEHIND not in answer.headers
    assert "s behind" not in account.body.decode()
    assert limits.seconds == [0.2, 0.2], "a page of no project looks nothing up"


def test_the_wait_includes_looking_up_the_project_and_then_nothing_is_claimed(behind, limits):
    limits.is_over = True
    with busy_look_up():
        page = get(behind, behind.sessions()).body.decode()
        answer = get(behind, API, f"project={behind.project.slug}")

    assert "Spans that came last may still be missing" in page
    assert answer.headers[BEHIND] == "unknown"


def test_a_request_whose_project_cannot_be_told_claims_nothing(behind):
    """Without a token and a name the API reads the first project of the user, of several."""
    Place("other")

    assert get(behind, API).headers[BEHIND] == "unknown"


def test_an_answer_that_refuses_says_nothing_of_what_waits(behind, limits):
    other = Place("other")
    with held_writer(limits):
        answer = get(other, API, f"project={behind.project.slug}", status=404)
    assert BEHIND not in answer.headers


def test_a_page_that_refuses_says_nothing_of_what_waits(behind, limits):
    other = Place("other")
    with held_writer(limits):
        page = get(other, behind.sessions(), status=404).body.decode()
    assert "behind" not in page
    gc.collect()  # Django drew the page in a thread that has ended: its session would keep the database
