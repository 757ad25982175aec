"""The sessions of OpenCode's store as lines that only grow, read from a copy of the store.

The first line is the session, the next one its title, once it has one (`opencode.title`). Each further one is
a finished message with its parts, in order of time. An answer that was not finished is left out until a later
message shows that it never will be. So lines never change, but for a title: who sends or imports the lines
sends another title after what was sent.

Of an answer that is not finished `with_running` gives the parts that are (`opencode.part`): a text that has
ended, a call when it runs and again when it has ended, a step with its usage. They are no longer among the
lines once the answer is finished, and who sends or imports them sends what is new after what was sent. The
store's journal of events (`event`) adds nothing to that: OpenCode writes a text there when it begins, empty,
and when it has ended, and the state of a call has the time and the arguments with which it began to run.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from loopscope_client.transcripts.open_file import NotReadable

AGENT = "opencode"
_TABLES = frozenset(("session", "message", "part"))
NEWER = frozenset(("session_v2", "session_message"))  # tables of OpenCode 2
_NEWER = "sessions of OpenCode 2 (table session_v2), which are not read"
_ABOUT = ("role", "parentID", "modelID", "providerID", "mode", "agent")  # of a message, which never change
_BEGUN = ("running", "completed", "error")  # statuses of a call that began to run
PART = "opencode.part"  # type of a part of an answer that is not finished
HEAD = "opencode.session"  # type of a session's first line
TITLE = "opencode.title"  # type of the line behind it
_UNTITLED = ("New session - ", "Child session - ")  # begin the titles that a session has at first
OPERATIONS, STEPS, BYTES_A_STEP = 10_000, 1_000, 1_000  # of SQLite; steps a byte are ten times what is needed
VALUE_MAX = 64 * 1024 * 1024  # bytes
Fields = dict[str, Any]


def sessions(store: sqlite3.Connection, *, with_running: bool = False) -> Iterator[tuple[str, list[bytes]]]:
    """Yield the id and the lines of each session, in order of creation, as the store is at one moment.

    Raises sqlite3.Error; NotReadable if there are others, behind those that are read.
    """
    store.row_factory = sqlite3.Row
    store.text_factory = _text
    has_newer = _check(store)
    store.execute("BEGIN")  # one state of the store for all queries
    try:
        rows = [dict(row) for row in store.execute("SELECT * FROM session ORDER BY time_created, id")]
        parents = {row["id"]: row.get("parent_id") for row in rows}
        for row in rows:
            head = _head(row, _root(row["id"], parents))
            messages = _messages(store, row["id"], with_running=with_running)
            yield row["id"], [_line(each) for each in (head, *_title(row), *messages)]
        if has_newer and store.execute("SELECT 1 FROM session_v2 LIMIT 1").fetchone():
            raise NotReadable(f"it has {_NEWER}; those of earlier releases are")
    finally:
        with suppress(sqlite3.ProgrammingError):  # the store is closed
            store.rollback()


def opened(path: Path) -> sqlite3.Connection:
    """Open a store for reading, with its write-ahead log. Raises sqlite3.Error or OSError."""
    size = path.stat().st_size
    store = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)
    bound(store, size)
    return store


def bound(store: sqlite3.Connection, size: int) -> None:
    """Have a store interrupt queries that do more work than its size explains, as a view may."""
    left = iter(range(STEPS + size // BYTES_A_STEP))
    store.set_progress_handler(lambda: next(left, None) is None, OPERATIONS)
    store.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, VALUE_MAX)
    store.execute("PRAGMA trusted_schema = OFF")


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether a program writes to a store at this moment; the next look may read it."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _check(store: sqlite3.Connection) -> bool:
    """Return whether a store has the tables of OpenCode 2, too.

    Raises sqlite3.DatabaseError if a table is none, but a view or a virtual one, or computes values, and
    NotReadable if only those of OpenCode 2 are there.
    """
    try:
        rows = store.execute("SELECT name, type, sql FROM sqlite_master").fetchall()
    except UnicodeDecodeError:  # SQLite's message has the damaged bytes
        raise sqlite3.DatabaseError("its list of tables is damaged") from None
    tables = {
        name
        for name, kind, sql in rows
        if kind == "table" and not str(sql).upper().lstrip().startswith("CREATE VIRTUAL")
    }
    computed = "SELECT 1 FROM pragma_table_xinfo(?) WHERE hidden > 1"
    tables -= {name for name in _TABLES | NEWER if store.execute(computed, (name,)).fetchone()}
    if tables >= NEWER and not _TABLES & tables:
        raise NotReadable(f"it has {_NEWER}")
    if missing := sorted(_TABLES - tables):
        raise sqlite3.DatabaseError(f"it has no table {', '.join(missing)}: it is no store of OpenCode")
    return tables >= NEWER


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


def _title(row: Fields) -> Iterator[Fields]:
    """Yield the title of a main session; that of a sub-agent is none of the session that it belongs to."""
    title = row.get("title")
    if isinstance(title, str) and title and not title.startswith(_UNTITLED) and not row.get("parent_id"):
        yield {"type": TITLE, "session_id": row["id"], "title": title}


def _messages(store: sqlite3.Connection, session: str, *, with_running: bool) -> Iterator[Fields]:
    rows = store.execute(
        "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", (session,)
    ).fetchall()
    messages = [(row["id"], _object(row["data"])) for row in rows]
    answers = [place for place, (_, message) in enumerate(messages) if message.get("role") == "assistant"]
    last_answer = answers[-1] if answers else -1
    for place, (identity, message) in enumerate(messages):
        if not _is_finished(message, is_followed=place < last_answer):
            if with_running:
                yield from _running(store, session, identity, message)
            return
        if message.get("role") == "user":
            message.pop("summary", None)
        parts = _parts(store, identity)
        yield {
            "type": "opencode.message",
            "id": identity,
            "session_id": session,
            "message": message,
            "parts": [_lasting(part) for _, part in parts],
        }


def _parts(store: sqlite3.Connection, message: str) -> list[tuple[str, Fields]]:
    rows = store.execute(
        "SELECT id, data FROM part WHERE message_id = ? ORDER BY time_created, id", (message,)
    )
    return [(row["id"], _object(row["data"])) for row in rows]


def _running(store: sqlite3.Connection, session: str, identity: str, message: Fields) -> Iterator[Fields]:
    """Yield the finished parts of an answer that is not finished, and the calls that run."""
    about = {name: message[name] for name in _ABOUT if name in message}
    times = message.get("time")
    about["time"] = {"created": times.get("created") if isinstance(times, dict) else None}
    for part_id, part in _parts(store, identity):
        for state in _states(part):
            yield {
                "type": PART,
                "id": part_id,
                "session_id": session,
                "message_id": identity,
                "message": about,
                "part": state,
            }


def _states(part: Fields) -> Iterator[Fields]:
    """Yield a part as it was in each of its states that lasts: the same again at each look."""
    kind, times, state = part.get("type"), part.get("time"), part.get("state")
    if kind in ("text", "reasoning"):
        if part.get("text") and (not isinstance(times, dict) or "end" in times):
            yield part
    elif kind == "step-finish":
        yield part
    elif kind == "tool" and isinstance(state, dict) and state.get("status") in _BEGUN:
        own = state.get("time")
        begun = {"start": own.get("start")} if isinstance(own, dict) else {}
        about = {"status": "running", "input": state.get("input"), "time": begun}
        yield {"type": kind, "callID": part.get("callID"), "tool": part.get("tool"), "state": about}
        if state["status"] != "running":
            yield _lasting(part)


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
