"""phi-core's SessionRecorder on top of our recorder: events in, Session objects out, in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from recorder.core.changes import CallBilled, Change, LabelsChanged, Removed, SegmentChanged
from recorder.core.formats.native import parse, read_object
from recorder.core.phi_session.schema import LoopObject, SessionObject
from recorder.core.phi_session.writer import Body, Entry, Options, RecordedLoop, loop_object, session_object
from recorder.core.recorder import JournalLine, Recorder
from recorder.core.records import ChildRef, Compaction, EventRecord, Json, Loop, Record, Session, Turn
from recorder.core.state import State

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PRODUCER = 1
Callback = Callable[[SessionObject], object]


@dataclass(slots=True)
class _LoopRecords:
    turns: list[Turn] = field(default_factory=list)
    refs: list[ChildRef] = field(default_factory=list)
    compactions: list[Compaction] = field(default_factory=list)
    entries: list[EventRecord] = field(default_factory=list)


class SessionRecorder:
    """Records the events of one program. A malformed line raises InvalidLineError and changes nothing.

    `before_task` is called with a session when its first loop starts, `after_task` when a flush completes it.
    """

    def __init__(
        self,
        *,
        include_streaming_events: bool = False,
        capture_turn_requests: bool = False,
        before_task: Callback | None = None,
        after_task: Callback | None = None,
    ) -> None:
        self.state = State()
        self._options = Options(include_streaming_events, capture_turn_requests)
        self._before_task = before_task
        self._after_task = after_task
        self._recorder = Recorder(self.state)
        self._now = _EPOCH
        self._bodies: dict[int, Body] = {}
        self._records: dict[Record, None] = {}
        self._loops: dict[Session, list[Loop]] = {}
        self._of_loop: dict[Loop, _LoopRecords] = {}
        self._open: dict[Session, None] = {}
        self._completed: dict[Session, None] = {}

    def on_event(self, event: bytes | str | Mapping[str, Json]) -> list[Change]:
        """Record one event: a line of JSON, or the object it holds."""
        line = event if isinstance(event, bytes) else _encode(event)
        parsed = parse(line)
        self._now = max(self._now, getattr(parsed, "timestamp", None) or _EPOCH)
        number = len(self._bodies) + 1
        self._bodies[number] = read_object(line)
        changes = self._recorder.feed(JournalLine(number, _PRODUCER, self._now, "phi-core", parsed))
        self._store(changes)
        if parsed.type == "AgentStart":
            self._begin(self.state.sessions[parsed.session_id], number)
        return changes

    def flush(self) -> list[Change]:
        """Abort open loops and complete every session."""
        number = len(self._bodies) + 1
        self._bodies[number] = {}
        changes = self._recorder.end_of_stream(_PRODUCER, self._now, number)
        for session in list(self._open):
            self._complete(session)
            if self._after_task is not None:
                self._after_task(self._object(session))
        return changes

    def checkpoint(self) -> int:
        """Complete the sessions without a running loop; return their number."""
        idle = [session for session in self._open if not session.open_loops]
        for session in idle:
            self._complete(session)
        return len(idle)

    def drain_completed(self) -> list[SessionObject]:
        """Return the completed sessions and remove them from `sessions()`."""
        drained = [self._object(session) for session in self._completed]
        self._completed.clear()
        return drained

    def sessions(self) -> list[SessionObject]:
        """Return the sessions that were not drained, completed ones first."""
        return [self._object(session) for session in (*self._completed, *self._open)]

    def get_session(self, session_id: str) -> SessionObject | None:
        """Return one session, drained or not."""
        session = self.state.sessions.get(session_id)
        return None if session is None else self._object(session)

    def current_loop(self, loop_id: str) -> LoopObject | None:
        """Return a loop while it runs."""
        loop = self.state.latest_of_producer.get((_PRODUCER, loop_id))
        if loop is None or loop.status != "running":
            return None
        return loop_object(self._recorded(loop), self._loops[loop.session], self._options)

    @property
    def records(self) -> list[Record]:
        """All records in the order of their creation."""
        return list(self._records)

    def _begin(self, session: Session, number: int) -> None:
        if session in self._open:
            return
        self._completed.pop(session, None)
        self._open[session] = None
        if self._before_task is not None:
            earlier = [loop for loop in self._loops[session] if (loop.start_event or number) < number]
            self._before_task(session_object(session, earlier, self._recorded, self._options))

    def _complete(self, session: Session) -> None:
        del self._open[session]
        self._completed[session] = None

    def _store(self, changes: list[Change]) -> None:
        for change in changes:
            if isinstance(change, Removed):
                self._records.pop(change.record, None)
            elif isinstance(change, CallBilled | LabelsChanged | SegmentChanged):
                continue
            elif change not in self._records:
                self._records[change] = None
                self._index(change)
            elif isinstance(change, EventRecord):  # an orphan that was adopted
                self._index(change)

    def _index(self, record: Record) -> None:
        match record:
            case Loop():
                self._loops.setdefault(record.session, []).append(record)
            case Turn():
                self._records_of(record.loop).turns.append(record)
            case ChildRef():
                self._records_of(record.loop).refs.append(record)
            case Compaction():
                self._records_of(record.loop).compactions.append(record)
            case EventRecord(loop=Loop() as loop):
                self._records_of(loop).entries.append(record)
            case _:
                pass

    def _records_of(self, loop: Loop) -> _LoopRecords:
        return self._of_loop.setdefault(loop, _LoopRecords())

    def _object(self, session: Session) -> SessionObject:
        return session_object(session, self._loops.get(session, []), self._recorded, self._options)

    def _recorded(self, loop: Loop) -> RecordedLoop:
        records = self._records_of(loop)
        entries = [
            Entry(record, self._bodies[record.id]) for record in sorted(records.entries, key=lambda r: r.id)
        ]
        return RecordedLoop(loop, records.turns, records.refs, records.compactions, entries)


def _encode(event: str | Mapping[str, Json]) -> bytes:
    return (event if isinstance(event, str) else json.dumps(event)).encode("utf-8", "surrogatepass")
