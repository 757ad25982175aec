"""Translates the foreign lines of one project, with one reader for each producer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from recorder.core.formats import ForeignLine, InvalidLineError
from recorder.core.formats.base import Fields, Reader, Translation
from recorder.core.formats.registry import READERS
from recorder.core.records import Json
from recorder.database import sql
from recorder.models import Producer


class ProjectTranslator:
    """The translation of one project's foreign lines within one transaction."""

    def __init__(self, project: int) -> None:
        self._project = project
        self._readers: dict[int, Reader] = {}
        self._loops: dict[str, int] = {}  # by session: recorded, or begun in this transaction

    def reader(self, producer: Producer) -> Reader:
        """Return the reader of a producer's lines, in the state that it had after the last line."""
        if producer.pk not in self._readers:
            make = READERS[producer.format]
            self._readers[producer.pk] = make(producer.reading, str(producer.pk), self._next_loop)
        return self._readers[producer.pk]

    def understood(
        self, producer: Producer, foreign: ForeignLine, at: datetime
    ) -> Translation | InvalidLineError:
        """Return the translation of a producer's next line, or the error that rejects it."""
        if foreign.fields is None:
            return Translation("sse")
        try:
            translation = self.reader(producer).read(foreign.fields, at)
        except InvalidLineError as refused:
            return refused
        if producer.machine:
            _name_machine(translation.events, producer.machine)
        return translation

    def states(self) -> Iterator[tuple[int, Json]]:
        """Yield the state of each producer's reader, to be stored."""
        for producer, reader in self._readers.items():
            yield producer, reader.state

    def _next_loop(self, session_id: str) -> int:
        if session_id not in self._loops:
            rows = sql.read(
                "SELECT loops FROM recorder_session WHERE project_id = %s AND session_id = %s",
                *(self._project, session_id),
            )
            self._loops[session_id] = rows[0][0] if rows else 0
        self._loops[session_id] += 1
        return self._loops[session_id]


def _name_machine(events: Iterable[Fields], machine: str) -> None:
    """Add the sender's computer to the metadata of the loops that begin."""
    for event in events:
        if event["type"] == "AgentStart":
            metadata = event.get("metadata")
            event["metadata"] = {**(metadata if isinstance(metadata, dict) else {}), "machine": machine}
