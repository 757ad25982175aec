"""Approval requests on the session page: open, resolved and inferred."""

import re

import pytest

from recorder.models import LoopRecord
from tests.dashboard.open_page import in_thread
from tests.support import build

HOSTILE = '"><img src=x onerror=alert(1)>'


def asks(loop="s.a.1", call="t1", **more):
    fields = {"kind": "tool", "tool_call_id": call, "command": "rm -rf build", **more}
    return build.ours("ApprovalRequested", loop, timestamp=build.time(3), **fields)


def begun(loop="s.a.1"):
    return [build.agent_start(loop), build.turn_start(loop)]


def question(html):
    """Return the tone and the text of the only approval request of a page."""
    shown = re.search(
        r'<div class="note turn-note tone-(\w+)" id="session-question-\d+">(.*?)</div>', html, re.S
    )
    return shown[1], " ".join(re.sub(r"<[^>]*>", " ", shown[2]).split())


@pytest.fixture
def page(feed, loop):
    def page(*events):
        feed(*events)
        return loop("a.1").html

    return page


def test_an_open_request_shows_its_command_risk_warnings_and_options(page):
    html = page(*begun(), asks(risk="high", warnings=["deletes files"], options=["approve", "reject"]))

    tone, words = question(html)
    assert tone == "waiting"
    for part in ("Approval requested", "rm -rf build", "Risk: high", "deletes files", "approve", "reject"):
        assert part in words
    assert "Answer in the agent's own interface" in words
    assert re.search(r'class="pill tone-waiting".*1 waiting, <time datetime="2026-02-11T09:00:03', html)


@pytest.mark.parametrize(
    ("answer", "tone", "words"),
    [
        (
            build.ours("ApprovalResolved", tool_call_id="t1", decision="granted", scope="once"),
            "completed",
            "Approved · once",
        ),
        (
            build.ours("ApprovalResolved", tool_call_id="t1", decision="denied", reason="No."),
            "rejected",
            "Denied",
        ),
        (
            build.ours("ApprovalResolved", tool_call_id="t1", decision="expired"),
            "muted",
            "Expired without an answer",
        ),
        (
            build.ours("ApprovalResolved", tool_call_id="t1", decision=None, inferred=True),
            "completed",
            "Resolved · inferred",
        ),
        (build.tool_start(call="t1"), "completed", "Approved · inferred"),
        (build.agent_end(outcome="cancelled"), "muted", "Request cancelled · inferred"),
    ],
)
def test_a_resolved_request_shows_its_decision_and_whether_it_was_inferred(page, answer, tone, words):
    html = page(*begun(), asks(), answer)

    assert question(html)[0] == tone
    assert question(html)[1].startswith(words + " rm")
    assert "1 waiting" not in html
    assert "Answer in the agent's own interface" not in html


def test_a_running_tool_call_with_an_open_request_is_waiting(page, feed, loop):
    html = page(*begun(), build.tool_start(call="t1"), asks())
    assert 'class="tool is-waiting"' in html
    assert "waiting <time" in html

    feed(build.ours("ApprovalResolved", tool_call_id="t1", decision="granted"))

    assert 'class="tool is-running"' in loop("a.1").html


def test_a_requested_tool_call_that_needs_approval_is_waiting(page):
    call = {"type": "toolCall", "id": "t1", "name": "bash", "arguments": {"command": "ls"}}
    message = {**build.assistant(""), "content": [call]}

    html = page(*begun(), build.message_end(message=message), asks(), asks(call="another", command="x"))

    assert html.count('class="tool is-waiting"') == 1


def test_a_request_without_a_command_says_so_and_markup_is_escaped(page):
    more = {"risk": HOSTILE, "warnings": [HOSTILE], "options": {HOSTILE: HOSTILE}}
    html = page(*begun(), asks(command=None, **more), asks(command=HOSTILE))

    assert "The request has no text" in html
    assert "<img src=x" not in html


async def test_a_resolution_in_another_loop_is_pushed(place, open_page):
    await in_thread(place.feed, *begun(), asks(), build.turn_end(), build.agent_end())
    loop = await in_thread(LoopRecord.objects.get)
    page = await open_page(f"/p/default-project/sessions/{loop.session_id}/loops/{loop.pk}")
    assert "Approval requested" in page.shown.root.html()

    await in_thread(place.feed, *begun("s.a.2"))
    await page.agree()

    assert "Approval requested" not in page.shown.root.html()
    assert "inferred" in page.shown.root.html()


async def test_a_waiting_tool_call_is_pushed(place, open_page):
    await in_thread(place.feed, *begun(), build.tool_start(call="t1"))
    loop = await in_thread(LoopRecord.objects.get)
    page = await open_page(f"/p/default-project/sessions/{loop.session_id}/loops/{loop.pk}")
    for event in (
        asks(),
        build.ours("ToolExecutionUpdate", tool_call_id="t1", tool_name="bash", partial_result={}),
        build.ours("ApprovalResolved", tool_call_id="t1", decision="granted"),
        build.tool_end(call="t1"),
    ):
        await in_thread(place.feed, event)
        await page.agree()
