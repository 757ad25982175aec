"""The costs that Claude Code states: `cost-state`, which it writes when it exits.

A statement counts what a session cost so far. It has no time: it was made after the last time before it in
the file. In a session that was forked it goes on from the one of its origin, which the copied answers name
(`requestSessionId`, in older releases `forkedFrom`). The state is three times, two ids and a statement.
"""

from __future__ import annotations

from datetime import datetime
from typing import cast

from recorder.core.events.fields import is_id
from recorder.core.formats.base import Fields, format_time, object_field, parse_time, text_field
from recorder.core.formats.transcripts.token_counts import counts, usage_event
from recorder.core.records import Json

_TOKENS = {
    "input": "inputTokens",
    "output": "outputTokens",
    "reasoning": "thinkingTokens",
    "cache_read": "cacheReadInputTokens",
    "cache_write": "cacheCreationInputTokens",
    "cache_write_1h": "cacheCreationEphemeral1hInputTokens",
}
_OWN = frozenset(("queue-operation", "api-request"))  # types of lines that a fork does not copy


class CostStates:
    """The statements of one file, as far as a later line may need them."""

    def __init__(self, stored: Fields) -> None:
        self._stored = stored

    def dump(self) -> Fields:
        """Return the state as JSON. Its names never change."""
        return dict(self._stored)

    def takes_new(self) -> bool:
        """Return whether there is a statement since this was last asked."""
        return bool(self._stored.pop("is_new", False))

    def read(self, line: Fields, arrived: datetime) -> list[Fields]:
        """Return the events of a line of the main agent about what its session cost."""
        origin = text_field(line, "requestSessionId") or text_field(
            object_field(line, "forkedFrom"), "sessionId"
        )
        if is_id(origin) and origin != line.get("sessionId"):
            self._stored["origin"] = origin
        at, last = parse_time(line.get("timestamp")), self._time("at")
        if line.get("type") == "cost-state":
            return self._state(line, last or arrived)
        if at is None:
            return []
        events = self._followed(at) if last is not None and at > last else []
        self._stored["at"] = format_time(max(at, last or at))
        kind = text_field(line, "type")
        is_own = kind in _OWN or (
            kind == "assistant" and text_field(line, "requestSessionId") in ("", line["sessionId"])
        )
        if is_own and "began" not in self._stored and not object_field(line, "forkedFrom"):
            self._stored["began"] = format_time(at)
        return events

    def _state(self, line: Fields, after: datetime) -> list[Fields]:
        models = [
            counts(each, _TOKENS)
            for each in object_field(line, "modelUsage").values()
            if isinstance(each, dict)
        ]
        total = {name: sum(each[name] for each in models) for name in _TOKENS}
        event: Fields = {
            "type": "CostStated",
            "session_id": line["sessionId"],
            "cost": line.get("totalCostUSD"),
            "usage": cast("Json", usage_event(total)),
            "at": format_time(after),
            "parent_session_id": self._stored.get("origin"),
            "started_at": self._stored.get("began"),
        }
        self._stored["stated"], self._stored["is_new"] = event, True
        return [dict(event)]

    def _followed(self, at: datetime) -> list[Fields]:
        """Return the open statement with the time of what follows it: later calls are not in it."""
        stated = object_field(self._stored, "stated")
        if not stated or "ended_at" in stated:
            return []
        self._stored["stated"] = stated | {"ended_at": format_time(at)}
        return [dict(object_field(self._stored, "stated"))]

    def _time(self, name: str) -> datetime | None:
        return parse_time(self._stored.get(name))
