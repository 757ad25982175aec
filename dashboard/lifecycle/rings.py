"""From commits to rings: one turn-started and one turn-finished for each root loop and parallel group."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Literal

from dashboard.lifecycle import queries
from dashboard.lifecycle.queries import RINGING, Event, Whose
from recorder.notify import Bell

Type = Literal["turn-started", "approval-requested", "turn-finished"]
Reason = Literal["finish", "abort", "error"]
REASONS: dict[str, Reason] = {
    "completed": "finish",
    "limit": "finish",
    "failed": "error",
    "rejected": "error",
    "cancelled": "abort",
    "aborted": "abort",
}
Frame = dict[str, str | int | bool]
AT_ONCE = 500  # events asked for in one query


@dataclass(frozen=True)
class Ring:
    """One frame of the channel, of one project."""

    project: int
    frame: Frame

    @cached_property
    def line(self) -> bytes:
        """Return it as it goes out, written once for all who listen."""
        return b"event: lifecycle\ndata: " + json.dumps(self.frame, separators=(",", ":")).encode() + b"\n\n"


@dataclass(slots=True)
class Rings:
    """What runs, as far as it has rung: so each start has one end, whatever the commits hold."""

    loops: dict[int, Whose] = field(default_factory=dict)
    groups: dict[int, Whose] = field(default_factory=dict)

    def begin(self) -> None:
        """Take what runs now for known. Queries."""
        self.loops = queries.running_loops()
        self.groups = queries.running_groups()

    def of(self, bell: Bell) -> list[Ring]:
        """Return what a commit rings. Queries."""
        lines = sorted(bell.moments)
        found = [
            each for at in range(0, len(lines), AT_ONCE) for each in queries.events(lines[at : at + AT_ONCE])
        ]
        groups = queries.groups([each.pk for each in found if each.kind.startswith("Parallel")])
        rings = [ring for each in found for ring in self._event(each, groups.get(each.pk))]
        return [*rings, *self._cut(bell)]

    def _event(self, event: Event, group: int | None) -> Iterator[Ring]:
        match event.kind:
            case "AgentStart" if event.role == RINGING and event.loop is not None:
                self.loops[event.loop] = event.whose
                yield _started(event)
            case "AgentEnd" if event.loop in self.loops:
                del self.loops[event.loop]
                yield _finished(event, event.outcome)
            case "ApprovalRequested":
                yield _ring("approval-requested", event.whose, event.at)
            case "ParallelLoopStart" if group is not None:
                self.groups[group] = event.whose
                yield _started(event)
            case "ParallelLoopEnd" if group in self.groups:
                del self.groups[group]
                yield _finished(event, "completed")

    def _cut(self, bell: Bell) -> Iterator[Ring]:
        """Ring for what was cut off: a flush has no event of a loop's own."""
        touched = [pk for pk in bell.ended if pk in self.loops]
        for ended in queries.ended_loops(touched) if touched else ():
            yield _cut_off(self.loops.pop(ended.pk), ended.outcome)
        cut = [pk for pk in bell.groups if pk in self.groups]
        for ended in queries.ended_groups(cut) if cut else ():
            yield _cut_off(self.groups.pop(ended.pk), ended.outcome)


def _started(event: Event) -> Ring:
    return _ring("turn-started", event.whose, event.at, **_prompt(event))


def _finished(event: Event, outcome: str) -> Ring:
    reason = REASONS.get(outcome, "finish")
    how: Frame = {"reason": reason, "pending_approval": event.waits and reason == "finish"}
    return _ring("turn-finished", event.whose, event.at, **_prompt(event), **how)


def _cut_off(whose: Whose, outcome: str) -> Ring:
    how: Frame = {"reason": REASONS.get(outcome, "finish"), "pending_approval": False}
    return _ring("turn-finished", whose, datetime.now(UTC), **how)


def _prompt(event: Event) -> Frame:
    """Return the prompt's id where it is known."""
    return {"message_id": event.message_id} if event.message_id else {}


def _ring(kind: Type, whose: Whose, at: datetime, **more: str | int | bool) -> Ring:
    ms = int(at.timestamp() * 1000)
    return Ring(
        whose.project, {"type": kind, "session_id": whose.session_id, "url": whose.url, **more, "at": ms}
    )
