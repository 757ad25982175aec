"""Loops that repeat themselves, now: a turn asks for one call, and each call has the result of the first."""

from datetime import UTC, datetime, timedelta

from tests.support import build

CONFIG = {"model": "claude-sonnet-4-6", "provider": "anthropic", "api": "anthropic_messages"}
COST_NANO = 3_000_000  # of a turn: a thousand input tokens of Sonnet
TOKENS = 1_000


def repeating(loop="s.a.1", times=4, name="grep", args=None, text="no match", first=0):
    """Yield the turns of a loop that calls a tool `times` times; the loop begins with its first turn."""
    if not first:
        yield build.agent_start(loop, timestamp=_now(), config_snapshot=CONFIG)
    for n in range(first, first + times):
        yield build.turn_start(loop, index=n) | {"timestamp": _now()}
        yield from call(loop, f"c{n}", name, args, text)
        message = build.assistant(f"Look {n}.", tokens=TOKENS)
        yield build.turn_end(loop, tokens=TOKENS, message=message) | {"timestamp": _now()}


def call(loop="s.a.1", call="c0", name="grep", args=None, text="no match", **end):
    """Yield a tool call with a text as its result."""
    yield build.tool_start(loop, call=call, name=name, args=args or {"pattern": "todo"}, timestamp=_now())
    result = {"content": [{"type": "text", "text": text}], "details": None}
    yield build.tool_end(loop, call=call, name=name, timestamp=_now(), result=result, **end)


def _now():
    return (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
