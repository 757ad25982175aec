"""Indexes recorded lines behind the writer: in its idle time, in steps, in the order in which lines commit.

A step reads the lines after the cursor, makes their documents outside of a transaction, and writes documents
and cursor in one. Before writing it reads the records of the lines again: a line may have been pruned or its
loop withdrawn in between.

Invariant: every line up to the cursor is indexed as its records say, and no line up to it appears later: on
SQLite lines commit in the order of their ids, on PostgreSQL the cursor stops at the floor of
`recorder.journal.commit_order`. So the index follows from journal and records, whenever and wherever a step
ran; one node at a time runs it, by the lock of `documents`.

Cost: about ten queries a step, and the restoring and cutting of at most `STEP_BYTES` of lines.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from django.db import connection, transaction
from django.db.models import Min

from recorder.core.records import FOREIGN_ORIGINS, ORIGIN_DERIVED, Json
from recorder.core.search.event_texts import FOREIGN_TYPES, TYPES
from recorder.database import sql
from recorder.database.errors import STORE_ERRORS
from recorder.journal.commit_order import CommittedLines
from recorder.journal.read import texts
from recorder.models import JournalEvent, Project, SearchDocument, SearchState
from recorder.search import documents, prompts, state, titles
from recorder.search.documents import Document, Place, decode, parts_of

log = logging.getLogger(__name__)

WINDOW = 4_000  # lines looked at in a step; most are streamed deltas, which have no document
STEP_LINES = 400  # lines read in a step
STEP_BYTES = 2 * 1024 * 1024
POLL_S = 0.05
LEAST_LINES = 40  # read also when somebody waits: a commit costs as much

_RECORDS = f"""SELECT e.id, j.project_id, e.type, e.session_id, e.loop_id, e.turn_id,
j.size, j.pruned_on IS NOT NULL
FROM recorder_eventrecord e JOIN recorder_journalevent j ON j.id = e.id
WHERE e.session_id IS NOT NULL AND (e.origin NOT IN {FOREIGN_ORIGINS} OR e.type IN {FOREIGN_TYPES})
AND NOT (e.origin = '{ORIGIN_DERIVED}' AND e.loop_id IS NULL) AND """
_WINDOW = f"{_RECORDS} e.id > %s AND e.id <= %s ORDER BY e.id"
_SAME = f"{_RECORDS} {{}} ORDER BY e.id"


class Record(NamedTuple):
    """The record of a line that may have documents; not of a withdrawn loop."""

    id: int
    project: int
    type: str
    session: int
    loop: int | None
    turn: int | None
    size: int
    is_pruned: bool

    @property
    def may_be_read(self) -> bool:
        return self.type in TYPES and not self.is_pruned


@dataclass(slots=True)
class _Step:
    """The lines of one step: those after the cursors, up to `upto`."""

    upto: int
    records: list[Record] = field(default_factory=list)  # of lines to read
    touched: dict[int, int] = field(default_factory=dict)  # sessions of all lines, with their projects
    events: dict[int, Mapping[str, Json]] = field(default_factory=dict)


class Indexer:
    """Runs steps. One a process, in the writer thread or in a command."""

    def __init__(self) -> None:
        self._committed: CommittedLines | None = None
        self.is_behind = True  # as far as known: there is something to do
        self.indexed: set[int] = set()  # projects with documents of steps since it was emptied

    def run(self, is_interrupted: Callable[[], bool], seconds: float) -> None:
        """Work until nothing is left, somebody waits, or so many seconds have passed. Errors are logged."""
        until = time.monotonic() + seconds
        try:
            while self.step(is_interrupted) and not is_interrupted() and time.monotonic() < until:
                pass
        except STORE_ERRORS:
            self._committed = None
            connection.close()  # tried again on the next call
        except Exception:
            log.exception("indexing failed")

    def step(self, is_interrupted: Callable[[], bool] = lambda: False) -> bool:
        """Index the next lines; False when nothing is left."""
        cursors = _cursors()
        if cursors is None:
            _tidy()
            return True
        start, last = min(cursors.values(), default=0), self._last()
        self.is_behind = bool(cursors) and start < last
        if not self.is_behind:
            return _renew_notes()
        made = _next(cursors, start, last)
        _read(made, is_interrupted)
        with transaction.atomic():
            documents.lock()
            if _cursors() != cursors:  # another node or a rebuild was faster
                return True
            _write(made)
            _advance(made.upto)
        self.indexed.update(made.touched.values())
        return True

    def _last(self) -> int:
        """Return the last line below which none can appear any more."""
        if connection.vendor != "postgresql":
            return int(sql.read("SELECT COALESCE(MAX(id), 0) FROM recorder_journalevent")[0][0])
        if self._committed is None:
            self._committed = CommittedLines()
        self._committed.lines()
        return self._committed.floor if self._committed.is_settled else 0


def rebuild(project: int) -> None:
    """Delete the index of a project; the next steps make it again."""
    with transaction.atomic():
        documents.lock()
        state.ensure(project)
        documents.forget(project)


def waiting() -> int:
    """Return how many lines are not indexed."""
    cursor = SearchState.objects.aggregate(cursor=Min("cursor"))["cursor"] or 0
    return JournalEvent.objects.filter(pk__gt=cursor).count()


def run_all(on_progress: Callable[[int], None] = lambda _: None) -> None:
    """Index everything recorded up to now, as a command does; `on_progress` gets the lines of each step."""
    indexer = Indexer()
    last = int(sql.read("SELECT COALESCE(MAX(id), 0) FROM recorder_journalevent")[0][0])
    done = min((_cursors() or {}).values(), default=0)
    while (has_more := indexer.step()) or min((_cursors() or {}).values(), default=last) < last:
        now = min((_cursors() or {}).values(), default=last)
        on_progress(max(0, now - done))
        done = now
        if not has_more:
            time.sleep(POLL_S)  # another process is writing lines before `last`


def _cursors() -> dict[int, int] | None:
    """Return the cursor of each project, None if there is something to tidy up. Three queries."""
    states = {found.project_id: found for found in SearchState.objects.all()}
    if (
        states.keys() != set(Project.objects.values_list("pk", flat=True))
        or any(found.version not in (state.VERSION, state.NOTES_FIRST) for found in states.values())
        or SearchDocument.objects.filter(is_gone=True).exists()
    ):
        return None
    return {project: found.cursor for project, found in states.items()}


def _tidy() -> None:
    """Create missing indexes, begin those of another tokeniser anew, delete the words of gone documents."""
    with transaction.atomic():
        documents.lock()
        for project, found in state.ensure_all().items():
            if found.version not in (state.VERSION, state.NOTES_FIRST):
                documents.forget(project)
        gone = SearchDocument.objects.filter(is_gone=True).values_list("project_id", flat=True)
        for project in gone.distinct():
            documents.purge(project)


def _renew_notes() -> bool:
    """Let notes come after the events of indexes that were made anew; return whether there were any."""
    remade = SearchState.objects.filter(version=state.NOTES_FIRST).values_list("project_id", flat=True)
    if not remade:
        return False
    with transaction.atomic():
        documents.lock()
        for project in remade.all():
            documents.renew_notes(project)
    return True


def _advance(upto: int) -> None:
    SearchState.objects.filter(cursor__lt=upto).update(cursor=upto)


def _next(cursors: Mapping[int, int], start: int, last: int) -> _Step:
    """Return the lines of the next step, with the earlier lines of the loops that start in it.

    An earlier line of a loop waited for its start (an orphan), so it had no session when it was passed.
    """
    upto = min(start + WINDOW, last)
    found = [Record(*row) for row in sql.read(_WINDOW, start, upto)]
    step, size = _Step(upto), 0
    started: dict[int, int] = {}
    for record in found:
        if record.id <= cursors.get(record.project, record.id):  # no cursor: the project is being deleted
            continue
        if len(step.records) == STEP_LINES or size > STEP_BYTES:
            step.upto = record.id - 1
            break
        step.touched[record.session] = record.project
        if record.type == "AgentStart" and record.loop is not None:
            started[record.loop] = record.id
        if record.may_be_read:
            step.records.append(record)
            size += record.size
    if started:
        rows = sql.read(_SAME.format(sql.in_list("e.loop_id")), sql.list_param(started))
        adopted = [Record(*row) for row in rows]
        step.records[:0] = [r for r in adopted if r.may_be_read and r.id <= _last_before(r, cursors, started)]
    return step


def _last_before(record: Record, cursors: Mapping[int, int], started: Mapping[int, int]) -> int:
    """Return the last line that was passed before the loop of an earlier line started."""
    return min(cursors.get(record.project, 0), started[record.loop or 0])


def _read(step: _Step, is_interrupted: Callable[[], bool]) -> None:
    """Read the lines of a step; after `LEAST_LINES` the step ends where somebody waits."""
    for begin in range(0, len(step.records), LEAST_LINES):
        if begin and is_interrupted():
            step.upto = step.records[begin].id - 1
            del step.records[begin:]
            return
        wanted = [record.id for record in step.records[begin : begin + LEAST_LINES]]
        for line, raw in texts(wanted).items():
            step.events[line] = decode(raw)


def _write(step: _Step) -> None:
    """Insert the documents of the lines that are as they were when they were read."""
    chosen = sql.in_list("e.id")
    ids = sql.list_param([record.id for record in step.records])
    now = {row[0]: Record(*row) for row in sql.read(_SAME.format(chosen), ids)} if step.records else {}
    by_project: dict[int, list[Record]] = defaultdict(list)
    for record in step.records:
        if record.id in step.events and record.id in now and not now[record.id].is_pruned:
            by_project[record.project].append(now[record.id])
    for project in sorted({*by_project, *step.touched.values()}):
        sessions = [pk for pk, of in step.touched.items() if of == project]
        systems = titles.put(project, {*sessions, *(r.session for r in by_project[project])})
        made = _documents(by_project[project], step.events)
        documents.add(project, prompts.once(_once(made, systems)))
        systems.save()


def _documents(records: Sequence[Record], events: Mapping[int, Mapping[str, Json]]) -> list[Document]:
    """Return the documents of lines, without the text of an earlier line of the same turn or call."""
    answered = _answered(records)
    results = _with_results(records, events)
    found: list[Document] = []
    for record in sorted(records, key=lambda record: record.id):
        event = events[record.id]
        if (record.type == "TurnEnd" and record.turn in answered) or record.id in results:
            continue
        parts = parts_of(event)
        if record.turn is not None and record.type == "MessageEnd" and _is_answer(event):
            answered.add(record.turn)
        place = Place(record.session, record.loop, record.turn, record.id)
        found += [Document(place, part) for part in parts]
    return found


def _once(found: Sequence[Document], systems: titles.Prompts) -> list[Document]:
    """Leave out the system prompts of requests that their session has in the index."""
    return [
        document
        for document in found
        if document.part.kind != SearchDocument.SYSTEM
        or not document.part.key
        or systems.is_new(document.place.session, document.part.key, document.place.event)
    ]


def _is_answer(event: Mapping[str, Json]) -> bool:
    message = event.get("message")
    return isinstance(message, dict) and message.get("role") == "assistant"


def _answered(records: Sequence[Record]) -> set[int]:
    """Return the turns, of those that end here, whose answer was indexed by an earlier step."""
    ends = {record.turn: record.session for record in records if record.type == "TurnEnd" and record.turn}
    if not ends:
        return set()
    statement = f"""SELECT DISTINCT turn FROM {documents.DOCUMENTS} WHERE {sql.in_list("session")}
    AND {sql.in_list("turn")} AND kind IN ({SearchDocument.ANSWER}, {SearchDocument.THINKING})
    AND NOT is_gone"""
    chosen = sql.list_param(set(ends.values())), sql.list_param(pk for pk in ends if pk)
    return {turn for (turn,) in sql.read(statement, *chosen)}


def _with_results(records: Sequence[Record], events: Mapping[int, Mapping[str, Json]]) -> Collection[int]:
    """Return the lines that are a tool's result as a message, where the call's own end has it."""
    calls: dict[int, tuple[int, str]] = {}
    for record in records:
        message = events[record.id].get("message")
        if (
            record.type not in ("MessageEnd", "TurnEnd")
            or record.loop is None
            or not isinstance(message, dict)
        ):
            continue
        call = message.get("toolCallId")
        if message.get("role") == "toolResult" and isinstance(call, str):
            calls[record.id] = record.loop, call
    if not calls:
        return ()
    statement = f"""SELECT loop_id, tool_call_id, end_event FROM recorder_toolcall
    WHERE end_event IS NOT NULL AND {sql.in_list("loop_id")} AND {sql.in_list("tool_call_id")}"""
    loops, ids = {loop for loop, _ in calls.values()}, {call for _, call in calls.values()}
    ended = {
        (loop, call): end
        for loop, call, end in sql.read(statement, sql.list_param(loops), sql.list_param(ids))
    }
    return {line for line, call in calls.items() if ended.get(call, line) < line}
