"""The last answer of Claude Code is complete on an open page with its last line, whatever follows it.

Releases end a transcript in several ways; the lines are recorded ones.
"""

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.live.settled_pages import agrees
from tests.support.foreign_tapes import TAPES
from tests.support.server import is_idle
from tests.support.wait import until

CASES = Path("field-cases/transcripts/cc4")
ENDINGS = {
    "cost-state": CASES / "cc40-plain-2-1-332/fb62fb02-a055-4249-9f6c-c386a55c2830.jsonl",
    "turn_duration": CASES / "cc45-interactive-2-1-332/8200b99f-4aa3-4b16-9f20-98d95f2800b6.jsonl",
    "last-prompt": Path("claude-code/parallel/618ff695-bc83-465c-bb21-2d9bfb0f3cff.jsonl"),
    "none": Path("claude-code/plain/5544a222-98f5-4c26-9650-fb98dfb87014.jsonl"),
}


def recorded(ending):
    """Return the lines to the one that follows the last answer, and the number of that answer."""
    lines = [line for line in (TAPES / ENDINGS[ending]).read_bytes().split(b"\n") if line.strip()]
    parsed = [json.loads(line) for line in lines]
    answer = max(number for number, line in enumerate(parsed) if line["type"] == "assistant")
    after = parsed[answer + 1]
    if ending == "none":
        return lines[: answer + 1], answer
    assert ending in (after["type"], after.get("subtype"))
    return lines[: answer + 2], answer


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_last_answer_is_complete_with_the_last_line(server, window, ending):
    lines, answer = recorded(ending)
    messages = [line["message"] for line in map(json.loads, lines) if line["type"] == "assistant"]
    output = {message["id"]: message["usage"]["output_tokens"] for message in messages}
    session_id, agent = ENDINGS[ending].stem, server.agent(form="claude-code")
    agent.send(*lines[:answer])
    page = window().open(server.session_url(session_id))

    agent.send(*lines[answer:])

    is_ended = ending != "none"  # else the next line may belong to the same loop
    expect(page.get_by_text(messages[-1]["content"][-1]["text"]).first).to_be_visible()
    expect(page.locator(".session-title .pill").first).to_have_text("Completed" if is_ended else "Running")
    (session,) = (
        each for each in server.read("/api/v1/sessions")["items"] if each["session_id"] == session_id
    )
    assert session["turns"] == len(output) - (not is_ended)  # one counts when it ends
    assert session["usage"]["output"] == sum(output.values())
    assert session["outcome"] == ("completed" if is_ended else None)
    if is_ended:
        until(lambda: is_idle(server.folder))
        agrees(page, window)
