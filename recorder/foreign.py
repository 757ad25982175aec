"""Commits of other processes: noticed by the writer's connection, and rung as if they were ours.

Nodes tell each other by Redis; this is for commands, and for nodes without Redis.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from threading import Lock

from django.conf import settings
from django.db import connection

from recorder import notify, tables
from recorder.faults import STORE_ERRORS
from recorder.horizon import Horizon
from recorder.models import EventRecord, JournalEvent, LoopRecord, ModelConfig, TextBlock, ToolCall

AT_ONCE = 2_000
EVERY_S = 0.25
LOOK_S = 0.25  # at most so often on PostgreSQL, where every look is a query


class Watch:
    """Looks for journal lines above the last one seen that no bell has named, in the thread that writes."""

    def __init__(self) -> None:
        self._version = 0
        self._seen: int | None = None
        self._glanced_at = 0.0
        self._named: set[int] = set()  # lines that bells have named since the last look
        self._unnamed: set[int] = set()  # seen at the last look; with Redis, their bell may be on its way
        self._configs: int | None = None
        self._named_configs: set[int] = set()
        self._lock = Lock()
        self._horizon: Horizon | None = None
        self._looked_at = 0.0
        notify.listen(self._note)

    def glance(self) -> None:
        """Look, unless that was done just now."""
        if time.monotonic() - self._glanced_at >= EVERY_S:
            self._glanced_at = time.monotonic()
            self.look()

    def look(self) -> None:
        """Ring for what others have committed since the last look."""
        try:
            if connection.vendor == "postgresql":
                self._look_beyond()
                return
            last = self._last()
            if self._has_changed():
                self._ring(self._last())
            else:
                self._seen = last
                self._named.clear()
        except STORE_ERRORS:
            connection.close()

    def _look_beyond(self) -> None:
        if time.monotonic() - self._looked_at < LOOK_S:
            return
        if self._horizon is None:
            self._horizon = Horizon()
        floor = self._horizon.floor
        found = set(self._horizon.lines())
        with self._lock:
            self._named = {line for line in self._named if line > floor}
            unnamed = found - self._named
            due = unnamed & self._unnamed if settings.REDIS_URL else unnamed
            self._named |= due
        self._unnamed = unnamed - due
        self._ring_for(sorted(due))
        self._looked_at = time.monotonic()

    def close(self) -> None:
        notify.unlisten(self._note)

    def _note(self, bell: notify.Bell) -> None:
        with self._lock:
            self._named.update(bell.events)
            self._named_configs.update(bell.configs)

    def _has_changed(self) -> bool:
        version: int = tables.read("PRAGMA data_version")[0][0]
        has_changed, self._version = version != self._version, version
        return has_changed

    def _last(self) -> int:
        return int(tables.read("SELECT COALESCE(MAX(id), 0) FROM recorder_journalevent")[0][0])

    def _ring(self, last: int) -> None:
        seen, self._seen = self._seen, last
        named, self._named = self._named, set()
        configs = self._new_configs()
        if seen is None or seen >= last:
            return
        lines = (
            JournalEvent.objects.filter(id__gt=seen, id__lte=last).order_by("id").values_list("id", flat=True)
        )
        self._ring_for([line for line in lines if line not in named])
        for project, pks in configs.items():
            notify.ring_here(notify.Bell(project, configs=pks))
        self._named.clear()

    def _new_configs(self) -> dict[int, set[int]]:
        """Return the configs, by project, that were first seen since the last look and no bell has named."""
        seen = self._configs
        newer = ModelConfig.objects.filter(pk__gt=seen or 0).order_by("pk")
        found = list(newer.values_list("project_id", "pk"))
        self._configs = found[-1][1] if found else seen or 0
        named, self._named_configs = self._named_configs, set()
        new: dict[int, set[int]] = {}
        for project, pk in found if seen is not None else ():
            if pk not in named:
                new.setdefault(project, set()).add(pk)
        return new

    def _ring_for(self, lines: list[int]) -> None:
        for start in range(0, len(lines), AT_ONCE):
            for bell in bells(lines[start : start + AT_ONCE]):
                notify.ring_here(bell)


def bells(lines: Collection[int]) -> list[notify.Bell]:
    """Return one bell a project for lines of the journal."""
    found: dict[int, notify.Bell] = {}
    projects = JournalEvent.objects.filter(id__in=lines).values_list("project_id", flat=True)
    for project in projects.distinct():
        found[project] = notify.Bell(project, quarantined=True)
    columns = ("journal_id", "journal__project_id", "session_id", "loop_id", "turn_id", "type")
    for line, project, session, loop, turn, kind in EventRecord.objects.filter(journal__in=lines).values_list(
        *columns
    ):
        bell = found[project]
        bell.events[line] = loop or 0
        if session:
            bell.sessions.add(session)
            bell.reshaped.add(session)
        if loop:
            bell.loops[loop] = session
        if turn and kind != notify.STREAMED:
            bell.turns[turn] = loop
    for bell in found.values():
        _add_parts(bell)
    _add_flushed(found, lines)
    return list(found.values())


def _add_parts(bell: notify.Bell) -> None:
    loops = list(bell.loops)
    for pk, turn in ToolCall.objects.filter(turn__in=list(bell.turns)).values_list("id", "turn_id"):
        bell.tools[pk] = turn
    for pk, turn in TextBlock.objects.filter(loop__in=loops).values_list("id", "turn_id"):
        bell.blocks[pk] = turn or 0


def _add_flushed(found: dict[int, notify.Bell], lines: Collection[int]) -> None:
    flushes = JournalEvent.objects.filter(id__in=lines, kind="flush")
    loops = LoopRecord.objects.filter(producer__in=flushes.values("producer"))
    for pk, session, project in loops.values_list("id", "session_id", "session__project_id"):
        found[project].loops[pk] = session
        found[project].sessions.add(session)
