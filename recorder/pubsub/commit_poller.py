"""Commits of other processes: noticed by the writer's connection, and rung as if they were ours.

Nodes tell each other by Redis; this is for commands, and for nodes without Redis.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from threading import Lock

from django.conf import settings
from django.db import connection

from recorder.database import sql
from recorder.database.errors import STORE_ERRORS
from recorder.journal.commit_order import Horizon
from recorder.models import EventRecord, JournalEvent, LoopRecord, ModelConfig, TextBlock, ToolCall
from recorder.pubsub import invalidation

AT_ONCE = 2_000
EVERY_S = 0.25


class CommitPoller:
    """Looks for journal lines that no bell has named, in the thread that writes.

    What a look that failed would have found nobody knows: the next takes all that is there for known, and has
    every open page redrawn.
    """

    def __init__(self) -> None:
        self._is_blind = True
        self._polled_at = 0.0
        self._version = self._seen = 0
        self._horizon: Horizon | None = None
        self._named: set[int] = set()  # lines that bells have named since the last look
        self._unnamed: set[int] = set()  # seen at the last look; with Redis, their bell may be on its way
        self._configs: set[int] = set()  # that are known
        self._lock = Lock()
        invalidation.subscribe(self._note)

    def poll_if_due(self) -> None:
        """Look, unless that was done just now."""
        if time.monotonic() - self._polled_at >= EVERY_S:
            self._polled_at = time.monotonic()
            self.poll()

    def poll(self) -> None:
        """Ring for what others have committed since the last look."""
        try:
            if self._is_blind:
                self._begin()
            else:
                self._publish_for(self._beyond(self._horizon) if self._horizon else self._after())
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
            self._horizon = Horizon()
            self._unnamed.clear()
        else:
            self._has_changed()
            self._seen = self._last()
        self._is_blind = False
        invalidation.publish_gap()

    def _beyond(self, horizon: Horizon) -> list[int]:
        """Return the lines that are due on PostgreSQL, where they may appear below others."""
        floor, was_settled = horizon.floor, horizon.is_settled
        found = set(horizon.lines())
        with self._lock:
            # Those of the last look may be below the floor by now, and will not be found again.
            unnamed = (found | self._unnamed) - self._named
            due = unnamed & self._unnamed if settings.REDIS_URL else unnamed
            self._named = {line for line in self._named | due if line > floor}
        self._unnamed = unnamed - due
        if horizon.is_settled and not was_settled:
            invalidation.publish_gap()
        return sorted(due)

    def _after(self) -> list[int]:
        """Return the lines that are due on SQLite, where they appear in order."""
        last = self._last()
        if has_changed := self._has_changed():
            last = self._last()  # a change is told once: nothing may be committed in between
        seen, self._seen = self._seen, last
        with self._lock:
            named, self._named = self._named, set()
        if not has_changed or seen >= last:
            return []
        lines = JournalEvent.objects.filter(id__gt=seen, id__lte=last).order_by("id")
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
    """Return one bell a project for lines of the journal. What may be new in it is said to be."""
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
