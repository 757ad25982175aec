"""The sessions of OpenCode's store as lines that only grow, read from a copy of the store.

The first line is the session, each further one a finished message with its parts, in order of time. An answer
that was not finished is left out until a later message shows that it never will be. So lines never change.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

AGENT = "opencode"
HEAD = "opencode.session"  # type of a session's first line
Fields = dict[str, Any]


def sessions(store: sqlite3.Connection) -> Iterator[tuple[str, list[bytes]]]:
    """Yield the id and the lines of each session, in order of creation, as the store is at one moment."""
    store.row_factory = sqlite3.Row
    store.text_factory = _text
    store.execute("BEGIN")  # one state of the store for all queries
    try:
        rows = [dict(row) for row in store.execute("SELECT * FROM session ORDER BY time_created, id")]
        parents = {row["id"]: row.get("parent_id") for row in rows}
        for row in rows:
            head = _head(row, _root(row["id"], parents))
            yield row["id"], [_line(head), *map(_line, _messages(store, row["id"]))]
    finally:
        with suppress(sqlite3.ProgrammingError):  # the store is closed
            store.rollback()


def opened(path: Path) -> sqlite3.Connection:
    """Open a store for reading, with its write-ahead log."""
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)


def session_producer(session: str) -> str:
    """Return the name of the producer of a session's lines."""
    return f"{AGENT}:{session}"[:200]


def _head(row: Fields, root: str) -> Fields:
    parent = row.get("parent_id")
    return {
        "type": HEAD,
        "id": row["id"],
        "root_id": root,
        "parent_id": parent,
        "agent": row.get("agent") if parent else None,  # that of a main session changes
        "directory": row.get("directory"),
        "version": row.get("version"),
        "time_created": row.get("time_created"),
    }


def _messages(store: sqlite3.Connection, session: str) -> Iterator[Fields]:
    rows = store.execute(
        "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", (session,)
    ).fetchall()
    messages = [(row["id"], _object(row["data"])) for row in rows]
    answers = [place for place, (_, message) in enumerate(messages) if message.get("role") == "assistant"]
    last_answer = answers[-1] if answers else -1
    for place, (identity, message) in enumerate(messages):
        if not _is_finished(message, is_followed=place < last_answer):
            return
        if message.get("role") == "user":
            message.pop("summary", None)
        parts = store.execute(
            "SELECT data FROM part WHERE message_id = ? ORDER BY time_created, id", (identity,)
        )
        yield {
            "type": "opencode.message",
            "id": identity,
            "session_id": session,
            "message": message,
            "parts": [_lasting(_object(part["data"])) for part in parts],
        }


def _is_finished(message: Fields, *, is_followed: bool) -> bool:
    times = message.get("time")
    has_end = message.get("role") == "assistant" and isinstance(times, dict) and "completed" in times
    return is_followed or has_end or bool(message.get("error"))


def _lasting(part: Fields) -> Fields:
    """Return a part without the time at which its result was cut off."""
    state = part.get("state")
    times = state.get("time") if isinstance(state, dict) else None
    if isinstance(times, dict):
        times.pop("compacted", None)
    return part


def _root(session: str, parents: dict[str, str | None]) -> str:
    seen = {session}
    while (above := parents.get(session)) is not None and above not in seen:
        seen.add(above)
        session = above
    return session


def _object(text: Any) -> Fields:
    try:
        found = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _line(fields: Fields) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")
