"""From commits to rings: one turn-started and one turn-finished for each root loop and parallel group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from dashboard.lifecycle import queries
from dashboard.lifecycle.queries import RINGING, Event
from recorder.models import LoopRecord, ParallelGroupRecord
from recorder.notify import Bell

REASONS = {
    "completed": "finish",
    "limit": "finish",
    "failed": "error",
    "rejected": "error",
    "cancelled": "abort",
    "aborted": "abort",
}
Frame = dict[str, str | int | bool]
AT_ONCE = 500  # events asked for in one query


@dataclass(frozen=True, slots=True)
class Ring:
    """One frame of the channel, of one project."""

    project: int
    frame: Frame


@dataclass(slots=True)
class Rings:
    """What runs, as far as it has rung: so each start has one end, whatever the commits hold."""

    loops: dict[int, tuple[int, str]] = field(default_factory=dict)  # project and session
    groups: dict[int, tuple[int, str]] = field(default_factory=dict)

    def begin(self) -> None:
        """Take what runs now for known. Queries."""
        self.loops = queries.running(LoopRecord)
        self.groups = queries.running(ParallelGroupRecord)

    def of(self, bell: Bell) -> list[Ring]:
        """Return what a commit rings. Queries."""
        lines = sorted(bell.events)
        found = [
            each for at in range(0, len(lines), AT_ONCE) for each in queries.events(lines[at : at + AT_ONCE])
        ]
        groups = queries.groups([each.pk for each in found if each.kind.startswith("Parallel")])
        rings = [ring for each in found for ring in self._event(bell.project, each, groups.get(each.pk))]
        return [*rings, *self._cut(bell)]

    def _event(self, project: int, event: Event, group: int | None) -> Iterator[Ring]:
        match event.kind:
            case "AgentStart" if event.role == RINGING and event.loop is not None:
                self.loops[event.loop] = project, event.session_id
                yield _started(project, event)
            case "AgentEnd" if event.loop in self.loops:
                del self.loops[event.loop]
                yield _finished(project, event, event.outcome)
            case "ApprovalRequested":
                yield _asked(project, event)
            case "ParallelLoopStart" if group is not None:
                self.groups[group] = project, event.session_id
                yield _started(project, event)
            case "ParallelLoopEnd" if group in self.groups:
                del self.groups[group]
                yield _finished(project, event, "completed")

    def _cut(self, bell: Bell) -> Iterator[Ring]:
        """Ring for what was cut off: a flush has no event of a loop's own."""
        touched = [pk for pk in bell.loops if pk in self.loops]
        for ended in queries.ended_loops(touched) if touched else ():
            yield _ended(*self.loops.pop(ended.pk), ended.outcome)
        cut = [pk for pk in bell.groups if pk in self.groups]
        for ended in queries.ended_groups(cut) if cut else ():
            yield _ended(*self.groups.pop(ended.pk), ended.outcome)


def _started(project: int, event: Event) -> Ring:
    return Ring(project, {"type": "turn-started", **_of(event), "at": _ms(event.at)})


def _finished(project: int, event: Event, outcome: str) -> Ring:
    reason = REASONS.get(outcome, "finish")
    how: Frame = {"reason": reason, "pending_approval": event.waits and reason == "finish"}
    return Ring(project, {"type": "turn-finished", **_of(event), **how, "at": _ms(event.at)})


def _asked(project: int, event: Event) -> Ring:
    frame: Frame = {"type": "approval-requested", "session_id": event.session_id, "at": _ms(event.at)}
    return Ring(project, frame)


def _ended(project: int, session_id: str, outcome: str) -> Ring:
    how: Frame = {"reason": REASONS.get(outcome, "finish"), "pending_approval": False}
    frame: Frame = {"type": "turn-finished", "session_id": session_id, **how, "at": _ms(datetime.now(UTC))}
    return Ring(project, frame)


def _of(event: Event) -> Frame:
    """Return whose turn it is, and the prompt's id where it is known."""
    whose: Frame = {"session_id": event.session_id}
    return whose | {"message_id": event.message_id} if event.message_id else whose


def _ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)
