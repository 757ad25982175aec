"""The documents of the index: rows that say what was recorded where, and their words in the index tables.

The only module that writes both. Invariant: the words of a row follow from its journal line, or from its own
text, by the tokeniser alone; so they can be made again to delete them. Every change here belongs to the
transaction that changes what the documents are made from, and holds the lock (`lock`).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from recorder.core.records import ORIGIN_DERIVED, Json
from recorder.core.search.chunks import chunks
from recorder.core.search.event_texts import ONCE, Text, digest, texts_of
from recorder.core.search.tokens import index_tokens
from recorder.database import sql
from recorder.journal.read import texts
from recorder.models import SearchDocument, SearchState
from recorder.search import deleted_words, tables
from recorder.search.match import head
from recorder.search.state import NOTES_FIRST, VERSION

LOCK = 7_204  # key of our PostgreSQL advisory lock on the index
NUMBERS = {name: number for number, name in SearchDocument.KINDS}
NAMES = dict(SearchDocument.KINDS)
DOCUMENTS = "recorder_searchdocument"
STARTED, REPEATED = "s", "r"  # marks of a prompt's key: of AgentStart; of requests and AgentEnd
MARKS = {"AgentStart": STARTED, "AgentEnd": REPEATED, "TurnRequest": REPEATED}
_COLUMNS = ("id", "session", "loop", "turn", "event", "kind", "part", "is_gone", "key", "text", "at")
_AT_ONCE = 500  # documents whose words are deleted together


@dataclass(frozen=True, slots=True)
class Part:
    """A document to be: one text of an event, or a part of a long one."""

    kind: int
    part: int
    words: Sequence[str]
    key: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a document: primary keys, and the journal id of its event or of a note's anchor."""

    session: int
    loop: int | None = None
    turn: int | None = None
    event: int | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A part and where it was recorded."""

    place: Place
    part: Part
    text: str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class _Row:
    pk: int
    session: int
    event: int | None
    kind: int
    part: int
    text: str


def lock() -> None:
    """Serialize the writers of the index until the transaction ends; SQLite has one writer anyway."""
    if connection.vendor == "postgresql":
        sql.read("SELECT 1 FROM pg_advisory_xact_lock(%s)", LOCK)


def decode(raw: bytes) -> Mapping[str, Json]:
    """Return the event of a native line, empty if it is no JSON object."""
    try:
        event = json.loads(raw.decode(errors="replace"))
    except (ValueError, RecursionError):
        return {}
    return event if isinstance(event, dict) else {}


def parts_of(event: Mapping[str, Json]) -> list[Part]:
    """Return the documents of an event, in order."""
    kind = event.get("type")
    found: list[Part] = []
    numbers: dict[str, int] = defaultdict(int)
    for text in texts_of(kind, event) if isinstance(kind, str) else ():
        key = _key(kind, text) if isinstance(kind, str) else ""
        for words in chunks(list(index_tokens(text.text))):
            found.append(Part(NUMBERS[text.kind], numbers[text.kind], words, key))
            numbers[text.kind] += 1
    return found


def _key(event_type: str, text: Text) -> str:
    if text.kind == "prompt":
        return digest(text.text) + MARKS.get(event_type, "")
    return digest(text.text) if event_type in ONCE else ""


def add(project: int, documents: Sequence[Document]) -> None:
    """Insert documents, in their order."""
    if not documents:
        return
    keys = sql.next_ids({DOCUMENTS: len(documents)})[DOCUMENTS]
    adapt = sql.timestamp_encoder()
    values: sql.Values = []
    words: list[tables.Row] = []
    for document, pk in zip(documents, keys, strict=False):
        place, part, at = document.place, document.part, document.at and adapt(document.at)
        values += (pk, place.session, place.loop, place.turn, place.event)
        values += (part.kind, part.part, False, part.key, document.text, at)
        words.append((pk, [*head(part.kind, place.session), *part.words]))
    sql.insert_all(DOCUMENTS, {"project_id": project}, _COLUMNS, values)
    tables.add(project, words)


def documents_of(place: Place, kind: str, text: str, at: datetime | None, key: str) -> list[Document]:
    """Return the documents of a text that no journal line holds: a title, or a note with its id as `key`."""
    cut = chunks(list(index_tokens(text)))
    parts = [Part(NUMBERS[kind], number, words, key) for number, words in enumerate(cut)]
    return [Document(place, part, text, at) for part in parts]


def add_text(project: int, place: Place, kind: str, text: str, at: datetime | None, key: str) -> None:
    """Insert the documents of `documents_of`."""
    add(project, documents_of(place, kind, text, at, key))


def remove(project: int, session_pks: Collection[int]) -> None:
    """Delete all documents of sessions, with their words. Call it before their lines are deleted."""
    lock()
    _delete(project, _rows(sql.in_list("session"), sql.list_param(session_pks)))
    deleted_words.note(project)


def remove_events(project: int, session_pks: Collection[int], events: Collection[int]) -> None:
    """Delete the documents of events of some sessions for good. Call it before their bodies are deleted."""
    lock()
    deleted_words.note(project)
    where = f"{sql.in_list('session')} AND {sql.in_list('event')} AND kind <> %s"
    chosen = sql.list_param(session_pks), sql.list_param(events)
    rows = list(_rows(where, *chosen, SearchDocument.NOTE))
    _forget_prompts(where, *chosen, SearchDocument.NOTE)
    _delete(project, rows)


def remove_where(project: int, kind: str, keys: Collection[str], sessions: Collection[int]) -> None:
    """Delete the documents of one kind and some keys of sessions, all of whose documents are read."""
    where = f"{sql.in_list('session')} AND kind = %s AND {sql.in_list('key')}"
    _delete(project, _rows(where, sql.list_param(sessions), NUMBERS[kind], sql.list_param(keys)))


def hide_loops(loops: Mapping[int, int]) -> None:
    """Take the documents of withdrawn events out of all results; `loops` maps a loop to its session.

    Call it while the records of the events still name the loop. Their words are deleted later (`purge`): a
    loop is withdrawn while its lines are recorded, and that should not wait.
    """
    if not loops:
        return
    lock()
    derived = f"SELECT id FROM recorder_eventrecord WHERE {sql.in_list('loop_id')} AND origin = %s"
    where = f"{sql.in_list('session')} AND event IN ({derived}) AND kind <> %s"
    sessions, pks = sql.list_param(set(loops.values())), sql.list_param(loops)
    chosen = sessions, pks, ORIGIN_DERIVED, SearchDocument.NOTE
    _forget_prompts(where, *chosen)
    sql.write(f"UPDATE {DOCUMENTS} SET is_gone = TRUE WHERE {where}", [chosen])


def hide_sessions(sessions: Collection[int]) -> None:
    """Take the documents of sessions that no longer exist out of all results."""
    if sessions:
        lock()
        where = sql.in_list("session")
        sql.write(f"UPDATE {DOCUMENTS} SET is_gone = TRUE WHERE {where}", [[sql.list_param(sessions)]])


def purge(project: int) -> bool:
    """Delete the words of some documents that are gone; return whether there were any."""
    rows = list(_rows("project_id = %s AND is_gone LIMIT %s", project, _AT_ONCE))
    _delete(project, rows)
    return bool(rows)


def forget(project: int) -> None:
    """Delete all documents of a project but its notes, and begin its index anew with these.

    When all lines are indexed again the notes get new keys (`renew_notes`).
    """
    lock()
    SearchDocument.objects.filter(project=project).exclude(kind=SearchDocument.NOTE).delete()
    SearchDocument.objects.filter(project=project, is_gone=True).delete()
    tables.create(project)
    for rows in _batches(_rows("project_id = %s AND kind = %s", project, SearchDocument.NOTE)):
        tables.add(project, list(_words(rows)))
    SearchState.objects.filter(project=project).update(cursor=0, version=NOTES_FIRST)


def renew_notes(project: int) -> None:
    """Give the notes of an index that was made anew new keys, above those of the events made before."""
    columns = ", ".join(_COLUMNS[1:])
    copied = f"INSERT INTO {DOCUMENTS} (id, project_id, {columns}) SELECT %s, project_id, {columns}"
    rows = list(_rows("project_id = %s AND kind = %s ORDER BY id", project, SearchDocument.NOTE))
    for batch in _batches(rows):
        keys = list(zip(sql.next_ids({DOCUMENTS: len(batch)})[DOCUMENTS], batch, strict=False))
        new = {row.pk: key for key, row in keys}
        words = list(_words(batch))
        sql.write(f"{copied} FROM {DOCUMENTS} WHERE id = %s", [(key, row.pk) for key, row in keys])
        tables.add(project, [(new[pk], tokens) for pk, tokens in words])
        _delete(project, batch)
    SearchState.objects.filter(project=project).update(version=VERSION)


def _rows(where: str, *values: sql.Value) -> Iterator[_Row]:
    statement = f"SELECT id, session, event, kind, part, text FROM {DOCUMENTS} WHERE {where}"
    return (_Row(*row) for row in sql.read(statement, *values))


def _batches(rows: Iterable[_Row]) -> Iterator[list[_Row]]:
    batch: list[_Row] = []
    for row in rows:
        batch.append(row)
        if len(batch) == _AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


def _delete(project: int, rows: Iterable[_Row]) -> None:
    for batch in _batches(rows):
        tables.remove(project, list(_words(batch)))
        sql.write(f"DELETE FROM {DOCUMENTS} WHERE id = %s", [(row.pk,) for row in batch])


def _words(rows: Sequence[_Row]) -> Iterator[tables.Row]:
    """Yield the words that rows were inserted with."""
    raws = texts({row.event for row in rows if row.event is not None and not row.text})
    made: dict[int, dict[tuple[int, int], Sequence[str]]] = {}
    for row in rows:
        if row.text:
            cut = chunks(list(index_tokens(row.text)))
            words: Sequence[str] | None = cut[row.part] if row.part < len(cut) else None
        else:
            event = row.event or 0
            if event not in made:
                made[event] = {(p.kind, p.part): p.words for p in parts_of(decode(raws.get(event, b"")))}
            words = made[event].get((row.kind, row.part))
        if words is not None:
            yield row.pk, [*head(row.kind, row.session), *words]


def _forget_prompts(where: str, *values: sql.Value) -> None:
    """Let system prompts whose document goes be indexed again with the next request that has them."""
    statement = f"SELECT DISTINCT session, key FROM {DOCUMENTS} WHERE {where} AND kind = %s"
    gone = sql.read(statement, *values, SearchDocument.SYSTEM)
    sql.write(
        f"UPDATE {DOCUMENTS} SET key = REPLACE(key, %s, '') WHERE session = %s AND kind = %s",
        [(key, session, SearchDocument.TITLE) for session, key in gone if key],
    )
