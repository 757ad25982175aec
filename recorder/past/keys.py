"""The keys that records have now, for records that were made again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from itertools import count
from typing import Any, TypeAlias

from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce

from recorder import models
from recorder.core.changes import (
    Approval,
    ChildRef,
    Compaction,
    Group,
    Loop,
    ModelConfig,
    Record,
    Session,
    ToolCall,
    Turn,
)

FRESH = 10**12  # keys from here on are of no row: what there is no longer, or never is in a table for long

_Natural: TypeAlias = tuple[Any, ...]

# What a record is known by, once those it stands under have their keys.
_NATURAL: Mapping[type[Record], Callable[[Any], _Natural]] = {
    ModelConfig: lambda config: (config.key,),
    Session: lambda session: (session.session_id,),
    Group: lambda group: (group.session.id, group.ordinal),
    Loop: lambda loop: (loop.session.id, loop.loop_id, loop.run),
    Turn: lambda turn: (turn.loop.id, turn.ordinal),
    ToolCall: lambda tool: (tool.loop.id, tool.start_event or tool.end_event),
    Compaction: lambda each: (each.loop.id, each.start_event or each.end_event),
    ChildRef: lambda ref: (ref.loop.id, ref.event, ref.child_loop_id),
    Approval: lambda approval: (approval.session.id, approval.request_event),
}


class Keys:
    """The keys of a project's configs and of all records of some sessions. Nine queries."""

    def __init__(self, project: int, sessions: Collection[int]) -> None:
        here, of_loops = Q(session__in=sessions), Q(loop__session__in=sessions)
        begun = Coalesce("start_event", "end_event")
        self._known: Mapping[type[Record], dict[_Natural, int]] = {
            ModelConfig: _read(models.ModelConfig.objects.filter(Q(project=project)), "key"),
            Session: _read(models.Session.objects.filter(Q(pk__in=sessions)), "session_id"),
            Group: _read(models.ParallelGroupRecord.objects.filter(here), "session_id", "ordinal"),
            Loop: _read(models.LoopRecord.objects.filter(here), "session_id", "loop_id", "run"),
            Turn: _read(models.Turn.objects.filter(of_loops), "loop_id", "ordinal"),
            ToolCall: _read(models.ToolCall.objects.filter(of_loops), "loop_id", begun),
            Compaction: _read(models.Compaction.objects.filter(of_loops), "loop_id", begun),
            ChildRef: _read(
                models.ChildLoopRef.objects.filter(of_loops), "loop_id", "event", "child_loop_id"
            ),
            Approval: _read(models.Approval.objects.filter(here), "session_id", "request_event"),
        }
        self._fresh = count(FRESH)

    def give(self, records: Collection[Record]) -> None:
        """Give each record its key, one after the other if they look alike."""
        by_kind: dict[type[Record], list[Record]] = defaultdict(list)
        for record in records:
            by_kind[type(record)].append(record)
        for kind, natural in _NATURAL.items():
            known = dict(self._known[kind])
            for record in by_kind[kind]:
                record.id = known.pop(natural(record), 0) or self.fresh()
        for kind in by_kind.keys() - _NATURAL.keys():
            for record in by_kind[kind]:
                record.id = self.fresh()

    def fresh(self) -> int:
        """Return a key that no row has."""
        return next(self._fresh)


def _read(found: QuerySet[Any], *names: str | Coalesce) -> dict[_Natural, int]:
    rows = found.order_by("-pk").values_list(*names, "pk")
    return {row[:-1]: row[-1] for row in rows}
