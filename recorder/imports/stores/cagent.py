"""Imports cagent's session store: each root session with its sub-sessions is one stream of rows.

All schema versions are read: from the 15th migration on a session's items are in a table, before that in one
JSON text. From a store that has grown since its import only the new items are sent.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from recorder.core.formats.base import Fields, encode_event
from recorder.core.formats.cagent.database_rows import ITEMS, SESSIONS
from recorder.core.records import Json
from recorder.imports.report import Report, UnusableError
from recorder.imports.sqlite_snapshot import columns, fields, names, opened
from recorder.imports.submit import Sender
from recorder.journal.identity import Marks, marks, unstored
from recorder.journal.producers import IMPORT_PREFIX
from recorder.masking.masker import Masker
from recorder.masking.project_rules import masker_of
from recorder.models import JournalEvent, LoopRecord, Project

FORMAT = "cagent-db"
BATCH = 200


def import_cagent(
    project: Project, path: Path, report: Report, on_progress: Callable[[int], None], *, flush: bool
) -> None:
    """Import a store."""
    try:
        with opened(path) as store:
            found = _Store(store, path, report)
            for root in found.roots():
                _Import(project, found, root, path, report).run(flush=flush)
    except UnusableError as error:
        report.problem(path, str(error))
    except sqlite3.DatabaseError as error:
        report.problem(path, f"the store cannot be read ({error}); what came before is imported")
    on_progress(path.stat().st_size)


class _Store:
    """The rows of a store."""

    def __init__(self, store: sqlite3.Connection, path: Path, report: Report) -> None:
        self._store, self._path, self._report = store, path, report
        found = columns(store, SESSIONS)
        if not {"id", "created_at"} <= found:
            raise UnusableError("its table sessions has no id and created_at: not a store that cagent writes")
        self._has_items = "session_items" in names(store)
        rows = store.execute("SELECT * FROM sessions ORDER BY created_at")
        self._sessions = {str(row["id"]): fields(row) for row in rows}

    def roots(self) -> list[str]:
        """Return the sessions that no other session started, oldest first."""
        return [key for key, row in self._sessions.items() if row.get("parent_id") not in self._sessions]

    def rows(self, session_id: str) -> Iterator[Fields]:
        """Return a session's rows in the order of their events; the session's own row is the last."""
        yield from self._of(self._sessions[session_id], set())

    def _of(self, session: Fields, above: set[str]) -> Iterator[Fields]:
        key = str(session["id"])
        items = list(self._items(key)) if self._has_items else []
        for item in items or _rows_of(
            session, self._json(session.get("messages"), f"session {key}, messages")
        ):
            yield {name: value for name, value in item.items() if name != "sub_session"}
            child = item.get("sub_session") or self._sessions.get(str(item.get("subsession_id")))
            if isinstance(child, dict) and str(child.get("id")) not in above | {key}:
                yield from self._of(child, above | {key})
        yield {"table": SESSIONS, **{name: value for name, value in session.items() if name != "messages"}}

    def _items(self, session_id: str) -> Iterator[Fields]:
        sql = "SELECT * FROM session_items WHERE session_id = ? ORDER BY position, id"
        for row in self._store.execute(sql, (session_id,)):
            item: Fields = {"table": ITEMS, **fields(row)}
            if raw := item.pop("message_json", None):
                place = f"session {session_id}, item {row['position']}"
                item["message"] = self._json(raw, place)
                if item["message"] is None:
                    item["message_json"] = raw
            yield item

    def _json(self, raw: Json, place: str) -> Json:
        if not raw:
            return None
        try:
            value: Json = json.loads(str(raw))
        except (ValueError, RecursionError) as error:
            why = f"{place}: not JSON ({error}); stored unchanged, the rest is imported"
            self._report.problem(self._path, why)
            return None
        return value


def _rows_of(session: Fields, messages: Json) -> Iterator[Fields]:
    """Return the items of a session that stores them as one text, as rows of the later table."""
    key = session["id"]
    for position, item in enumerate(messages if isinstance(messages, list) else []):
        row: Fields = {"table": ITEMS, "session_id": key, "position": position}
        given = item if isinstance(item, dict) else {}
        if isinstance(message := given.get("message"), dict):
            about: Fields = {
                "agent_name": message.get("agentName"),
                "implicit": message.get("implicit", False),
            }
            yield {**row, "item_type": "message", **about, "message": message.get("message")}
        elif isinstance(child := given.get("sub_session"), dict):
            inner = dict(child)
            inner["messages"] = json.dumps(inner.get("messages"))
            yield {**row, "item_type": "subsession", "subsession_id": child.get("id"), "sub_session": inner}
        elif "summary" in given:
            about = {"summary_text": given["summary"], "cost": given.get("cost")}
            yield {**row, "item_type": "summary", **about}
        else:
            yield {**row, "item_type": "other", "item": item}


class _Import:
    """One root session and what is recorded of it."""

    def __init__(self, project: Project, store: _Store, session_id: str, path: Path, report: Report) -> None:
        self.store, self.session_id, self.path, self.report = store, session_id, path, report
        self.name = _producer(session_id)
        self.project = project
        self.sender = Sender(project, self.name, report, form=FORMAT, goes_on=True)

    def run(self, *, flush: bool) -> None:
        """Send the new rows; a session that was recorded live is left out."""
        live = LoopRecord.objects.filter(
            session__project=self.project, session__session_id=self.session_id
        ).exclude(producer__name=self.name)
        if live.exists():
            self.report.live += live.count()
            return
        rows = [encode_event(row) for row in self.store.rows(self.session_id)]
        fresh = iter(_new(rows, self._stored(), masker_of(self.project.pk)))
        while batch := list(islice(fresh, BATCH)):
            first = self.sender.sent
            for rejected in self.sender.send(batch):
                row = batch[rejected.seq - first][:80].decode(errors="replace")
                place = f"session {self.session_id}, row {row}…"
                self.report.reject(self.path, place, rejected)
        if flush:
            self.sender.flush()
        self.sender.close()

    def _stored(self) -> list[Marks]:
        lines = JournalEvent.objects.filter(
            producer__project=self.project, producer__name=self.name, kind="line"
        )
        return list(marks(lines.values_list("pk", flat=True)).values())


def _new(rows: list[bytes], stored: list[Marks], masker: Masker) -> list[bytes]:
    """Return the rows that are not stored. The session's own row, the last, is sent again after new items."""
    fresh = unstored(rows[:-1], stored, masker)
    return [*fresh, rows[-1]] if fresh or unstored(rows[-1:], stored, masker) else []


def _producer(session_id: str) -> str:
    name = f"{IMPORT_PREFIX}cagent:{session_id}"
    digest = hashlib.sha256(session_id.encode()).hexdigest()
    return name if len(name) <= 200 else f"{IMPORT_PREFIX}cagent:{digest}"
