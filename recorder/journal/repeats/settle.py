"""Settles which session records lines that several transcripts hold, at the end of a stream.

While lines arrive, the session whose line comes first records it. `settle` then applies `owners`, which
follows from all the lines: the lines of each transcript with another owner than before are read again, with
the owners of before and of now. Loops that differ are withdrawn and recorded anew.

Invariant: after the end of every stream the records do not depend on the order in which the lines arrived.

Cost: nothing for a transcript that shares no line. Else all lines of the sessions that share lines with it,
and twice the translation of the transcripts of which a line changes its owner.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, cast

from recorder.core.formats import InvalidLineError
from recorder.core.formats.base import Fields, format_time, parse
from recorder.core.formats.native import NO_LIMITS
from recorder.core.formats.registry import READERS
from recorder.core.formats.transcripts.repeats import Member, Name, SharingReader, owners
from recorder.database import sql
from recorder.journal.our_bugs import one_line
from recorder.journal.read import pruned, texts
from recorder.journal.repeats.shared_lines import TABLE, member_of, members_by, name_machine, note_loops
from recorder.models import JournalEvent, Producer

log = logging.getLogger(__name__)

LINES = 500  # read at once
Owned = set[Name]


class _Row(NamedTuple):
    """A line of the journal, or an end of stream."""

    line: int
    kind: str
    at: datetime


@dataclass(slots=True)
class Settled:
    """The events that correct the records of one transcript, and its reader after its last line.

    A session is recorded anew as a whole: its first loop describes it. `gone` comes after the events of all
    transcripts: it removes sessions, and moves their lines to others, which must be there.
    """

    transcript: Producer
    reader: SharingReader
    events: list[Fields] = field(default_factory=list)
    gone: list[Fields] = field(default_factory=list)


@dataclass(slots=True)
class _Reading:
    """The translation of a transcript: the events of each loop, in order, and the loop of each line."""

    reader: SharingReader
    events: list[Fields] = field(default_factory=list)
    loops: dict[Name, str] = field(default_factory=dict)
    names: set[Name] = field(default_factory=set)  # of all lines that have one

    def by_loop(self) -> dict[str, list[Fields]]:
        found: dict[str, list[Fields]] = defaultdict(list)
        for event in self.events:
            if loop := _loop_of(event):  # else of a session
                found[loop].append(event)
        return found


def settle(project: int, producer: int, at: datetime, before: int | None = None) -> list[Settled]:
    """Settle the sessions that share lines with a transcript, whose stream ends; return the corrections.

    Lines from the journal id `before` on are not read. The rows of the lines must be written.
    """
    members = _family(project, producer)
    if not members:
        return []
    wanted = owners(members)
    held = {each.name for each in members if each.loop}
    changed = {each.producer for each in members if each.name in wanted ^ held}
    rows = {pk: lines for pk in sorted(changed) if (lines := _lines(pk, before))}  # none of a deleted session
    if not rows or pruned([row.line for own in rows.values() for row in own]):
        return []  # a pruned line cannot be read again
    moves, found, loops = _moves(members, wanted), [], {}
    known, sessions = {each.name for each in members}, {each.session for each in members}
    for transcript in Producer.objects.filter(pk__in=rows).order_by("pk"):
        own = rows[transcript.pk]
        if transcript.pk == producer:
            own.append(_Row(0, "flush", at))
        old, new = _read(transcript, own, held), _read(transcript, own, wanted)
        if any(name[2] in sessions for name in old.names - known):
            return []  # an earlier version recorded it by other names: a rebuild corrects that
        found.append(_corrections(transcript, old, new, moves))
        loops[transcript.pk] = new.loops
    for pk, of_lines in loops.items():
        note_loops(project, pk, members, of_lines)
    return found


def shares_lines(project: int, producer: str) -> bool:
    """Return whether a transcript has lines that other sessions have too."""
    return bool(
        sql.read(
            f"""SELECT 1 FROM {TABLE} l JOIN recorder_producer p ON p.id = l.producer_id
                JOIN {TABLE} o ON o.project_id = l.project_id AND o.key = l.key
                     AND (o.session <> l.session OR o.request <> l.request)
                WHERE l.project_id = %s AND p.name = %s LIMIT 1""",  # noqa: S608  names
            *(project, producer),
        )
    )


def sharing_sessions(project: int, producer: int) -> list[str]:
    """Return the other sessions that share lines with those of a transcript."""
    rows = sql.read(
        f"""SELECT DISTINCT o.session FROM {TABLE} l
            JOIN {TABLE} o ON o.project_id = l.project_id AND o.key = l.key AND o.session <> l.session
            WHERE l.project_id = %s AND l.producer_id = %s""",  # noqa: S608  names
        *(project, producer),
    )
    return sorted(session for (session,) in rows)


def _family(project: int, producer: int) -> list[Member]:
    """Return the members of all sessions that share lines with a transcript, directly or by others."""
    rows = sql.read(
        f"""SELECT DISTINCT l.session, o.session FROM {TABLE} l
            JOIN {TABLE} o ON o.project_id = l.project_id AND o.key = l.key
                 AND (o.session <> l.session OR o.request <> l.request)
            WHERE l.project_id = %s AND l.producer_id = %s""",  # noqa: S608  names
        *(project, producer),
    )
    sessions: set[str] = set()
    found: list[Member] = []
    waiting = {each for row in rows for each in row}
    while waiting:
        sessions |= waiting
        found += members_by(project, "session", sorted(waiting))
        rows = sql.read(
            f"""SELECT DISTINCT o.session FROM {TABLE} l
                JOIN {TABLE} o ON o.project_id = l.project_id AND o.key = l.key
                WHERE l.project_id = %s AND {sql.in_list("l.session")}""",  # noqa: S608  names
            *(project, sql.list_param(sorted(waiting))),
        )
        waiting = {session for (session,) in rows} - sessions
    return found


def _lines(producer: int, before: int | None) -> list[_Row]:
    """Return a transcript's lines and ends of stream, in order, without their bytes."""
    rows = JournalEvent.objects.filter(producer=producer).exclude(kind="read").order_by("pk")
    if before is not None:
        rows = rows.filter(pk__lt=before)
    return [_Row(*row) for row in rows.values_list("pk", "kind", "received_at")]


