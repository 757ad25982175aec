"""The first difference between the requests of two calls, read from their recorded lines."""

from __future__ import annotations

from collections.abc import Mapping

from recorder.core.ledger.difference import Difference, first_difference
from recorder.core.records import Json
from recorder.journal.read import texts
from recorder.models import LedgerCall, Turn
from recorder.search.documents import decode


def difference_of_call(turn: int) -> Difference | None:
    """Return where the request of a call differs first from that of the call before in its chain.

    None if it only appends, or if one of the two is not recorded, or its body was pruned. Four queries.
    """
    call = LedgerCall.objects.filter(turn=turn).first()
    if call is None or call.number == 1:
        return None
    before = LedgerCall.objects.filter(chain=call.chain_id, number=call.number - 1).first()
    if before is None:
        return None
    turns = Turn.objects.in_bulk([before.turn, turn])
    lines = [turns[pk].request_event if pk in turns else None for pk in (before.turn, turn)]
    raws = texts([line for line in lines if line is not None])
    payloads = [_payload(raws.get(line)) if line is not None else None for line in lines]
    if payloads[0] is None or payloads[1] is None:
        return None
    return first_difference(payloads[0], payloads[1])


def _payload(raw: bytes | None) -> Mapping[str, Json] | None:
    payload = decode(raw).get("payload") if raw is not None else None
    return payload if isinstance(payload, dict) and isinstance(payload.get("messages"), list) else None
