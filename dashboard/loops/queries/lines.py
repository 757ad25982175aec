"""Recorded lines and where they belong: the one way in which conversations read the journal."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q

from dashboard.loops.bodies import Body, Object, decode
from recorder.lines import texts
from recorder.models import EventRecord

# A conversation never reads these: what was sent repeats everything, and what streamed is in its message.
SILENT = ("MessageUpdate", "TurnRequest", "AgentStart", "AgentEnd", "UsageSnapshot", "SessionInfo")

# Nor lines of another runtime: what they say is read from them.
FOREIGN = ("told", "kept")


@dataclass(frozen=True, slots=True)
class Line:
    """A body, and the turn and loop it belongs to."""

    turn: int | None
    loop: int | None
    body: Body


def read(which: Q, *, newest: int | None = None) -> list[Line]:
    """Return lines in recorded order; of more than `newest` only the last. Two queries."""
    columns = ("pk", "type", "turn_id", "loop_id", "occurred_at", "late")
    rows = (
        EventRecord.objects.filter(which)
        .exclude(origin__in=FOREIGN)
        .exclude(type__in=SILENT)
        .values_list(*columns, "journal__received_at", "journal__pruned_on")
    )
    chosen = list(rows.order_by("pk") if newest is None else reversed(rows.order_by("-pk")[:newest]))
    raws = texts([row[0] for row in chosen])
    return [
        Line(turn, loop, Body(pk, kind, _said(raws.get(pk)), at or received, at is None, late, pruned_on))
        for pk, kind, turn, loop, at, late, received, pruned_on in chosen
    ]


def _said(raw: bytes | None) -> Object:
    return {} if raw is None else decode(raw)
