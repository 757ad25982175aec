"""What stands around a pass in the journal: the requests, what was said between them, the block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from django.db.models import Q

from dashboard.compaction_analysis import phi_block as blocks
from dashboard.compaction_analysis.message_zones import Comparison, compare
from dashboard.compaction_analysis.messages import Message, message, messages
from dashboard.compaction_analysis.queries.passes import Pass
from recorder.core.formats.native import NO_LIMITS, read_object
from recorder.core.records import Json
from recorder.journal.read import pruned, texts
from recorder.models import Compaction, EventRecord, LoopRecord

SAID = ("MessageEnd", "TurnEnd")
MOST = 2_000  # lines between two requests
FOREIGN = ("told", "kept")


@dataclass(frozen=True, slots=True)
class Bodies:
    """What was compared; None where nothing can be. `pruned` is when a request was pruned."""

    sent: Comparison | None
    block: Comparison | None
    pruned: date | None = None


def bodies(found: Pass) -> Bodies:
    """Read and compare what is recorded of a pass. Five queries at most."""
    said = _block(found)
    block = blocks.block(said) if said is not None else None
    requests = _requests(found)
    if requests is None:
        return Bodies(None, _compared(found, block))
    read = texts(requests)
    held = {pk: _sent(read[pk]) for pk in requests if pk in read}
    before, after = (held.get(pk) for pk in requests)
    if before is None or after is None:
        return Bodies(None, _compared(found, block), pruned(requests))
    earlier, later = _between(found, *requests)
    new = {each.key for each in later}
    known = {each.key for each in block.put} if block else ()
    return Bodies(compare([*before, *earlier], after, new, known), _compared(found, block))


def counts(found: Sequence[Pass]) -> dict[int, int]:
    """Return how many messages the first request after each pass held. One query."""
    asked = {each.pk: each.first.request for each in found if each.first and each.first.request}
    read = texts({request for request in asked.values() if request})
    sent = {pk: _sent(raw) for pk, raw in read.items()}
    return {pk: len(held) for pk, request in asked.items() if (held := sent.get(request or 0)) is not None}


def _requests(found: Pass) -> tuple[int, int] | None:
    """Return the request before and the one after. Without both there is nothing to compare."""
    before = found.before.request if found.before else None
    after = found.first.request if found.first else None
    return (before, after) if before and after else None


def _sent(raw: bytes) -> list[Message] | None:
    payload = read_object(raw, NO_LIMITS).get("payload")
    held = payload.get("messages") if isinstance(payload, dict) else None
    return messages(held) if isinstance(held, list) else None


def _between(found: Pass, first: int, last: int) -> tuple[list[Message], list[Message]]:
    """Return what was said between two requests, before the pass and after it."""
    rows = EventRecord.objects.filter(loop__in=found.line, type__in=SAID, pk__gt=first, pk__lt=last)
    pks = list(rows.exclude(origin__in=FOREIGN).order_by("pk").values_list("pk", flat=True)[:MOST])
    said: list[tuple[int, Message]] = []
    for pk, raw in sorted(texts(pks).items()):
        event = read_object(raw, NO_LIMITS)
        known = (
            {each.name for _, each in said} if event.get("type") == "TurnEnd" else ()
        )  # it repeats its messages
        said += [(pk, each) for each in _said(event) if each.name not in known]
    return [each for pk, each in said if pk < found.position], [
        each for pk, each in said if pk > found.position
    ]


def _said(event: dict[str, Json]) -> list[Message]:
    results = event.get("tool_results")
    said = [event.get("message"), *(results if isinstance(results, list) else ())]
    return [message(each) for each in said if isinstance(each, dict)]


def _block(found: Pass) -> Json:
    if found.content != "block":
        return None
    pk = found.merged or found.pk
    return Compaction.objects.filter(pk=pk).values_list("block", flat=True).first()


def _compared(found: Pass, block: blocks.Block | None) -> Comparison | None:
    if block is None:
        return None
    return blocks.compared(block, _held(found, block))


def _held(found: Pass, block: blocks.Block) -> Sequence[Message]:
    """Return the messages that a block speaks of: the imported loop began with them, else ended."""
    owner = Compaction.objects.filter(pk=found.merged or found.pk).values("loop")
    loops = LoopRecord.objects.filter(Q(pk__in=owner) | Q(pk=found.base.id)).order_by("-pk")
    events = [pk for row in loops.values_list("start_event", "end_event") for pk in row if pk]
    raws = texts(events)
    for pk in events:
        held = messages(read_object(raws[pk], NO_LIMITS).get("messages")) if pk in raws else []
        if held and blocks.fits(block, held):
            return held
    return ()
