"""Compaction pages of a signed-in user; events are sent through the real ingest."""

import pytest

from recorder.models import Compaction
from tests.dashboard.pages.session.conftest import feed, loop, project, reader, see, session
from tests.support import build

__all__ = ["feed", "loop", "project", "reader", "see", "session"]

LOOP = "s.a.1"


@pytest.fixture
def compaction(see):
    """Open the page of the session's n-th pass."""

    def compaction(n=1):
        found = Compaction.objects.order_by("pk")[n - 1]
        return see(f"/p/default/sessions/{found.loop.session_id}/compactions/{found.pk}")

    return compaction


def read_call(call, path):
    message = build.assistant(f"Reading {path}.", stop="toolUse")
    arguments = {"type": "toolCall", "id": call, "name": "read_file", "arguments": {"path": path}}
    return {**message, "content": [*message["content"], arguments]}


def turn(index, sent, answer, counts, result="", before=(), loop=LOOP):
    """Return a turn: what was sent, what the model answered, and the result of the call that it asked for."""
    calls = [part for part in answer["content"] if part["type"] == "toolCall"]
    ran = []
    for part in calls:
        given = {"call": part["id"], "name": part["name"]}
        message = build.tool_result(part["id"], result, part["name"])
        ran += [build.tool_start(loop, args=part["arguments"], **given), build.tool_end(loop, **given)]
        ran.append(build.message_end(loop, message))
    request = {**build.turn_request(loop, index, at=index * 10 + 4), "payload": {"messages": sent}}
    usage = {"input": counts[0], "output": 20, "cache_read": counts[1], "cache_write": counts[2]}
    end = {**build.turn_end(loop, message=answer, at=index * 10 + 9), "usage": usage}
    start = build.turn_start(loop, index, at=index * 10 + 1)
    return [start, *before, request, build.message_end(loop, answer), *ran, end]


def reread():
    """Return a loop that reads a.py, compacts, and reads a.py again: the documented example."""
    task, summary = build.user("Fix the parser."), build.user("[Summary] a.py holds the parser.")
    first = read_call("c1", "a.py"), build.tool_result("c1", "A" * 4_000, "read_file")
    second = read_call("c2", "b.py"), build.tool_result("c2", "B" * 4_000, "read_file")
    third = read_call("c3", "a.py"), build.tool_result("c3", "A" * 4_000, "read_file")
    short = [task, summary, *second]
    compacted = [
        build.compaction_started(LOOP, 20_100, 5, at=22),
        build.compaction_ended(LOOP, (5, 20_100), (4, 6_100), at=23),
    ]
    return [
        build.agent_start(LOOP),
        *turn(0, [task], first[0], (1_000, 0, 9_000), "A" * 4_000),
        *turn(1, [task, *first], second[0], (500, 10_000, 9_500), "B" * 4_000),
        *turn(2, short, third[0], (1_000, 0, 5_000), "A" * 4_000, before=compacted),
        *turn(3, [*short, *third], build.assistant("Fixed."), (500, 6_000, 3_500)),
        build.agent_end(LOOP, at=40),
    ]