def _read(transcript: Producer, rows: Sequence[_Row], owned: Owned) -> _Reading:
    """Translate a transcript from its first line, with these lines recorded in these sessions."""
    found = _Reading(cast("SharingReader", READERS[transcript.format](None, str(transcript.pk), lambda _: 0)))
    for row, raw in _content(rows):
        if row.kind == "flush":
            found.events += _end(found.reader, row.at)
            continue
        try:
            _translate(found, transcript.pk, parse(raw, limits=NO_LIMITS).fields or {}, owned, row.at)
        except InvalidLineError:
            continue
        except Exception as error:  # noqa: BLE001  as when the journal is replayed
            log.error("line %d of the journal breaks its reader: %s", row.line, one_line(error))  # noqa: TRY400
    if transcript.machine:
        name_machine(found.events, transcript.machine)
    return found


def _content(rows: Sequence[_Row]) -> Iterator[tuple[_Row, bytes]]:
    for at in range(0, len(rows), LINES):
        part = rows[at : at + LINES]
        raws = texts([row.line for row in part])
        yield from ((row, raws.get(row.line, b"")) for row in part)


def _translate(found: _Reading, producer: int, line: Fields, owned: Owned, at: datetime) -> None:
    """Translate one line as `SharedLines` does, but by the owners that are given."""
    reader, key = found.reader, found.reader.key_of(line)
    if key is None:
        found.events += reader.read(line, at).events
        return
    member = member_of(key, reader.session_of(line), line, producer, at, "")
    name = member.name
    is_first = name not in found.loops
    if name in owned and (is_first or reader.continues(line)):
        translation = reader.read(line, at)
        found.events += translation.events
        if is_first:
            found.loops[name] = translation.loop_id or ""
    else:
        found.events += reader.repeat(line, at).events
    found.names.add(name)


def _end(reader: SharingReader, at: datetime) -> list[Fields]:
    """End a stream; loops that are left open are aborted here, as the recorder does when it ends at first."""
    open_loops = reader.open_loops
    events = reader.end_of_stream(at)
    ended = {_loop_of(event) for event in events if event["type"] == "AgentEnd"}
    for loop in open_loops:
        if loop.loop_id not in ended:
            events.append(loop.end_event(loop.at or format_time(at), "aborted"))
    return events


def _corrections(transcript: Producer, old: _Reading, new: _Reading, moves: Mapping[str, str]) -> Settled:
    """Return the events that record the sessions of a transcript anew, if one of their loops differs."""
    before, now = old.by_loop(), new.by_loop()
    found = Settled(transcript, new.reader)
    session_of = _sessions(old) | _sessions(new)
    anew = {session_of[loop] for loop in session_of if before.get(loop) != now.get(loop)}
    remaining = {session_of[loop] for loop in now}
    for loop in (each for each in before if session_of[each] in anew):
        session = session_of[loop]
        is_left = session not in remaining
        withdrawn: Fields = {
            "type": "LoopWithdrawn",
            "loop_id": loop,
            "session_id": session,
            "is_gone": loop not in now,
            "moved_to": moves.get(session) if is_left else None,
            "sub_agents": sum(each["type"] == "SubAgentLinked" for each in before[loop]),
        }
        (found.gone if is_left else found.events).append(withdrawn)
    found.events += [
        event for event in new.events if session_of.get(_loop_of(event), str(event.get("session_id"))) in anew
    ]
    return found


def _sessions(reading: _Reading) -> dict[str, str]:
    """Return the session of each loop that a reading started."""
    starts = (event for event in reading.events if event["type"] == "AgentStart")
    return {str(event["loop_id"]): str(event["session_id"]) for event in starts}


def _moves(members: Sequence[Member], wanted: Owned) -> dict[str, str]:
    """Return where the lines of each session go, should no loop of it be left."""
    of_key = {(key, request): session for key, request, session in wanted}
    found: dict[str, str] = {}
    for each in members:
        session = of_key.get((each.key, each.request), each.session)
        if session != each.session:
            found.setdefault(each.session, session)
    return found


def _loop_of(event: Fields) -> str:
    return str(event.get("loop_id") or event.get("parent_loop_id") or "")
