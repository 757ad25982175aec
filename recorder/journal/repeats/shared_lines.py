"""Translates the lines of transcripts that may repeat those of other sessions, within one transaction.

The session whose line comes first records it, and every copy is history. `settle` corrects this at the end of
a stream, where the copies came first.

Cost: one query a batch for its keys, and one row a message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime

from recorder.core.formats import ForeignLine
from recorder.core.formats.base import Fields, Translation, parse_time
from recorder.core.formats.transcripts.repeats import LineKey, Member, Name, SharingReader
from recorder.database import sql

TABLE = "recorder_transcriptline"
COLUMNS = ("producer_id", "session", "key", "request", "kind", "at", "loop")
ROWS = 2_000  # held in memory before they are written
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SharedLines:
    """The lines that the sessions of a project have, as far as the lines of a transaction touch them."""

    def __init__(self, project: int) -> None:
        self._project = project
        self._of_key: dict[str, list[Member]] = {}
        self._new: list[Member] = []

    def load(self, reader: SharingReader, lines: Iterable[object]) -> None:
        """Load what is known of some lines in one query; of others it is loaded line by line."""
        fields = (line.fields for line in lines if isinstance(line, ForeignLine) and line.fields)
        keys = {found.key for each in fields if (found := reader.key_of(each)) is not None}
        self._load(keys - self._of_key.keys())

    def translate(self, reader: SharingReader, producer: int, line: Fields, at: datetime) -> Translation:
        """Translate a line; one that is recorded already, here or in another session, has no events.

        Raises InvalidLineError.
        """
        key = reader.key_of(line)
        if key is None:
            return reader.read(line, at)
        members = self._members(key.key)
        is_known = any(each.loop and each.is_copy_of(key) for each in members)
        is_repeat = is_known and not reader.continues(line)
        found = reader.repeat(line, at) if is_repeat else reader.read(line, at)
        loop = "" if is_repeat else found.loop_id or ""
        member = member_of(key, reader.session_of(line), line, producer, at, loop)
        if not any(each.request == member.request and each.session == member.session for each in members):
            members.append(member)
            self._new.append(member)
            if len(self._new) >= ROWS:
                self.write()
        return found

    def write(self) -> None:
        """Write the members that are new, and forget all."""
        values: sql.Values = []
        for each in self._new:
            values += row_of(each)
        sql.insert_all(TABLE, {"project_id": self._project}, COLUMNS, values)
        self._new, self._of_key = [], {}

    def _members(self, key: str) -> list[Member]:
        if key not in self._of_key:
            self._load({key})
        return self._of_key[key]

    def _load(self, keys: set[str]) -> None:
        if not keys:
            return
        self._of_key |= {key: [] for key in keys}
        for member in members_by(self._project, "key", sorted(keys)):
            self._of_key[member.key].append(member)


def member_of(key: LineKey, session: str, line: Fields, producer: int, at: datetime, loop: str) -> Member:
    """Return the member of the session of a line; `at` is the time of its arrival."""
    moment = parse_time(line.get("timestamp")) or at
    micros = key.at_ms * 1000 or (moment - _EPOCH) // (_EPOCH.resolution)
    return Member(key.key, key.request, session, producer, key.kind, micros, loop)


def members_by(project: int, column: str, values: Iterable[str]) -> Iterator[Member]:
    """Yield the members of a project by their keys or sessions."""
    for producer, session, key, request, kind, at, loop in sql.read(
        f"SELECT {', '.join(COLUMNS)} FROM {TABLE} "  # noqa: S608  names
        f"WHERE project_id = %s AND {sql.in_list(column)} ORDER BY id",
        *(project, sql.list_param(values)),
    ):
        yield Member(key, request, session, producer, kind, at, loop)


def row_of(member: Member) -> sql.Values:
    """Return the values of a member's row."""
    about = (member.producer, member.session, member.key, member.request)
    return [*about, member.kind, member.at, member.loop]


def note_loops(project: int, transcript: int, members: Iterable[Member], loops: Mapping[Name, str]) -> None:
    """Write in which loops the lines of a transcript are recorded now; those of no loop are history."""
    rows = [
        (loop, project, each.key, each.request, each.session)
        for each in members
        if each.producer == transcript and (loop := loops.get(each.name, "")) != each.loop
    ]
    sql.write(
        f"UPDATE {TABLE} SET loop = %s "  # noqa: S608  names
        "WHERE project_id = %s AND key = %s AND request = %s AND session = %s",
        rows,
    )


def forget(project: int) -> None:
    """Delete what is known of a project's lines, before its journal is read from the first line.

    The keys of deleted sessions stay: copies of their lines in other transcripts are history, as before.
    """
    deleted = "SELECT session_id FROM recorder_deletion WHERE project_id = %s"
    sql.write(
        f"DELETE FROM {TABLE} WHERE project_id = %s AND session NOT IN ({deleted})",  # noqa: S608  names
        [[project, project]],
    )


def name_machine(events: Iterable[Fields], machine: str) -> None:
    """Add the sender's computer to the metadata of the loops that begin."""
    for event in events:
        if event["type"] == "AgentStart":
            metadata = event.get("metadata")
            event["metadata"] = {**(metadata if isinstance(metadata, dict) else {}), "machine": machine}
