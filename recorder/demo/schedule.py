"""The demo's schedule: which tapes are played and when each begins. About 128 s, several tapes at a time."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

from recorder.demo.tape import Cue, Tape, load


@dataclass(frozen=True, slots=True)
class Act:
    """One tape of the schedule. Tapes recorded from scripted agents are stretched to human pace."""

    name: str
    starts_at: float
    recorded: bool = False


SCHEDULE = (
    Act("a-coding-agent", 0),
    Act("c-evaluation-with-judge", 6),
    Act("f-waiting-for-approval", 20),
    Act("m-dependency-updates", 26),
    Act("b-research-with-sub-agents", 30),
    Act("h-continue-rerun-branch", 52, recorded=True),
    Act("e-input-rejected", 62),
    Act("k-model-overloaded", 66),
    Act("d-compaction", 70),
    Act("i-sub-agents", 90, recorded=True),
    Act("j-rejections-and-errors", 100, recorded=True),
    Act("l-bulk-data-refused", 108),
    Act("g-tools-and-a-failing-test", 112, recorded=True),
)


SECONDS = 150  # of the whole schedule, rounded up


@dataclass(frozen=True, slots=True, order=True)
class Moment:
    """One event of the schedule, `at` seconds from its start."""

    at: float
    act: int
    place: int
    starts_at: float  # of its act
    tape: Tape
    cue: Cue


def moments() -> Iterator[Moment]:
    """Yield every event of the schedule in order of time, with new ids."""
    return heapq.merge(*(_moments(number, act) for number, act in enumerate(SCHEDULE)))


def _moments(number: int, act: Act) -> Iterator[Moment]:
    tape = load(act.name, stretched=act.recorded)
    for place, cue in enumerate(tape.cues):
        yield Moment(act.starts_at + cue.at, number, place, act.starts_at, tape, cue)
