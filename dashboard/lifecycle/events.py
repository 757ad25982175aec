"""From commits to rings: one turn-started and one turn-finished for each root loop and parallel group."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Literal

from dashboard.lifecycle import queries
from dashboard.lifecycle.queries import GROUP_KINDS, RINGING, Event, Whose
from dashboard.web import links
from recorder.pubsub.invalidation import Invalidation

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


def may_ring(touched: Invalidation) -> bool:
    """Say whether a commit may ring; most hold what happens within a turn."""
    return bool(touched.moments or touched.ended or touched.ended_groups)


@dataclass(frozen=True, slots=True)
class Cut:
    """Loops and groups that ended without an event of their own, with their outcomes."""

    loops: Mapping[int, str]
    groups: Mapping[int, str]


@dataclass(slots=True)
class Rings:
    """What runs, as far as it has rung: so each start has one end, whatever the commits hold."""

    loops: dict[int, Whose] = field(default_factory=dict)
    groups: dict[int, Whose] = field(default_factory=dict)

    def begin(self) -> None:
        """Take what runs now for known. Queries."""
        links.session("any", 0)  # the first address loads every page, a second that no ring should wait
        self.loops = queries.running_loops()
        self.groups = queries.running_groups()

    def of(self, invalidations: Sequence[Invalidation]) -> list[Ring]:
        """Return what commits ring, in their order. All queries come first: if one fails nothing has rung."""
        lines = sorted({line for touched in invalidations for line in touched.moments})
        events = {
            event.pk: event
            for at in range(0, len(lines), AT_ONCE)
            for event in queries.events(lines[at : at + AT_ONCE])
        }
        groups = queries.groups([event.pk for event in events.values() if event.kind in GROUP_KINDS])
        cut = self._cut(invalidations, list(events.values()), set(groups.values()))
        return [ring for touched in invalidations for ring in self._of(touched, events, groups, cut)]

    def _cut(self, invalidations: Sequence[Invalidation], events: Sequence[Event], begun: Set[int]) -> Cut:
        """Return what was cut off: a flush has no event of a loop's own. Queries, where something may be."""
        started = {event.loop for event in events if event.kind == "AgentStart"}
        told = {event.loop for event in events if event.kind == "AgentEnd"}
        loops = {
            pk
            for touched in invalidations
            for pk in touched.ended - told
            if pk in self.loops or pk in started
        }
        groups = {
            pk for touched in invalidations for pk in touched.ended_groups if pk in self.groups or pk in begun
        }
        return Cut(
            queries.ended_loops(loops) if loops else {}, queries.ended_groups(groups) if groups else {}
        )

    def _of(
        self, touched: Invalidation, events: Mapping[int, Event], groups: Mapping[int, int], cut: Cut
    ) -> Iterator[Ring]:
        for line in sorted(touched.moments):
            if line in events:
                yield from self._event(events[line], groups.get(line))
        for pk in sorted(touched.ended & cut.loops.keys() & self.loops.keys()):
            yield _cut_off(self.loops.pop(pk), cut.loops[pk])
        for pk in sorted(touched.ended_groups & cut.groups.keys() & self.groups.keys()):
            yield _cut_off(self.groups.pop(pk), cut.groups[pk])

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
