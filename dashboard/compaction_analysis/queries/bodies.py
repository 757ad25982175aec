"""Journal lines around a compaction: the requests before and after, the messages between them, the block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from django.db.models import Q

from dashboard.compaction_analysis import phi_block as blocks
from dashboard.compaction_analysis.message_zones import Comparison, compare
from dashboard.compaction_analysis.messages import Message, message, messages
from dashboard.compaction_analysis.queries.passes import CompactionEffect
from recorder.core.formats.native import NO_LIMITS, read_object
from recorder.core.records import FOREIGN_ORIGINS, Json
from recorder.journal.read import pruned, texts
from recorder.models import Compaction, EventRecord, LoopRecord

MESSAGE_EVENTS = ("MessageEnd", "TurnEnd")
MOST = 2_000  # maximum number of lines read between two requests


@dataclass(frozen=True, slots=True)
class Bodies:
    """The comparisons, None where impossible; `pruned` is the day when a request was pruned."""

    sent: Comparison | None
    block: Comparison | None
    pruned: date | None = None


def bodies(effect: CompactionEffect) -> Bodies:
    """Read and compare the requests and the block of a compaction. Five queries at most."""
    stored = _block(effect)
    block = blocks.block(stored) if stored is not None else None
    requests = _requests(effect)
    if requests is None:
        return Bodies(None, _block_comparison(effect, block))
    read = texts(requests)
    held = {pk: _sent_messages(read[pk]) for pk in requests if pk in read}
    before, after = (held.get(pk) for pk in requests)
    if before is None or after is None:
        return Bodies(None, _block_comparison(effect, block), pruned(requests))
    earlier, later = _between(effect, *requests)
    new = {item.key for item in later}
    put_keys = {item.key for item in block.put} if block else ()
    return Bodies(compare([*before, *earlier], after, new, put_keys), _block_comparison(effect, block))


def counts(effects: Sequence[CompactionEffect]) -> dict[int, int]:
    """Return the number of messages in the first request after each compaction. One query."""
    requests = {item.pk: item.first.request for item in effects if item.first and item.first.request}
    read = texts({request for request in requests.values() if request})
    sent = {pk: _sent_messages(raw) for pk, raw in read.items()}
    return {pk: len(held) for pk, request in requests.items() if (held := sent.get(request or 0)) is not None}


def _requests(effect: CompactionEffect) -> tuple[int, int] | None:
    """Return the requests before and after; None unless both are recorded."""
    before = effect.before.request if effect.before else None
    after = effect.first.request if effect.first else None
    return (before, after) if before and after else None


def _sent_messages(raw: bytes) -> list[Message] | None:
    payload = read_object(raw, NO_LIMITS).get("payload")
    held = payload.get("messages") if isinstance(payload, dict) else None
    return messages(held) if isinstance(held, list) else None


def _between(effect: CompactionEffect, first: int, last: int) -> tuple[list[Message], list[Message]]:
    """Return the messages between two requests, before the compaction and after it."""
    rows = EventRecord.objects.filter(loop__in=effect.line, pk__gt=first, pk__lt=last)
    rows = rows.filter(type__in=MESSAGE_EVENTS)
    pks = list(rows.exclude(origin__in=FOREIGN_ORIGINS).order_by("pk").values_list("pk", flat=True)[:MOST])
    between: list[tuple[int, Message]] = []
    for pk, raw in sorted(texts(pks).items()):
        event = read_object(raw, NO_LIMITS)
        known = (
            {item.name for _, item in between} if event.get("type") == "TurnEnd" else ()
        )  # a TurnEnd repeats the messages of its turn
        between += [(pk, item) for item in _event_messages(event) if item.name not in known]
    return [item for pk, item in between if pk < effect.position], [
        item for pk, item in between if pk > effect.position
    ]


def _event_messages(event: dict[str, Json]) -> list[Message]:
    results = event.get("tool_results")
    values = [event.get("message"), *(results if isinstance(results, list) else ())]
    return [message(value) for value in values if isinstance(value, dict)]


def _block(effect: CompactionEffect) -> Json:
    if effect.content != "block":
        return None
    pk = effect.merged or effect.pk
    return Compaction.objects.filter(pk=pk).values_list("block", flat=True).first()


def _block_comparison(effect: CompactionEffect, block: blocks.Block | None) -> Comparison | None:
    if block is None:
        return None
    return blocks.compared(block, _covered_messages(effect, block))


def _covered_messages(effect: CompactionEffect, block: blocks.Block) -> Sequence[Message]:
    """Return the messages that a block covers: those at the start of the imported loop, else at its end."""
    owner = Compaction.objects.filter(pk=effect.merged or effect.pk).values("loop")
    loops = LoopRecord.objects.filter(Q(pk__in=owner) | Q(pk=effect.base.id)).order_by("-pk")
    events = [pk for row in loops.values_list("start_event", "end_event") for pk in row if pk]
    raws = texts(events)
    for pk in events:
        held = messages(read_object(raws[pk], NO_LIMITS).get("messages")) if pk in raws else []
        if held and blocks.fits(block, held):
            return held
    return ()
