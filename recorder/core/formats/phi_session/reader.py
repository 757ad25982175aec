"""Reader of phi-core session files: converts each session to native event lines.

The format is phi-core's `Session`, defined by `src/session/model.rs` of its repository; a file holds one
session or an array. `recorder/core/phi_session/writer.py` writes it.

- Each LoopRecord becomes the lines of one loop, each parallel group a ParallelLoopStart and ParallelLoopEnd.
- Session fields that differ from what the events imply become a SessionInfo line.
- A compaction block becomes a CompactionEnded line.
- Dropped: `children_loop_ids` and `sequence`, which follow from the rest.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from recorder.core.formats.phi_session.json import (
    Object,
    document,
    list_at,
    object_at,
    refuse,
    rfc3339,
    text_at,
    wire_line,
)
from recorder.core.formats.phi_session.loop import LoopLines, TimedLine, loop_lines
from recorder.core.records import Json


@dataclass(frozen=True, slots=True)
class GroupLines:
    """The start and end line of a parallel group; `loops` are the indexes of its branches in the file."""

    loops: list[int]
    lines: list[TimedLine]


@dataclass(frozen=True, slots=True)
class SessionLines:
    """The lines of one session. `about` is a SessionInfo line with what its loops do not imply, or None."""

    session_id: str
    loops: list[LoopLines]
    groups: list[GroupLines]
    about: bytes | None


def read_sessions(raw: bytes) -> list[SessionLines]:
    """Return the sessions of a file.

    Raises:
        InvalidLineError: not JSON, or not a phi-core session; `path` is the JSON path of the first fault.
    """
    value = document(raw)
    found = value if isinstance(value, list) else [value]
    if not found:
        refuse("missing_field", "$", "the file holds no session")
    return [_session(each, f"$[{i}]" if isinstance(value, list) else "$") for i, each in enumerate(found)]


def merge_by_time(parts: Iterable[LoopLines | GroupLines]) -> Iterator[bytes]:
    """Yield the lines of loops and groups by time; the order within each is kept."""
    timed = heapq.merge(*(part.lines for part in parts), key=lambda each: (each.at, each.rank))
    return (each.line for each in timed)


def _session(value: Json, path: str) -> SessionLines:
    session = object_at(value, path)
    session_id = text_at(session, "session_id", path)
    loops = []
    for i, each in enumerate(list_at(session, "loops", path)):
        loop = object_at(each, f"{path}.loops[{i}]")
        loops.append((loop_lines(loop, f"{path}.loops[{i}]"), loop))
    return SessionLines(
        session_id, [lines for lines, _ in loops], _groups(session_id, loops), _about(session, loops, path)
    )


def _about(session: Object, loops: list[tuple[LoopLines, Object]], path: str) -> bytes | None:
    starts = sorted(
        (lines.started_at, str(loop["started_at"]), loop.get("agent_id")) for lines, loop in loops
    )
    created_at = text_at(session, "created_at", path)
    plain = (
        bool(starts)
        and session.get("formation") == {"FirstLoop": {"timestamp": created_at}}
        and session.get("scope", "ephemeral") == "ephemeral"
        and _is_own(session.get("parent_spawn_ref"), loops)
        and session.get("agent_id") == starts[0][2]
        and created_at == starts[0][1]
        and session.get("last_active_at") == starts[-1][1]
    )
    if plain:
        return None
    names = ["agent_id", "formation", "scope", "created_at", "last_active_at"]
    if not _is_own(session.get("parent_spawn_ref"), loops):
        names.append("parent_spawn_ref")
    fields = {name: session[name] for name in names if session.get(name) is not None}
    return wire_line({"type": "SessionInfo", "session_id": session["session_id"], **fields})


def _is_own(ref: Json, loops: list[tuple[LoopLines, Object]]) -> bool:
    """Whether a spawn reference names a loop of its own session.

    phi-core writes such references for loops whose parent has an id without the session prefix.
    """
    return not isinstance(ref, dict) or ref.get("parent_loop_id") in {lines.loop_id for lines, _ in loops}


def _groups(session_id: str, loops: list[tuple[LoopLines, Object]]) -> list[GroupLines]:
    """Return the groups. A loop id that repeats within a group starts a further round of it."""
    rounds: list[tuple[Json, list[int]]] = []
    latest: dict[str, int] = {}
    for i in sorted(range(len(loops)), key=lambda i: loops[i][0].started_at):
        group = loops[i][1].get("parallel_group")
        if not isinstance(group, dict):
            continue
        same = {name: value for name, value in group.items() if name != "is_selected"}
        key = json.dumps(same, sort_keys=True)
        place = latest.get(key)
        if place is None or any(loops[n][0].loop_id == loops[i][0].loop_id for n in rounds[place][1]):
            place = latest[key] = len(rounds)
            rounds.append((same, []))
        rounds[place][1].append(i)
    return [_group(session_id, group, members, loops) for group, members in rounds if isinstance(group, dict)]


def _group(
    session_id: str, group: Object, members: list[int], loops: list[tuple[LoopLines, Object]]
) -> GroupLines:
    branches = [loops[i][0] for i in members]
    begun = min(branch.lines[0].at for branch in branches)
    ended = max(branch.lines[-1].at for branch in branches)
    usage = group.get("evaluation_usage") or {"input": 0, "output": 0}
    judges = [
        lines.lines[-1].at
        for lines, loop in loops
        if lines.lines[0].at >= ended
        and loop.get("usage") == usage
        and not loop.get("parallel_group")
        and not lines.loop_id.startswith(f"{session_id}.")
    ]
    ended = min(judges, default=ended)
    ids = group.get("all_loop_ids") or [branch.loop_id for branch in branches]
    start: Object = {"type": "ParallelLoopStart", "session_id": session_id, "loop_ids": ids}
    end: Object = {
        "type": "ParallelLoopEnd",
        "session_id": session_id,
        "selected_loop_id": group.get("selected_loop_id"),
        "selected_config_index": group.get("selected_config_index"),
        "evaluation_usage": usage,
    }
    first = TimedLine(begun, 0, wire_line({**start, "timestamp": rfc3339(begun)}))
    return GroupLines(members, [first, TimedLine(ended, 2, wire_line({**end, "timestamp": rfc3339(ended)}))])
