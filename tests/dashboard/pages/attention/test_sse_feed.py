"""The lifecycle feed of the attention page: events of the channel as rows, for members of the project."""

import re

import pytest
from asgiref.testing import ApplicationCommunicator

from dashboard.asgi import application
from dashboard.lifecycle.broadcast import CHUNK
from dashboard.pages.attention.sse_feed import SHOWN, row
from recorder.models import Project
from tests.dashboard.open_page import HOST, in_thread
from tests.support import build
from tests.support.wait import LONGEST_S

PATH = "/p/default-project/attention/feed"
START = {"type": "turn-started", "session_id": "s", "url": "/p/x/sessions/1", "at": 1_770_800_400_000}
END = {**START, "type": "turn-finished"}


class Feed:
    """The feed as a page has it open."""

    def __init__(self, *headers, path=PATH, method="GET", query=b""):
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query,
        }
        self._page = ApplicationCommunicator(application, {**scope, "headers": list(headers)})

    async def __aenter__(self):
        await self._page.send_input({"type": "http.request", "body": b""})
        self.status = (await self._page.receive_output(LONGEST_S))["status"]
        if self.status == 200:
            assert (await self._page.receive_output(LONGEST_S))["body"] == b": listening\n\n"
        return self

    async def __aexit__(self, *_):
        if self.status == 200:
            await self._page.send_input({"type": "http.disconnect"})
        await self._page.wait(LONGEST_S)

    async def rows(self, number):
        """Return the next rows."""
        text = ""
        while text.count("<li") < number:
            text += (await self._page.receive_output(LONGEST_S))["body"].decode()
        assert all(re.match(r"event: rows$|data: |: $|$", line) for line in text.split("\n"))
        return [f"<li{each}" for each in text.replace("\ndata: ", "\n").split("<li")[1:]]

    async def silence(self):
        assert await self._page.receive_nothing(0.5)


async def test_lifecycle_events_are_rendered_in_order(place):
    asks = build.ours("ApprovalRequested", "s.a.1", kind="command", command="rm")
    async with Feed(HOST, place.cookie) as feed:
        start = build.agent_start("s.a.1", agent_id="<b>coder</b>")
        title = build.ours("SessionInfo", None, session_id="s", title="Tidy <i>up</i>\nnow")
        await in_thread(place.feed, start, title, asks, build.agent_end("s.a.1"))
        started, requested, ended = await feed.rows(3)

    types = [re.search("<code>(.*?)</code>", each)[1] for each in (started, requested, ended)]
    assert types == ["turn-started", "approval-requested", "turn-finished"]
    assert ['class="dim"' in each for each in (started, requested, ended)] == [True, False, True]
    assert "pending approval" in ended
    assert "Tidy &lt;i&gt;up&lt;/i&gt; now" in started
    assert "&lt;b&gt;coder&lt;/b&gt;" in started
    assert re.search(r'href="/p/default-project/sessions/\d+/loops/\d+"', started)


async def test_events_of_other_projects_are_not_sent(place):
    other = await in_thread(lambda: Project.objects.create(slug="other"))
    async with Feed(HOST) as feed:
        assert feed.status == 401
    async with Feed(HOST, place.cookie, path="/p/other/attention/feed") as feed:
        assert feed.status == 404
    async with Feed(HOST, place.cookie, method="POST") as feed:
        assert feed.status == 405
    async with Feed((b"host", b"evil.example"), place.cookie) as feed:
        assert feed.status == 400
    async with Feed(HOST, place.cookie) as feed:
        mine, place.project = place.project, other
        await in_thread(place.feed, build.agent_start("s.a.1"))
        place.project = mine
        await feed.silence()


async def test_only_the_latest_events_of_a_burst_are_rendered(place):
    async with Feed(HOST, place.cookie) as feed:
        await in_thread(place.feed, *(build.agent_start(f"s{n}.a.1") for n in range(CHUNK)))
        rows = await feed.rows(SHOWN)

    assert f">s{CHUNK - 1}<" in rows[-1]


@pytest.mark.parametrize(
    ("frame", "glyph", "words", "is_quiet"),
    [
        (START, "running", "", True),
        ({**START, "type": "approval-requested"}, "waiting", "", False),
        ({**END, "reason": "finish", "pending_approval": False}, "completed", "finish", False),
        ({**END, "reason": "finish", "pending_approval": True}, "waiting", "pending approval", True),
        ({**END, "reason": "error", "pending_approval": False}, "error", "error", False),
        ({**END, "reason": "abort", "pending_approval": False}, "aborted", "abort", True),
        ({**END, "reason": "of a later version"}, "running", "of a later version", True),
    ],
)
def test_a_row_shows_the_glyph_and_text_of_its_event(frame, glyph, words, is_quiet):
    drawn = row(frame, None)

    assert (drawn.glyph, drawn.words, drawn.is_quiet) == (glyph, words, is_quiet)


async def test_the_feed_shows_what_the_filters_select(place):
    asks = build.ours("ApprovalRequested", "s.a.1", kind="command", command="rm")
    other = build.ours("ApprovalRequested", "t.a.1", kind="command", command="rm")
    query = b"agent=coder"
    async with Feed(HOST, place.cookie, query=query) as feed:
        await in_thread(place.feed, build.agent_start("t.a.1", agent_id="other"), other)
        await in_thread(place.feed, build.agent_start("s.a.1", agent_id="coder"), asks)
        rows = await feed.rows(2)
        assert all("coder" in row for row in rows)
        assert "approval-requested" in rows[1]
        await feed.silence()
