"""Replays the journal: native lines as stored, foreign ones translated by the current readers.

A translation keeps its rows in the journal; where the current reader returns other events, they are written
anew.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from recorder.core.events import Unread
from recorder.core.formats import InvalidLineError
from recorder.core.formats.base import Fields, Translation
from recorder.core.formats.base import parse as parse_foreign
from recorder.core.formats.native import NO_LIMITS, parse
from recorder.core.formats.registry import READERS
from recorder.core.recorder import JournalLine
from recorder.core.sources import OTLP
from recorder.journal.our_bugs import one_line
from recorder.journal.spans.reader import forget
from recorder.journal.spans.replay import Entry, SpanReplay, about, events_again
from recorder.journal.translation import ProjectTranslator
from recorder.masking.project_rules import masker_of
from recorder.models import JournalEvent, Producer

log = logging.getLogger(__name__)


class EndOfStream(NamedTuple):
    """The end of a producer's stream."""

    id: int
    producer: int
    received_at: datetime


class Replay:
    """Reads a project's journal once, in order."""

    def __init__(self, project: int) -> None:
        self.unreadable = 0
        forget(project)
        self._spans = SpanReplay(project)
        self._translation = ProjectTranslator(project, self._spans.times, None, masker_of(project))
        self._translation.forget()
        self._begun: set[int] = set()  # producers whose lines are read anew from the first
        self._readings: dict[int, list[Entry]] = defaultdict(list)  # by producer: of the next line

    def lines(self, entries: Sequence[Entry]) -> Iterator[JournalLine | EndOfStream]:
        """Yield the lines and ends of stream to feed to the recorder."""
        for entry, raw in entries:
            if entry.producer.format == OTLP:
                yield from self._spans.add(entry, raw)
                continue
            yield from self._spans.rest()
            if entry.kind == "read":
                self._readings[entry.producer_id].append((entry, raw))
            elif entry.kind == "flush":
                if entry.producer.format in READERS:
                    yield from self._end(entry)
                yield EndOfStream(entry.pk, entry.producer_id, entry.received_at)
            else:
                yield from self._line(entry, raw)

    def rest(self) -> Iterator[JournalLine]:
        """Yield the lines of the last batch of spans; call it after all entries."""
        yield from self._spans.rest()

    def finish(self) -> None:
        """Save the state of the readers."""
        self._translation.write()
        self.unreadable += self._spans.unreadable

    def _line(self, entry: JournalEvent, raw: bytes) -> Iterator[JournalLine]:
        try:
            if entry.producer.format in READERS:
                yield from self._foreign(entry, raw)
            else:
                event = parse(raw, limits=NO_LIMITS)
                yield JournalLine(*about(entry), event, entry.producer.is_demo)
        except InvalidLineError:
            self.unreadable += 1
        except Exception as error:  # noqa: BLE001  as when it was recorded
            log.error("line %d of the journal breaks its reader: %s", entry.pk, one_line(error))  # noqa: TRY400
            yield JournalLine(*about(entry), Unread(), entry.producer.is_demo)

    def _foreign(self, entry: JournalEvent, raw: bytes) -> Iterator[JournalLine]:
        foreign = parse_foreign(raw, limits=NO_LIMITS)
        translation = self._translation.understood(
            self._from_start(entry.producer), foreign, entry.received_at, self._spans.withdrawn
        )
        if isinstance(translation, InvalidLineError):
            raise translation
        assert isinstance(translation, Translation)  # a stored line is of no deleted session
        yield from self._read(entry, translation.events)
        head = about(entry)
        yield JournalLine(*head, translation.original(head[-1]), entry.producer.is_demo, translation.origin)

    def _read(self, entry: JournalEvent, events: list[Fields]) -> Iterator[JournalLine]:
        yield from events_again(entry, events, self._readings.pop(entry.producer_id, []))

    def _end(self, entry: JournalEvent) -> Iterator[JournalLine]:
        """Yield the events that an end of stream adds to the records of its producer, and of others."""
        ending = self._from_start(entry.producer)
        for producer, events in self._translation.end_of_stream(ending, entry.received_at, entry.pk):
            own = JournalEvent(
                pk=entry.pk,
                producer=producer,
                project_id=entry.project_id,
                received_at=entry.received_at,
            )
            yield from self._read(own, events)

    def _from_start(self, producer: Producer) -> Producer:
        """Reset a producer's reader once, so that it reads from the first line."""
        if producer.pk not in self._begun:
            self._begun.add(producer.pk)
            producer.reading = None
        return producer


def unread(line: JournalLine) -> JournalLine:
    """Return a line without its event, because our own code raised on it."""
    return replace(line, event=Unread())
