"""Translates the foreign lines of one project, with one reader for each producer.

A line of a transcript whose session may also send spans is preceded by the withdrawal of the loops that were
derived from spans of the time it covers now, and followed by the costs that telemetry reported of its turns.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import cast

from recorder.core.formats import ForeignLine, InvalidLineError
from recorder.core.formats.base import Fields, Reader, Translation
from recorder.core.formats.registry import READERS, SETTLED, TRANSCRIPTS
from recorder.core.formats.transcripts.claude_code import ClaudeCodeReader
from recorder.core.formats.transcripts.repeats import SharingReader
from recorder.core.sources import MERGED
from recorder.database import sql
from recorder.journal.batch import Dropped
from recorder.journal.repeats.settle import Settled, settle, sharing_sessions
from recorder.journal.repeats.shared_lines import SharedLines, forget, name_machine
from recorder.journal.spans.reported_calls import ReportedCalls
from recorder.journal.spans.transcript_times import TranscriptTimes
from recorder.journal.tombstones import Tombstones, of_producer, of_session
from recorder.masking.masker import Masker
from recorder.models import Producer

_REPORTING = frozenset(("claude-code",))  # formats of runtimes whose telemetry reports costs
# Returns the events that withdraw loops of some units because a transcript covers them.
Withdraw = Callable[[Sequence[int]], list[Fields]]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class ProjectTranslator:
    """The translation of one project's foreign lines within one transaction."""

    def __init__(
        self, project: int, times: TranscriptTimes, tombstones: Tombstones | None, masker: Masker
    ) -> None:
        self._project = project
        self._masker = masker
        self._tombstones = tombstones if tombstones is not None and tombstones.any else None
        self._times = times
        self._calls = ReportedCalls(project)
        self._readers: dict[int, Reader] = {}
        self._shared_lines = SharedLines(project)
        self._loops: dict[str, int] = {}  # by session: recorded, or begun in this transaction

    def reader(self, producer: Producer) -> Reader:
        """Return the reader of a producer's lines, in the state that it had after the last line."""
        if producer.pk not in self._readers:
            make = READERS[producer.format]
            self._readers[producer.pk] = make(producer.reading, str(producer.pk), self._next_loop)
        return self._readers[producer.pk]

    def understood(
        self, producer: Producer, foreign: ForeignLine, at: datetime, withdraw: Withdraw
    ) -> Translation | InvalidLineError | Dropped:
        """Return the translation of a producer's next line, or why it is not recorded."""
        if foreign.fields is None:
            return Translation("sse")
        try:
            if self._tombstones is None:
                translation: Translation | Dropped = self._translate(producer, foreign.fields, at)
            else:
                translation = self._unless_deleted(self._tombstones, producer, foreign.fields, at)
        except InvalidLineError as refused:
            return refused
        if isinstance(translation, Dropped):
            return translation
        if producer.machine:
            name_machine(translation.events, producer.machine)
        if producer.format in MERGED:
            translation.events = [
                *self._covered(producer.format, translation, withdraw),
                *translation.events,
                *self._reported(producer, translation.events),
            ]
        return translation

    def load(self, producer: Producer, lines: Iterable[object]) -> None:
        """Load at once what the translation of some lines needs; else it is loaded line by line."""
        if producer.format in SETTLED:
            self._shared_lines.load(cast("SharingReader", self.reader(producer)), lines)

    def end_of_stream(
        self, producer: Producer, at: datetime, before: int | None = None
    ) -> list[tuple[Producer, list[Fields]]]:
        """Return the events that a producer's end of stream adds to its own records, and to those of others.

        Lines from the journal id `before` on are not read again; all others must be written.
        """
        own = self.reader(producer).end_of_stream(at)
        settled = self._settled(producer, at, before)
        for each in settled:
            own += each.events if each.transcript == producer else []
        own += [event for each in settled for event in each.gone]
        own += self._restated(producer)
        others = [(each.transcript, each.events) for each in settled if each.transcript != producer]
        return [(of, [*events, *self._reported(of, events)]) for of, events in [*others, (producer, own)]]

    def write(self) -> None:
        """Save the state of the readers, what is known of the lines, and the times that they cover.

        A state may join text of several lines, so it is masked as they are.
        """
        self._shared_lines.write()
        sql.write(
            "UPDATE recorder_producer SET reading = %s WHERE id = %s",
            [
                (
                    self._masker.mask(json.dumps(reader.state, separators=(",", ":")).encode()).line.decode(),
                    producer,
                )
                for producer, reader in self._readers.items()
            ],
        )
        self._times.write()

    def forget(self) -> None:
        """Delete what is known of the lines, before the journal is read from the first one."""
        forget(self._project)

    def _settled(self, producer: Producer, at: datetime, before: int | None) -> list[Settled]:
        if producer.format not in SETTLED:
            return []
        self._shared_lines.write()
        found = settle(self._project, producer.pk, at, before)
        self._readers |= {each.transcript.pk: each.reader for each in found}
        return found

    def _restated(self, producer: Producer) -> list[Fields]:
        """Return the events by which sessions that go on from a new statement of cost are computed again."""
        reader = self.reader(producer)
        if not isinstance(reader, ClaudeCodeReader) or not reader.takes_statement():
            return []
        sessions = sharing_sessions(self._project, producer.pk)
        return [{"type": "CostStated", "session_id": session} for session in sessions]

    def _unless_deleted(
        self, tombstones: Tombstones, producer: Producer, fields: Fields, at: datetime
    ) -> Translation | Dropped:
        """Translate a line unless it is of a deleted session; the reader's state is then as before.

        A producer that sent nothing else is noted: its lines are dropped unless they name another session.
        """
        mark = of_producer(producer.pk)
        marked = tombstones.deletion(mark)
        if marked and producer.format in TRANSCRIPTS and not self._names_other(tombstones, producer, fields):
            return Dropped(marked)
        before = json.dumps(self.reader(producer).state)
        translation = self._translate(producer, fields, at)
        deletion = tombstones.drops_translation(producer.pk, translation)
        if not deletion:
            return translation
        self._readers[producer.pk] = READERS[producer.format](
            json.loads(before), str(producer.pk), self._next_loop
        )
        if producer.high < 0:
            tombstones.note(deletion, mark)
        return Dropped(deletion)

    def _names_other(self, tombstones: Tombstones, producer: Producer, fields: Fields) -> bool:
        """Return whether a line names a session that is not deleted, as the rest of a resumed one may."""
        if producer.format not in SETTLED:
            return False
        session = cast("SharingReader", self.reader(producer)).session_of(fields)
        return bool(session) and not tombstones.deletion(of_session(session))

    def _translate(self, producer: Producer, fields: Fields, at: datetime) -> Translation:
        reader = self.reader(producer)
        if producer.format in SETTLED:  # not `isinstance`: for a protocol it makes the whole state
            return self._shared_lines.translate(cast("SharingReader", reader), producer.pk, fields, at)
        return reader.read(fields, at)

    def _covered(self, runtime: str, translation: Translation, withdraw: Withdraw) -> list[Fields]:
        session = translation.session_id if translation.covers is None else translation.covers
        at = translation.timestamp
        if not session or at is None:
            return []
        units = self._times.extend(runtime, session, (at - _EPOCH) // _MICROSECOND * 1000)
        return withdraw(units) if units else []

    def _reported(self, producer: Producer, events: Sequence[Fields]) -> list[Fields]:
        return self._calls.of_transcript(events) if producer.format in _REPORTING else []

    def _next_loop(self, session_id: str) -> int:
        if session_id not in self._loops:
            rows = sql.read(
                "SELECT loops FROM recorder_session WHERE project_id = %s AND session_id = %s",
                *(self._project, session_id),
            )
            self._loops[session_id] = rows[0][0] if rows else 0
        self._loops[session_id] += 1
        return self._loops[session_id]
