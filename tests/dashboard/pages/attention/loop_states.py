"""Loops that fail, wait or finish now: the page shows recent sessions only."""

from datetime import UTC, datetime, timedelta

from tests.support import build


def ago(**past):
    """Return a moment as events tell it."""
    return (datetime.now(UTC) - timedelta(**past)).isoformat()


def failing(session, error="the disk is full", **end):
    """Return a loop that failed a moment ago."""
    loop, how = f"{session}.a.1", {"outcome": "failed", "error": error, **end}
    start = build.agent_start(loop, timestamp=ago(seconds=2))
    return [start, {**build.agent_end(loop, timestamp=ago(seconds=1)), **how}]


def approval_request(session, command="rm -rf build", **fields):
    """Return a loop that waits for an answer."""
    loop, at = f"{session}.a.1", ago(seconds=5)
    request = build.ours("ApprovalRequested", loop, kind="command", command=command, timestamp=at, **fields)
    return [build.agent_start(loop, timestamp=ago(seconds=9)), request]


def finishing(session, text="Done."):
    """Return a loop that ended well a moment ago."""
    loop = f"{session}.a.1"
    start = build.agent_start(loop, timestamp=ago(seconds=2))
    return [start, build.agent_end(loop, messages=[build.assistant(text)], timestamp=ago(seconds=1))]
