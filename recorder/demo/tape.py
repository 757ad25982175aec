"""A tape prepared for playing: every event with its time in seconds, at human pace, with new ids.

Tapes hold no streaming deltas: they are generated from the finished messages, 25 a second. Tapes recorded
from scripted agents took milliseconds, so they are stretched by a typical duration for each event type.
"""

from __future__ import annotations

import json
import re
import uuid
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import cast

from recorder.core.events.fields import parse_timestamp
from recorder.core.records import Json

Event = dict[str, Json]
FOLDER = Path(__file__).parent / "tapes"
DELTAS_PER_SECOND = 25
CHARACTERS_PER_SECOND = 300
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LEAST = {  # seconds before an event of a stretched tape
    "AgentStart": 0.8,
    "MessageStart": 0.1,
    "ToolExecutionUpdate": 0.4,
    "ToolExecutionEnd": 0.9,
    "ProgressMessage": 0.3,
    "ParallelLoopEnd": 0.5,
}
_THINKING = 1.2  # seconds between a request and the first word of its answer


@dataclass(frozen=True, slots=True)
class Cue:
    """One event and its time, in seconds from the start of the tape."""

    at: float
    event: Event


@dataclass(frozen=True, slots=True)
class Tape:
    """The events of a tape. `moments` pairs recorded times with played times, to map times inside events."""

    cues: list[Cue]
    moments: list[tuple[float, float]]

    @property
    def seconds(self) -> float:
        return self.cues[-1].at


def load(name: str, *, stretched: bool) -> Tape:
    """Read a tape of the demo's folder."""
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    events = _freshened([line for line in lines if line])
    times = list(_times(events))
    places = list(_stretched(events)) if stretched else [time - times[0] for time in times]
    cues = sorted(_streamed(events, places), key=lambda cue: cue.at)
    return Tape(cues, sorted(zip(times, places, strict=True)))


def line(tape: Tape, cue: Cue, starts_at: datetime, seconds: Callable[[float], float]) -> bytes:
    """Return an event as a line of JSON, with its times moved to `starts_at` plus `seconds(played time)`."""

    def moved(time: datetime) -> datetime:
        return starts_at + timedelta(seconds=seconds(_place(tape.moments, time.timestamp())))

    event = cast("Event", _retimed(cue.event, moved))
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()


def _freshened(lines: list[str]) -> list[Event]:
    """Parse the lines and replace each id of a session or loop by a new one, everywhere it occurs."""
    named: set[str] = set()
    for event in map(json.loads, lines):
        result = event.get("result") or {}
        ids = (event.get("session_id"), event.get("loop_id"), result.get("child_loop_id"))
        named.update(found for each in ids if each for found in _UUID.findall(each))
    fresh = {old: str(uuid.uuid4()) for old in named}
    return [json.loads(_UUID.sub(lambda found: fresh.get(found[0], found[0]), each)) for each in lines]


def _times(events: list[Event]) -> Iterator[float]:
    """Yield the time of each event; an event without one gets the time of the event before it."""
    latest = 0.0
    for event in events:
        latest = max(latest, _time(event) or latest)
        yield latest


def _time(event: Event) -> float | None:
    message = event.get("message")
    at = event.get("timestamp") or (message.get("timestamp") if isinstance(message, dict) else None)
    if isinstance(at, str):
        time = parse_timestamp(at)
        return time.timestamp() if time else None
    return at / 1000 if isinstance(at, int) else None


def _stretched(events: list[Event]) -> Iterator[float]:
    place, before = 0.0, ""
    for event in events:
        kind = str(event["type"])
        pause = _THINKING if before == "TurnRequest" else _LEAST.get(kind, 0.03)
        if kind == "MessageEnd" and _is_assistant(event):
            pause = max(0.3, sum(len(text) for _, text in _texts(event)) / CHARACTERS_PER_SECOND)
        place, before = place + pause, kind
        yield place


def _streamed(events: list[Event], places: list[float]) -> Iterator[Cue]:
    begun: dict[Json, Cue] = {}
    for event, at in zip(events, places, strict=True):
        loop_id = event.get("loop_id")
        if _is_assistant(event) and event["type"] == "MessageStart":
            begun[loop_id] = Cue(at, event)
        elif _is_assistant(event) and event["type"] == "MessageEnd" and loop_id in begun:
            yield from _deltas(begun.pop(loop_id), event, at)
        yield Cue(at, event)


def _deltas(start: Cue, end: Event, until: float) -> Iterator[Cue]:
    texts = list(_texts(end))
    length = sum(len(text) for _, text in texts)
    count = max(1, int((until - start.at) * DELTAS_PER_SECOND))
    size, streamed = max(4, -(-length // count)), 0
    for kind, text in texts:
        for first, last in pairwise([*range(0, len(text), size), len(text)]):
            streamed += last - first
            at = start.at + (until - start.at) * streamed / (length + 1)
            yield Cue(
                at, {**start.event, "type": "MessageUpdate", "delta": {kind: {"delta": text[first:last]}}}
            )


def _texts(event: Event) -> Iterator[tuple[str, str]]:
    message = event["message"]
    for part in cast("list[Event]", message["content"] if isinstance(message, dict) else []):
        match part["type"]:
            case "text":
                yield "Text", str(part["text"])
            case "thinking":
                yield "Thinking", str(part["thinking"])
            case "toolCall":
                yield "ToolCallDelta", json.dumps(part["arguments"], ensure_ascii=False)


def _is_assistant(event: Event) -> bool:
    message = event.get("message")
    return isinstance(message, dict) and message.get("role") == "assistant"


def _place(moments: list[tuple[float, float]], time: float) -> float:
    """Map a recorded time to a played time by linear interpolation."""
    i = bisect_right(moments, (time, float("inf")))
    if i == 0:
        return moments[0][1] + (time - moments[0][0])
    (time_before, before) = moments[i - 1]
    if i == len(moments) or time == time_before:
        return before
    (time_after, after) = moments[i]
    return before + (after - before) * (time - time_before) / (time_after - time_before)


def _retimed(value: Json, moved: Callable[[datetime], datetime]) -> Json:
    if isinstance(value, list):
        return [_retimed(each, moved) for each in value]
    if isinstance(value, dict):
        again = partial(_retimed, moved=moved)
        return {
            name: _moved_time(inner, moved) if name in ("timestamp", "tag") else again(inner)
            for name, inner in value.items()
        }
    return value


def _moved_time(value: Json, moved: Callable[[datetime], datetime]) -> Json:
    if isinstance(value, int):
        return int(moved(datetime.fromtimestamp(value / 1000, UTC)).timestamp() * 1000)
    time = parse_timestamp(value) if isinstance(value, str) else None
    return moved(time).isoformat(timespec="milliseconds").replace("+00:00", "Z") if time else value
