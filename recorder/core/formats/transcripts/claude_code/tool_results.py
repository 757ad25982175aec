"""Results of tool calls: what a line says of one, and those that stand before the call.

Parallel writers may write a result before the answer that made its call. It waits for the call then, unless
the call was there before: such a result is a copy. The state is bounded; what waits longest is forgotten.
"""

from __future__ import annotations

from typing import cast

from recorder.core.formats.base import Fields, object_field, text_field
from recorder.core.formats.transcripts.claude_code.contents import (
    decision_of,
    hosted_results,
    is_failed_result,
)
from recorder.core.formats.transcripts.fields import TEXT_MAX, forget_first, objects, text_of
from recorder.core.formats.transcripts.open_loop import OpenLoop
from recorder.core.records import Json

WAITING_MAX = 8  # results, each of at most `TEXT_MAX` characters
BEGUN_MAX = 50  # calls that are known to have begun


def results_of(line: Fields, at: str) -> list[Fields]:
    """Return the results on a line of the user, as JSON; `at` is the time of the line."""
    about, content = object_field(line, "toolUseResult"), object_field(line, "message").get("content")
    found: Fields = {
        "at": at,
        "decision": decision_of(line),
        "agent": text_field(about, "agentId"),
        "run": text_field(about, "runId"),
    }
    return [
        {
            "call": text_field(block, "tool_use_id"),
            "text": text_of(block.get("content")),
            "is_error": block.get("is_error") is True,
            **found,
        }
        for block in objects(content)
        if block.get("type") == "tool_result"
    ]


def end_hosted(loop: OpenLoop, message: Fields, now: str) -> list[Fields]:
    """End the calls of an answer that the provider ran."""
    events: list[Fields] = []
    for block in hosted_results(message.get("content")):
        call, text = text_field(block, "tool_use_id"), text_of(block.get("content"))
        events += loop.end_tool(call, text, now, has_failed=is_failed_result(block))
    return events


class WaitingResults:
    """The results of one file that wait for their calls, by track and id of the call."""

    def __init__(self, stored: Fields) -> None:
        self._results = cast("dict[str, Fields]", stored.get("results") or {})
        self._begun = cast("dict[str, int]", stored.get("begun") or {})

    def dump(self) -> Fields:
        """Return the state as JSON. Its names never change."""
        return {"results": cast("Json", self._results), "begun": cast("Json", self._begun)}

    def add(self, track: str, result: Fields) -> None:
        """Let a result wait for its call."""
        key = f"{track} {result['call']}"
        if key not in self._begun:
            self._results[key] = result | {"text": str(result["text"])[:TEXT_MAX]}
            forget_first(self._results, WAITING_MAX)

    def take(self, track: str, call: str) -> Fields | None:
        """Return the result that waits for a call that begins; None if there is none."""
        key = f"{track} {call}"
        self._begun[key] = 1
        forget_first(self._begun, BEGUN_MAX)
        return self._results.pop(key, None)
