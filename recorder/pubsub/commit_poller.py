"""Polls the database for commits of other processes and publishes their invalidations in this process.

Nodes with Redis exchange invalidations through it; polling covers management commands and nodes without
Redis.

Invariant: each journal line that another process commits is published once, unless an invalidation named
it. After a failed poll the poller cannot tell which lines are new: it starts again at the end of the
journal and reports a gap, which redraws every open page. SQLite has one writer, so ids appear in order and
the last id is enough; on PostgreSQL they do not (`commit_order`).

Cost: two or three queries each `EVERY_S` without commits; a fixed number for each `AT_ONCE` new lines.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from threading import Lock

from django.conf import settings
from django.db import connection

from recorder.database import sql
from recorder.database.errors import STORE_ERRORS
from recorder.journal.commit_order import CommittedLines
from recorder.models import EventRecord, JournalEvent, LoopRecord, ModelConfig, TextBlock, ToolCall
from recorder.pubsub import invalidation

AT_ONCE = 2_000
EVERY_S = 0.25


class CommitPoller:
    """Publishes journal lines that no invalidation named. Runs in the writer thread, on its connection."""

    def __init__(self) -> None:
        self._is_blind = True
        self._polled_at = 0.0
        self._version = self._last_id = 0
        self._committed: CommittedLines | None = None
        self._named: set[int] = set()  # lines that invalidations named since the last poll
        self._unnamed: set[int] = (
            set()
        )  # found by the last poll; with Redis, their invalidation may still arrive
        self._configs: set[int] = set()  # already published
        self._lock = Lock()
        invalidation.subscribe(self._note)

    def poll_if_due(self) -> None:
        """Poll, at most once each `EVERY_S` seconds."""
        if time.monotonic() - self._polled_at >= EVERY_S:
            self._polled_at = time.monotonic()
            self.poll()

    def poll(self) -> None:
        """Publish what other processes have committed since the last poll. Store errors are handled here."""
        try:
            if self._is_blind:
                self._begin()
            else:
                self._publish_for(self._beyond(self._committed) if self._committed else self._after())
        except STORE_ERRORS:
            self._is_blind = True
            connection.close()

    def close(self) -> None:
        invalidation.unsubscribe(self._note)

    def _note(self, touched: invalidation.Invalidation) -> None:
        with self._lock:
            self._named.update(touched.events)
            self._configs.update(touched.configs)

    def _begin(self) -> None:
        configs = set(ModelConfig.objects.values_list("pk", flat=True))
        with self._lock:
            self._configs |= configs
        if connection.vendor == "postgresql":
            self._committed = CommittedLines()
            self._unnamed.clear()
        else:
            self._has_changed()
            self._last_id = self._last()
        self._is_blind = False
        invalidation.publish_gap()

    def _beyond(self, committed: CommittedLines) -> list[int]:
        """Return the lines to publish on PostgreSQL, where a lower id may be committed after a higher one."""
        floor, was_settled = committed.floor, committed.is_settled
        found = set(committed.lines())
        with self._lock:
            # Lines of the last poll may be below the floor by now: the next query does not return them.
            unnamed = (found | self._unnamed) - self._named
            due = unnamed & self._unnamed if settings.REDIS_URL else unnamed
            self._named = {line for line in self._named | due if line > floor}
        self._unnamed = unnamed - due
        if committed.is_settled and not was_settled:
            invalidation.publish_gap()
        return sorted(due)

    def _after(self) -> list[int]:
        """Return the lines to publish on SQLite, where ids are committed in order."""
        last = self._last()
        if has_changed := self._has_changed():
            last = self._last()  # data_version reports a commit once, so read the last id after it
        previous, self._last_id = self._last_id, last
        with self._lock:
            named, self._named = self._named, set()
        if not has_changed or previous >= last:
            return []
        lines = JournalEvent.objects.filter(id__gt=previous, id__lte=last).order_by("id")
        return [line for line in lines.values_list("id", flat=True) if line not in named]

    def _has_changed(self) -> bool:
        version: int = sql.read("PRAGMA data_version")[0][0]
        has_changed, self._version = version != self._version, version
        return has_changed

    def _last(self) -> int:
        return int(sql.read("SELECT COALESCE(MAX(id), 0) FROM recorder_journalevent")[0][0])

    def _publish_for(self, lines: list[int]) -> None:
        for start in range(0, len(lines), AT_ONCE):
            for touched in invalidations_of(lines[start : start + AT_ONCE]):
                with self._lock:
                    touched.configs.difference_update(self._configs)
                invalidation.publish_here(touched)


def invalidations_of(lines: Collection[int]) -> list[invalidation.Invalidation]:
    """Return one invalidation per project for journal lines; records that may be new are listed as new."""
    found: dict[int, invalidation.Invalidation] = {}
    projects = JournalEvent.objects.filter(id__in=lines).values_list("project_id", flat=True)
    for project in projects.distinct():
        found[project] = invalidation.Invalidation(project, quarantined=True)
    columns = ("journal_id", "journal__project_id", "session_id", "loop_id", "turn_id", "type")
    for line, project, session, loop, turn, kind in EventRecord.objects.filter(journal__in=lines).values_list(
        *columns
    ):
        touched = found[project]
        touched.events[line] = loop or 0
        if session:
            touched.sessions.add(session)
            touched.new_sessions.add(session)
            touched.reshaped.add(session)
        if loop:
            touched.loops[loop] = session
        if turn and kind != invalidation.STREAMED:
            touched.turns[turn] = loop
    for touched in found.values():
        _add_parts(touched)
    _add_flushed(found, lines)
    return list(found.values())


def _add_parts(touched: invalidation.Invalidation) -> None:
    loops = list(touched.loops)
    for pk, turn in ToolCall.objects.filter(turn__in=list(touched.turns)).values_list("id", "turn_id"):
        touched.tools[pk] = turn
    for pk, turn in TextBlock.objects.filter(loop__in=loops).values_list("id", "turn_id"):
        touched.blocks[pk] = turn or 0
    configs = LoopRecord.objects.filter(pk__in=loops, config__isnull=False)
    touched.configs.update(configs.values_list("config_id", flat=True))


def _add_flushed(found: dict[int, invalidation.Invalidation], lines: Collection[int]) -> None:
    flushes = JournalEvent.objects.filter(id__in=lines, kind="flush")
    loops = LoopRecord.objects.filter(producer__in=flushes.values("producer"))
    for pk, session, group, project in loops.values_list(
        "id", "session_id", "group_id", "session__project_id"
    ):
        found[project].loops[pk] = session
        found[project].sessions.add(session)
        if group is not None:
            found[project].groups.add(group)
