"""Derives lifecycle events from commits: turn-started and turn-finished, once each per root loop and group,
approval-requested, and waste-found, once for each waste that became an alarm.

The reducer holds the turns that run. A start adds one, an end removes it, so each start has exactly one end
however events are spread over commits and whatever is sent twice. A turn that was cut off (by a flush,
without an end event) is found among the records that the commit names as ended.

Cost: one query for up to `EVENTS_PER_QUERY` events of a batch of commits, two more if parallel groups are
among them, up to two more if turns were cut off, and three if waste became an alarm; memory grows with the
running turns.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Literal

from dashboard.lifecycle import queries
from dashboard.lifecycle.queries import GROUP_KINDS, ROOT_ROLE, Alarm, Event, SessionLink
from dashboard.web import links
from recorder.pubsub.invalidation import Invalidation

Type = Literal["turn-started", "approval-requested", "turn-finished", "waste-found"]
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
EVENTS_PER_QUERY = 500


@dataclass(frozen=True)
class LifecycleEvent:
    """One event of the stream, and its project."""

    project: int
    frame: Frame

    @cached_property
    def line(self) -> bytes:
        """The bytes of the server-sent event, serialised once for all subscribers."""
        return b"event: lifecycle\ndata: " + json.dumps(self.frame, separators=(",", ":")).encode() + b"\n\n"


def may_have_events(touched: Invalidation) -> bool:
    """Return whether a commit may have lifecycle events; most commits are within a turn and have none."""
    return bool(touched.moments or touched.ended or touched.ended_groups or touched.alarms)


@dataclass(frozen=True, slots=True)
class Cut:
    """Outcomes of loops and groups that ended without an event of their own, by primary key."""

    loops: Mapping[int, str]
    groups: Mapping[int, str]


@dataclass(slots=True)
class LifecycleReducer:
    """The running turns whose start was reported, by primary key."""

    loops: dict[int, SessionLink] = field(default_factory=dict)
    groups: dict[int, SessionLink] = field(default_factory=dict)

    def begin(self) -> None:
        """Load the running turns, so that their ends are reported. Two queries."""
        # The first URL imports all pages, which takes a second: not while an event waits.
        links.session("any", 0)
        self.loops = queries.running_loops()
        self.groups = queries.running_groups()

    def feed(self, invalidations: Sequence[Invalidation]) -> list[LifecycleEvent]:
        """Return the events of commits, in the order of commits and of their lines.

        All queries come first: if one raises, the state is unchanged and the call can be repeated.
        """
        lines = sorted({line for touched in invalidations for line in touched.moments})
        events = {
            event.pk: event
            for at in range(0, len(lines), EVENTS_PER_QUERY)
            for event in queries.events(lines[at : at + EVENTS_PER_QUERY])
        }
        groups = queries.groups([event.pk for event in events.values() if event.kind in GROUP_KINDS])
        cut = self._cut(invalidations, list(events.values()), set(groups.values()))
        alarms = queries.alarms({pk for touched in invalidations for pk in touched.alarms})
        known = [event for touched in invalidations for event in self._feed_one(touched, events, groups, cut)]
        return [*known, *map(_waste_found, alarms)]

    def _cut(self, invalidations: Sequence[Invalidation], events: Sequence[Event], begun: Set[int]) -> Cut:
        """Return the turns that a flush ended without an end event. No query if there can be none."""
        started = {event.loop for event in events if event.kind == "AgentStart"}
        with_end = {event.loop for event in events if event.kind == "AgentEnd"}
        loops = {
            pk
            for touched in invalidations
            for pk in touched.ended - with_end
            if pk in self.loops or pk in started
        }
        groups = {
            pk for touched in invalidations for pk in touched.ended_groups if pk in self.groups or pk in begun
        }
        return Cut(
            queries.ended_loops(loops) if loops else {}, queries.ended_groups(groups) if groups else {}
        )

    def _feed_one(
        self, touched: Invalidation, events: Mapping[int, Event], groups: Mapping[int, int], cut: Cut
    ) -> Iterator[LifecycleEvent]:
        for line in sorted(touched.moments):
            if line in events:
                yield from self._event(events[line], groups.get(line))
        for pk in sorted(touched.ended & cut.loops.keys() & self.loops.keys()):
            yield _cut_off(self.loops.pop(pk), cut.loops[pk])
        for pk in sorted(touched.ended_groups & cut.groups.keys() & self.groups.keys()):
            yield _cut_off(self.groups.pop(pk), cut.groups[pk])

    def _event(self, event: Event, group: int | None) -> Iterator[LifecycleEvent]:
        match event.kind:
            case "AgentStart" if event.role == ROOT_ROLE and event.loop is not None:
                self.loops[event.loop] = event.link
                yield _turn_started(event)
            case "AgentEnd" if event.loop in self.loops:
                del self.loops[event.loop]
                yield _loop_finished(event, event.outcome)
            case "ApprovalRequested":
                yield _lifecycle_event("approval-requested", event.link, event.at)
            case "ParallelLoopStart" if group is not None:
                self.groups[group] = event.link
                yield _turn_started(event)
            case "ParallelLoopEnd" if group in self.groups:
                del self.groups[group]
                yield _loop_finished(event, "completed")


def _turn_started(event: Event) -> LifecycleEvent:
    return _lifecycle_event("turn-started", event.link, event.at, **_prompt(event))


def _loop_finished(event: Event, outcome: str) -> LifecycleEvent:
    reason = REASONS.get(outcome, "finish")
    end: Frame = {"reason": reason, "pending_approval": event.waits and reason == "finish"}
    return _lifecycle_event("turn-finished", event.link, event.at, **_prompt(event), **end)


def _cut_off(link: SessionLink, outcome: str) -> LifecycleEvent:
    end: Frame = {"reason": REASONS.get(outcome, "finish"), "pending_approval": False}
    return _lifecycle_event("turn-finished", link, datetime.now(UTC), **end)


def _waste_found(alarm: Alarm) -> LifecycleEvent:
    return _lifecycle_event("waste-found", alarm.link, alarm.at, rule=alarm.rule)


def _prompt(event: Event) -> Frame:
    """Return the field `message_id` if the prompt's id is known."""
    return {"message_id": event.message_id} if event.message_id else {}


def _lifecycle_event(kind: Type, link: SessionLink, at: datetime, **more: str | int | bool) -> LifecycleEvent:
    ms = int(at.timestamp() * 1000)
    return LifecycleEvent(
        link.project, {"type": kind, "session_id": link.session_id, "url": link.url, **more, "at": ms}
    )
