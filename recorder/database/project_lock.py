"""The lock that serializes the writers of a project until their transaction ends."""

from __future__ import annotations

from django.db import connection

from recorder.database import sql

LOCKS = 7_201  # first key of our PostgreSQL advisory locks; the second is the project


def lock(project: int) -> None:
    """Take the lock of a project; SQLite has one writer anyway.

    Raises LookupError if the project does not exist (SQLite only: PostgreSQL checks its foreign keys).
    """
    if connection.vendor == "postgresql":
        sql.read("SELECT 1 FROM pg_advisory_xact_lock(%s, %s)", LOCKS, project)
    elif not sql.read("SELECT 1 FROM recorder_project WHERE id = %s", project):
        raise LookupError(f"there is no project {project}")  # the connection that writes checks no keys
