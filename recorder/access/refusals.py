"""Requests of senders that were refused, so that people learn why nothing arrives.

Of each project, token and error code the newest is kept. A request without a known token belongs to no
project; it is kept only if the server has just one. A process writes at most once each `EVERY_S` seconds and
holds at most `HELD` refusals in between; the others are forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from threading import Lock
from time import monotonic

from recorder.access import tokens
from recorder.core.events.fields import visible
from recorder.models import AccessToken, Project, Refusal
from recorder.pubsub import invalidation

EVERY_S = 0.25
HELD = 100
PATH_CHARS, MESSAGE_CHARS = 200, 300


@dataclass(frozen=True, slots=True)
class RefusedRequest:
    """A refused request: what it sent as its token, its path, and the answer."""

    bearer: str
    path: str
    status: int  # of HTTP, or the close code of a socket
    code: str
    message: str


class Refusals:
    """Writes refused requests to the database. May be used from several threads."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], tuple[RefusedRequest, datetime]] = {}
        self._written_at = 0.0
        self._lock = Lock()

    def add(self, refused: RefusedRequest) -> None:
        """Write a refused request, with those held back before; hold it back if one was just written."""
        with self._lock:
            about = tokens.key_of(refused.bearer), refused.code
            if about in self._held or len(self._held) < HELD:
                shown = _visible(refused.path, PATH_CHARS), _visible(refused.message, MESSAGE_CHARS)
                self._held[about] = replace(refused, path=shown[0], message=shown[1]), datetime.now(UTC)
            if monotonic() - self._written_at < EVERY_S:
                return
            self._written_at = monotonic()
            held, self._held = self._held, {}
        _write(held)


def _write(held: dict[tuple[str, str], tuple[RefusedRequest, datetime]]) -> None:
    projects = _projects({key for key, _ in held})
    rows = []
    for (key, code), (refused, at) in held.items():
        project, known = projects.get(key, (None, ""))
        if project is not None:
            row = {"status": refused.status, "path": refused.path, "message": refused.message, "at": at}
            rows.append(Refusal(project_id=project, key=known, code=code, **row))
    distinct = {(row.project_id, row.key, row.code): row for row in sorted(rows, key=lambda row: row.at)}
    Refusal.objects.bulk_create(
        distinct.values(),
        update_conflicts=True,
        unique_fields=("project", "key", "code"),
        update_fields=("status", "path", "message", "at"),
    )
    for project in {row.project_id for row in rows}:
        invalidation.publish(invalidation.Invalidation(project, refused=True))


def _projects(keys: Iterable[str]) -> dict[str, tuple[int, str]]:
    """Return project and key of each token; an unknown one is "" of the only project, if there is one."""
    known = AccessToken.objects.filter(key__in=keys).values_list("key", "project")
    found = {key: (project, key) for key, project in known}
    only = list(Project.objects.values_list("pk", flat=True)[:2])
    return {key: (only[0], "") for key in keys if len(only) == 1} | found


def _visible(text: str, most: int) -> str:
    """Return the start of a text of the sender, without what no database or page can show."""
    return visible(text[:most])


refusals = Refusals()
