"""Reads the end of a loop, the items after its last turn, in six queries at most for any number of loops."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from django.db.models import Max, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from dashboard.live.queries import streaming_text
from dashboard.live.queries.streaming_text import Block
from dashboard.pages.session.conversation.items import Item, raw_items
from dashboard.pages.session.conversation.queries import approvals, calls, lines
from dashboard.pages.session.conversation.turn import Reading
from dashboard.shared.compiled_query import compiled, in_list, list_param
from recorder.models import LoopRecord, Turn

TAIL_MAX = 200  # lines shown after the last turn


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of a conversation; root of the panel session/conversation/loop-end."""

    pk: int
    items: Sequence[Item]
    streaming: Sequence[Block]
    status: str
    outcome: str
    rejection: str | None
    error: str  # "" when the last turn shows it
    is_bare: bool  # without turns
    pruned_on: date | None


def tails(pks: Collection[int]) -> Mapping[int, Tail]:
    """Return the items after the last turn of each loop, by loop. Six queries at most."""
    loops = _ends(pks)
    since = {loop.pk: loop.last or 0 for loop in loops}
    several = list_param(pks)
    called = calls.calls(calls.outside_turns(), several)
    outside = f"{in_list('e.loop_id')} AND e.turn_id IS NULL AND e.id > %s"
    newest = TAIL_MAX * max(len(since), 1)
    recorded = lines.read(outside, several, min(since.values(), default=0), newest=newest)
    streamed = streaming_text.outside_turns(pks)
    questions = approvals.questions_in(recorded)
    tails = {}
    for loop in loops:
        bodies = [line.body for line in recorded if line.loop == loop.pk and line.body.id > since[loop.pk]]
        own = [placed.call for placed in called if placed.loop == loop.pk]
        reading = Reading(
            loop.session.project.slug,
            bodies,
            own,
            streamed.get(loop.pk, {}),
            is_open=loop.status == "running",
            questions=questions,
        )
        tails[loop.pk] = _tail(loop, reading)
    return tails


@compiled
def _ends(loops: Collection[int]) -> QuerySet[Any]:
    last_turn = Turn.objects.filter(loop=OuterRef("pk")).order_by("-ordinal")
    last = Max(
        Coalesce("turn_records__start_event", "turn_records__request_event", "turn_records__end_event")
    )
    columns = ("status", "outcome", "rejection", "error", "session__project__slug")
    loop_rows = LoopRecord.objects.filter(pk__in_list=loops).select_related("session__project").only(*columns)
    return loop_rows.annotate(last=last, last_error=Subquery(last_turn.values("error")[:1]))


def _tail(loop: Any, reading: Reading) -> Tail:
    return Tail(
        loop.pk,
        reading.items(),
        reading.streaming(),
        loop.status,
        loop.outcome,
        loop.rejection,
        "" if loop.error == loop.last_error else loop.error,
        is_bare=loop.last is None,
        pruned_on=reading.pruned_on,
    )


def raw_tails(pks: Collection[int]) -> Mapping[int, Tail]:
    """Return the items after the last turn of each loop with Markdown not rendered."""
    return {pk: replace(tail, items=raw_items(tail.items)) for pk, tail in tails(pks).items()}
