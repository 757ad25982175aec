"""Reads the spans of one project within one transaction: finds their units, and the events to record.

A line that was received before changes nothing and is not stored again; one that conflicts with another
sender's is rejected. The units of traces that share a key are joined into the oldest one.

Cost: three queries to load what a batch touches and four statements to write it. A unit is read and written
whole: 200 to 400 bytes a span that is no noise.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from recorder.core.formats import ForeignLine, InvalidLineError
from recorder.core.formats.base import Fields, Translation
from recorder.core.formats.otlp.events import ReadLine
from recorder.core.formats.otlp.joining import home_of, keys_of
from recorder.core.formats.otlp.spans.attributes import moment
from recorder.core.formats.otlp.spans.digest import Digest, Item
from recorder.core.formats.otlp.spans.reading import read_item
from recorder.core.formats.otlp.unit import Unit
from recorder.database import sql
from recorder.journal.spans import marks
from recorder.journal.spans.conflicts import SpanConflicts
from recorder.journal.spans.evaluations import PlacedEvaluation, newly_placed
from recorder.journal.spans.reported_calls import ReportedCalls
from recorder.journal.spans.transcript_times import TranscriptTimes, session_key
from recorder.journal.spans.without_record import SETS, AttributeNames, type_of
from recorder.journal.tombstones import Tombstones, of_key, of_session, of_trace

SILENCE = "loopscopeSilence"  # a line of ours: nothing more came of a trace for the time that is set

ReadText = Callable[[int], bytes]


@dataclass(slots=True)
class SpanLine:
    """One accepted line: its place in the batch, and what was read."""

    place: int
    item: Item | None  # None: a mark of silence
    home: str


@dataclass(slots=True)
class _Held:
    """A unit in memory: its row, and whether it was joined into another one."""

    pk: int
    unit: Unit
    homes: set[str] = field(default_factory=set)


class SpanReader:
    """The units that the lines of one transaction touch."""

    def __init__(self, project: int, times: TranscriptTimes, tombstones: Tombstones | None = None) -> None:
        self._project = project
        self._tombstones = tombstones
        self._times = times
        self._calls = ReportedCalls(project)
        self._units: dict[int, _Held] = {}
        self._of_home: dict[str, int | None] = {}
        self._of_key: dict[str, int] = {}
        self._seen: dict[str, dict[bytes, bytes]] = {}
        self._new_keys: dict[str, int] = {}
        self._touched_homes: set[str] = set()
        self._gone: set[int] = set()
        self._received: dict[int, datetime] = {}
        self._conflicts = SpanConflicts()
        self._covered: set[int] = set()  # units that a transcript changed
        self._names = AttributeNames()
        self.evaluations: list[PlacedEvaluation] = []

    def read(
        self,
        parsed: Sequence[ForeignLine | InvalidLineError],
        raws: Sequence[bytes],
        token: int | None = None,
    ) -> list[SpanLine | InvalidLineError | None]:
        """Read the lines of a batch; None is a line that was received before.

        `token` sent them, 0 if it is not known; None: they are of the journal, where no line conflicts.
        """
        found: list[SpanLine | InvalidLineError | None] = []
        for place, (line, raw) in enumerate(zip(parsed, raws, strict=True)):
            if isinstance(line, InvalidLineError):
                found.append(line)
                continue
            try:
                found.append(_read(place, line.fields or {}, raw))
            except InvalidLineError as error:
                found.append(error.without_traceback())
        if self._tombstones is not None and self._tombstones.any:
            found = [self._unless_deleted(self._tombstones, line) for line in found]
        self._load([line for line in found if isinstance(line, SpanLine)])
        return [self._unless_received(line, token) if isinstance(line, SpanLine) else line for line in found]

    def new_events(self, lines: Sequence[SpanLine], at: datetime, read_text: ReadText) -> list[Fields]:
        """Add lines to their units; return the events that are missing in the records then."""
        items = {line.item.digest.print: line.item for line in lines if line.item is not None}
        touched: dict[int, None] = {}
        for line in lines:
            pk = self._add(line, at)
            if pk is not None:
                touched[pk] = None

        def content(digest: Digest) -> Item:
            if digest.print not in items:
                raw = read_text(digest.line)
                items[digest.print] = read_item(json.loads(raw), raw)
            return items[digest.print]

        events: list[Fields] = []
        for pk in touched:
            if pk in self._units and pk not in self._gone:
                self._received[pk] = at
                events += self._new_events(pk, content)
        new = [line.item for line in lines if line.item is not None]
        return events + self._calls.of_telemetry(new)

    def new_events_of_units(self, units: Sequence[int], read_text: ReadText) -> list[Fields]:
        """Return the events that are missing after a transcript covered loops of some units."""
        self._load_units(units)
        events: list[Fields] = []
        for pk in units:
            self._covered.add(pk)
            events += self._new_events(pk, partial(_stored, read_text))
        return events

    def _new_events(self, pk: int, content: ReadLine) -> list[Fields]:
        unit = self._units[pk].unit
        before = unit.trees
        events = unit.new_events(content, self._times.covers)
        self.evaluations += newly_placed(unit, content)
        if unit.trees != before:
            trees = {(session_key(runtime, session), start) for runtime, session, start in unit.trees}
            self._times.write_trees(pk, trees)
        return events

    def translation(self, line: SpanLine) -> Translation:
        """Return the line itself as the recorder gets it."""
        if line.item is None:
            return Translation("silence", session_id=self._session(line.home))
        digest = line.item.digest
        name = type_of(digest)
        session = self._session(line.home)
        held = self._held(line.home)
        waiting = None if session or digest.kind == "noise" else f"spans-{line.home}"
        return Translation(
            name[:100],
            session_id=session,
            loop_id=(held.unit.loop_of(digest) if held is not None and session else None) or waiting,
            timestamp=moment(digest.end) if digest.end else None,
        )

    def note_line(self, line: SpanLine, journal_id: int) -> None:
        """Note the journal id of a line."""
        if line.item is not None:
            line.item.digest.line = journal_id

    def write(self) -> None:
        """Save the units, traces and keys that changed."""
        adapt = sql.timestamp_encoder()
        rows = [
            (*_columns(held.unit), *self._names.columns(pk, held.unit), adapt(self._received[pk]), pk)
            for pk, held in self._units.items()
            if pk in self._received and pk not in self._gone
        ]
        sets = f"state = %s, is_open = %s, {SETS}, last_received_at = %s"
        sql.write(f"UPDATE recorder_spanunit SET {sets} WHERE id = %s", rows)  # noqa: S608  columns
        covered = sorted(self._covered - self._received.keys() - self._gone)
        sql.write(
            "UPDATE recorder_spanunit SET state = %s, is_open = %s WHERE id = %s",
            [(*_columns(self._units[pk].unit), pk) for pk in covered],
        )
        sql.write(
            """INSERT INTO recorder_spantrace (project_id, trace, unit_id, seen) VALUES (%s, %s, %s, %s)
               ON CONFLICT (project_id, trace)
               DO UPDATE SET unit_id = excluded.unit_id, seen = excluded.seen""",
            [
                (self._project, home, self._of_home.get(home), marks.packed(self._seen.get(home, {})))
                for home in sorted(self._touched_homes)
            ],
        )
        sql.write(
            """INSERT INTO recorder_spankey (project_id, key, unit_id) VALUES (%s, %s, %s)
               ON CONFLICT (project_id, key) DO UPDATE SET unit_id = excluded.unit_id""",
            [(self._project, key, pk) for key, pk in sorted(self._new_keys.items())],
        )
        sql.write("DELETE FROM recorder_spanunit WHERE id = %s", [[pk] for pk in sorted(self._gone)])
        self._touched_homes.clear()
        self._new_keys.clear()
        self._received.clear()
        self._covered.clear()

    def _load(self, lines: Sequence[SpanLine]) -> None:
        homes = {line.home for line in lines} - self._of_home.keys()
        keys = {key for line in lines if line.item is not None for key in keys_of(line.item.digest)}
        if homes:
            for trace, unit, seen in sql.read(
                f"SELECT trace, unit_id, seen FROM recorder_spantrace "  # noqa: S608
                f"WHERE project_id = %s AND {sql.in_list('trace')}",
                *(self._project, sql.list_param(sorted(homes))),
            ):
                self._of_home[trace] = unit
                self._seen[trace] = marks.unpacked(bytes(seen))
        if keys - self._of_key.keys():
            self._of_key |= dict(
                sql.read(
                    f"SELECT key, unit_id FROM recorder_spankey "  # noqa: S608
                    f"WHERE project_id = %s AND {sql.in_list('key')}",
                    *(self._project, sql.list_param(sorted(keys - self._of_key.keys()))),
                )
            )
        self._load_units(pk for pk in [*self._of_home.values(), *self._of_key.values()] if pk is not None)

    def _load_units(self, units: Iterable[int]) -> None:
        if missing := set(units) - self._units.keys():
            columns = "id, state, unrecorded_names"
            for pk, state, names in sql.read(
                f"SELECT {columns} FROM recorder_spanunit WHERE {sql.in_list('id')}",  # noqa: S608
                sql.list_param(sorted(missing)),
            ):
                self._units[pk] = _Held(pk, Unit(None if state is None else json.loads(state)))
                self._names.load(pk, names)

    def _unless_deleted(
        self, tombstones: Tombstones, line: SpanLine | InvalidLineError | None
    ) -> SpanLine | InvalidLineError | None:
        """Return a line unless it is of a deleted session; then all of its trace is."""
        if not isinstance(line, SpanLine):
            return line
        names = [of_trace(line.home)]
        if line.item is not None:
            digest = line.item.digest
            names += [of_session(digest.session)] if digest.session else []
            names += map(of_key, keys_of(digest))
        deletion = next(filter(None, map(tombstones.deletion, names)), 0)
        if not deletion:
            return line
        tombstones.note(deletion, names[0])
        tombstones.count(deletion)
        return None

    def _unless_received(self, line: SpanLine, token: int | None) -> SpanLine | InvalidLineError | None:
        """Return a line unless it was received before, or the reason why it conflicts; remember it."""
        if line.item is None:
            return line
        digest = line.item.digest
        mark = marks.mark_of(digest)
        seen = self._seen.setdefault(line.home, {})
        fingerprint = bytes.fromhex(digest.print)
        if seen.get(mark) == fingerprint:
            return None
        if token is not None:
            held = self._held(line.home)
            before = held.unit.recorded_state(digest) if held is not None else None
            if (conflict := self._conflicts.of(before, digest, token)) is not None:
                return conflict
            digest.token = token
        seen[mark] = fingerprint
        self._touched_homes.add(line.home)
        return line

    def _add(self, line: SpanLine, at: datetime) -> int | None:
        """Add a line to its unit, which is made or joined of others; return its primary key."""
        if line.item is None:
            pk = self._of_home.get(line.home)
            if pk is not None:
                self._units[pk].unit.is_silent = True
            return pk
        digest = line.item.digest
        self._of_home.setdefault(line.home, None)
        if digest.kind == "noise":
            return None
        keys = list(keys_of(digest))
        found = {self._of_key[key] for key in keys if key in self._of_key}
        if (home := self._of_home[line.home]) is not None:
            found.add(home)
        pk = self._joined(sorted(found)) if found else self._make(at)
        self._of_home[line.home] = pk
        self._touched_homes.add(line.home)
        for key in keys:
            if self._of_key.get(key) != pk:
                self._of_key[key] = self._new_keys[key] = pk
        self._units[pk].unit.add(digest)
        self._names.add(pk, line.item)
        return pk

    def _make(self, at: datetime) -> int:
        adapt = sql.timestamp_encoder()
        ((pk,),) = sql.read(
            """INSERT INTO recorder_spanunit (project_id, is_open, last_received_at)
               VALUES (%s, %s, %s) RETURNING id""",
            *(self._project, False, adapt(at)),
        )
        self._units[pk] = _Held(pk, Unit())
        return int(pk)

    def _joined(self, units: Sequence[int]) -> int:
        """Return the oldest of some units, into which the others are joined."""
        into, *others = units
        for pk in others:
            self._units[into].unit.absorb(self._units[pk].unit)
            self._names.join(into, pk)
            for table in ("recorder_spantrace", "recorder_spankey", "recorder_spantree"):
                sql.write(f"UPDATE {table} SET unit_id = %s WHERE unit_id = %s", [[into, pk]])  # noqa: S608
            for index in (self._of_home, self._of_key, self._new_keys):
                for name, unit in index.items():
                    if unit == pk:
                        index[name] = into
            self._gone.add(pk)
            self._received.pop(pk, None)
        return into

    def _held(self, home: str) -> _Held | None:
        pk = self._of_home.get(home)
        return self._units.get(pk) if pk is not None else None

    def _session(self, home: str) -> str | None:
        held = self._held(home)
        return held.unit.session if held else None


def forget(project: int) -> None:
    """Delete all units of a project, before its journal is read from the first line."""
    for table in ("spantree", "transcripttime", "callfigures", "spankey", "spantrace", "spanunit"):
        sql.write(f"DELETE FROM recorder_{table} WHERE project_id = %s", [[project]])  # noqa: S608


def _columns(unit: Unit) -> tuple[str, bool]:
    return json.dumps(unit.state, separators=(",", ":")), unit.is_open


def _stored(read_text: ReadText, digest: Digest) -> Item:
    raw = read_text(digest.line)
    return read_item(json.loads(raw), raw)


def _read(place: int, fields: Fields, raw: bytes) -> SpanLine:
    mark = fields.get(SILENCE)
    if isinstance(mark, dict) and isinstance(mark.get("trace"), str):
        return SpanLine(place, None, str(mark["trace"]))
    item = read_item(fields, raw)
    return SpanLine(place, item, home_of(item.digest))
