"""The sessions of OpenCode's store as lines that only grow, read from a copy of the store.

The first line is the session, each further one a finished message with its parts, in order of time. An answer
that was not finished is left out until a later message shows that it never will be. So lines never change.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Fields = dict[str, Any]


def sessions(store: sqlite3.Connection) -> Iterator[tuple[str, list[bytes]]]:
    """Yield the id and the lines of each session, in order of creation; parents first."""
    store.row_factory = sqlite3.Row
    rows = [dict(row) for row in store.execute("SELECT * FROM session ORDER BY time_created, id")]
    parents = {row["id"]: row.get("parent_id") for row in rows}
    for row in rows:
        head = {
            "type": "opencode.session",
            "id": row["id"],
            "root_id": _root(row["id"], parents),
            "parent_id": row.get("parent_id"),
            "agent": row.get("agent"),
            "directory": row.get("directory"),
            "version": row.get("version"),
        }
        yield row["id"], [_line(head), *map(_line, _messages(store, row["id"]))]


def opened(path: Path) -> sqlite3.Connection:
    """Open a store for reading, with its write-ahead log."""
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)


def _messages(store: sqlite3.Connection, session: str) -> Iterator[Fields]:
    rows = store.execute(
        "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", (session,)
    ).fetchall()
    messages = [(row["id"], _object(row["data"])) for row in rows]
    finished = [_is_finished(message) for _, message in messages]
    for place, (identity, message) in enumerate(messages):
        if not finished[place] and place == len(messages) - 1:
            return
        parts = store.execute(
            "SELECT data FROM part WHERE message_id = ? ORDER BY time_created, id", (identity,)
        )
        yield {
            "type": "opencode.message",
            "id": identity,
            "session_id": session,
            "message": message,
            "parts": [_object(part["data"]) for part in parts],
        }


def _is_finished(message: Fields) -> bool:
    times = message.get("time")
    is_answer = message.get("role") == "assistant"
    return not is_answer or (isinstance(times, dict) and "completed" in times) or bool(message.get("error"))


def _root(session: str, parents: dict[str, str | None]) -> str:
    seen = {session}
    while (above := parents.get(session)) is not None and above not in seen:
        seen.add(above)
        session = above
    return session


def _object(text: Any) -> Fields:
    try:
        found = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _line(fields: Fields) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()
