"""Recognises the lines of deleted sessions among those that arrive, within one transaction.

A line is dropped if it names a deleted session; if it names none, but a loop that its producer began in one;
or if its loop is known from a deleted session and from no other. What a dropped line starts is noted, so
that the lines after it are dropped too.

Cost: one query a transaction while a project has no deleted session; else one a batch, and one for loops of
which both kinds are known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from recorder.core.formats.base import Translation
from recorder.core.handlers.lineage import session_id_of
from recorder.database import sql
from recorder.journal.batch import Dropped
from recorder.journal.identity import hashed
from recorder.models import Project

TABLE = "recorder_tombstone"
SESSION, LOOP, ANY, PRODUCER, TRACE, KEY = "session", "loop", "any", "producer", "trace", "key"
Name = tuple[str, str]  # kind and key


def of_session(session_id: str) -> Name:
    return SESSION, hashed(session_id)


def of_loop(producer: int, loop_id: str) -> Name:
    return LOOP, hashed(f"{producer} {loop_id}")


def of_any(loop_id: str) -> Name:
    return ANY, hashed(loop_id)


def of_producer(producer: int) -> Name:
    return PRODUCER, hashed(str(producer))


def of_trace(trace: str) -> Name:
    return TRACE, hashed(trace)


def of_key(key: str) -> Name:
    return KEY, hashed(key)


def write(project: int, deletion: int, names: Iterable[Name]) -> None:
    """Note what belongs to a deleted session."""
    values: sql.Values = []
    for kind, key in sorted(set(names)):
        values += (kind, key)
    same = {"project_id": project, "deletion_id": deletion}
    sql.insert_all(TABLE, same, ("kind", "key"), values, " ON CONFLICT DO NOTHING")


class Tombstones:
    """The deleted sessions of one project, as far as the lines of a transaction touch them."""

    def __init__(self, project: int) -> None:
        self._project = project
        self.any, self.is_archived, self.is_gone = _states(project)
        self._known: dict[Name, int] = {}  # the deletion of each, 0 if there is none
        self._new: dict[int, set[Name]] = {}
        self._ended: set[Name] = set()
        self._dropped: Counter[int] = Counter()  # lines by deletion
        self._numbers: Counter[int] = Counter()  # by producer: dropped lines that used up a number
        self._live: dict[str, bool] = {}  # by loop id: whether another session has it

    def load(self, names: Iterable[Name]) -> None:
        """Read at once what is known of some names."""
        missing = sorted({*names} - self._known.keys())
        if not missing or not self.any:
            return
        self._known |= dict.fromkeys(missing, 0)
        for kind, key, deletion in sql.read(
            f"SELECT kind, key, deletion_id FROM {TABLE} "  # noqa: S608  names
            f"WHERE project_id = %s AND {sql.in_list('key')}",
            *(self._project, sql.list_param({key for _, key in missing})),
        ):
            self._known[kind, key] = deletion

    def load_events(self, producer: int, lines: Iterable[object]) -> None:
        """Read at once what is known of the sessions and loops of native events."""
        if not self.any:
            return
        names: set[Name] = {of_producer(producer)}
        for line in lines:
            event = _fields(line)
            loop_id, session_id = event.get("loop_id"), event.get("session_id")
            if isinstance(session_id, str):
                names.add(of_session(session_id))
            if isinstance(loop_id, str) and loop_id:
                names |= {of_loop(producer, loop_id), of_any(loop_id), of_session(session_id_of(loop_id))}
        self.load(names)

    def deletion(self, name: Name) -> int:
        """Return the deletion of something, 0 if it is not deleted."""
        if not self.any:
            return 0
        if name not in self._known:
            self.load([name])
        return self._known[name]

    def drops(self, producer: int, event: Mapping[str, object]) -> int:
        """Return the deletion by which a native event is dropped, 0 if it is recorded."""
        if not self.any:
            return 0
        kind = event.get("type")
        session_id, loop_id = event.get("session_id"), event.get("loop_id")
        if kind == "SubAgentLinked":
            session_id, loop_id = event.get("parent_session_id"), event.get("parent_loop_id")
        loop_id = loop_id if isinstance(loop_id, str) else ""
        if isinstance(session_id, str) and session_id:
            found = self.deletion(of_session(session_id))
            if kind == "AgentStart" and loop_id:
                self._note_start(producer, loop_id, found)
            return found
        return self._drops_loop(producer, loop_id) if loop_id else 0

    def dropped(self, producer: int, content: object) -> int:
        """Return the deletion by which a line is dropped, 0 if it is recorded."""
        if isinstance(content, Dropped):
            return content.deletion
        return 0 if isinstance(content, Translation) else self.drops(producer, _fields(content))

    def drops_translation(self, producer: int, translation: Translation) -> int:
        """Return the deletion by which a foreign line is dropped, 0 if it is recorded."""
        if not self.any:
            return 0
        starts = [each for each in translation.events if each["type"] == "AgentStart"]
        found = [self.drops(producer, each) for each in starts or translation.events]
        if found:
            return found[0] if all(found) else 0
        return self.drops(producer, {"session_id": translation.session_id, "loop_id": translation.loop_id})

    def note(self, deletion: int, name: Name) -> None:
        """Note that something new is of a deleted session."""
        if self.deletion(name) != deletion:
            self._known[name] = deletion
            self._new.setdefault(deletion, set()).add(name)
            self._ended.discard(name)

    def count(self, deletion: int, producer: int = 0) -> None:
        """Count a dropped line; one of a `producer` has used up a number."""
        self._dropped[deletion] += 1
        if producer:
            self._numbers[producer] += 1

    def write(self) -> None:
        """Save what is new, and the counts of dropped lines."""
        sql.write(
            f"DELETE FROM {TABLE} WHERE project_id = %s AND kind = %s AND key = %s",  # noqa: S608  name
            [(self._project, *name) for name in sorted(self._ended)],
        )
        for deletion, names in self._new.items():
            write(self._project, deletion, names)
        sql.write(
            "UPDATE recorder_deletion SET dropped = dropped + %s WHERE id = %s",
            [(count, deletion) for deletion, count in self._dropped.items()],
        )
        sql.write(
            "UPDATE recorder_producer SET dropped = dropped + %s WHERE id = %s",
            [(count, producer) for producer, count in self._numbers.items()],
        )
        self._new, self._ended, self._dropped, self._numbers = {}, set(), Counter(), Counter()

    def _note_start(self, producer: int, loop_id: str, deletion: int) -> None:
        """A loop starts: it belongs to a deleted session from now on, or no longer."""
        if deletion:
            self.note(deletion, of_loop(producer, loop_id))
            self.note(deletion, of_any(loop_id))
            return
        self._live[loop_id] = True
        name = of_loop(producer, loop_id)
        if self.deletion(name):
            self._known[name] = 0
            self._ended.add(name)

    def _drops_loop(self, producer: int, loop_id: str) -> int:
        if found := self.deletion(of_loop(producer, loop_id)):
            return found
        found = self.deletion(of_any(loop_id)) or self.deletion(of_session(session_id_of(loop_id)))
        return found if found and not self._is_live(loop_id) else 0

    def _is_live(self, loop_id: str) -> bool:
        if loop_id not in self._live:
            rows = sql.read(
                "SELECT 1 FROM recorder_looprecord l JOIN recorder_session s ON s.id = l.session_id "
                "WHERE l.loop_id = %s AND s.project_id = %s LIMIT 1",
                *(loop_id, self._project),
            )
            self._live[loop_id] = bool(rows)
        return self._live[loop_id]


def _states(project: int) -> tuple[bool, bool, bool]:
    """Return whether a project has deleted sessions, is archived, and is deleted itself. One query."""
    found = sql.read(
        f"""SELECT EXISTS (SELECT 1 FROM {TABLE} WHERE project_id = %s), archived_at IS NOT NULL,
            SUBSTR(slug, 1, 1) = %s FROM recorder_project WHERE id = %s""",  # noqa: S608  name
        *(project, Project.GONE, project),
    )
    any_deleted, is_archived, is_gone = found[0] if found else (False, False, True)
    return bool(any_deleted), bool(is_archived), bool(is_gone)


def _fields(line: object) -> Mapping[str, object]:
    """Return the fields of a native event; none of a line that is foreign or malformed."""
    fields: Mapping[str, object] = getattr(line, "__dict__", {})
    return fields if "type" in fields else {}
