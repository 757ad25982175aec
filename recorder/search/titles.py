"""The title document of each session: its title, agent and id, replaced when they change.

Its row also keeps the digests of the system prompts of the session that are in the index: the wire repeats a
prompt with every request, and it is indexed once.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from recorder.database import sql
from recorder.models import SearchDocument
from recorder.search import documents

_DIGEST = 16  # characters of a digest
_PROMPTS = 32  # digests kept a session

_SESSIONS = f"""SELECT s.id, s.title, s.agent_id, s.session_id, s.created_at, d.id, d.text, d.key
FROM recorder_session s
LEFT JOIN {documents.DOCUMENTS} d ON d.session = s.id AND d.kind = {SearchDocument.TITLE} AND NOT d.is_gone
WHERE s.project_id = %s AND """


class _Session(NamedTuple):
    pk: int
    title: str
    agent: str
    session_id: str
    created_at: datetime | str
    document: int | None
    text: str | None
    key: str | None

    @property
    def words(self) -> str:
        return words(self.title, self.agent, self.session_id)


@dataclass(slots=True)
class Prompts:
    """The system prompts of some sessions that are in the index."""

    digests: dict[int, str]  # joined, by session
    _events: dict[tuple[int, str], int | None] = field(default_factory=dict)
    _changed: set[int] = field(default_factory=set)

    def is_new(self, session: int, digest: str, event: int | None) -> bool:
        """Return whether a prompt is not in the index; it counts as indexed by `event` from then on."""
        if (session, digest) in self._events:
            return self._events[session, digest] == event  # another part of the same text
        known = self.digests.get(session, "")
        if digest in (known[at : at + _DIGEST] for at in range(0, len(known), _DIGEST)):
            return False
        self._events[session, digest] = event
        self.digests[session] = (known + digest)[-_DIGEST * _PROMPTS :]
        self._changed.add(session)
        return True

    def save(self) -> None:
        """Write the digests that were added."""
        sql.write(
            f"UPDATE {documents.DOCUMENTS} SET key = %s WHERE session = %s AND kind = %s",
            [(self.digests[pk], pk, SearchDocument.TITLE) for pk in sorted(self._changed)],
        )


def words(title: str, agent: str, session_id: str) -> str:
    """Return the text of a session's title document."""
    return "\n".join(filter(None, (title, agent, session_id)))


def put(project: int, sessions: Collection[int]) -> Prompts:
    """Index the titles of sessions where they changed; return the system prompts that are in the index."""
    rows = sql.read(_SESSIONS + sql.in_list("s.id"), project, sql.list_param(sessions)) if sessions else []
    found = {row[0]: _Session(*row) for row in rows}
    changed = [session for session in found.values() if session.text != session.words]
    for session in changed:
        if session.document is not None:
            documents.remove_where(project, "title", [session.key or ""], [session.pk])
        at = session.created_at
        documents.add_text(
            project,
            documents.Place(session.pk),
            "title",
            session.words,
            sql.aware(at),
            session.key or "",
        )
    return Prompts({session.pk: session.key or "" for session in found.values()})
