"""A session's recorded lines in chunks, so that memory does not grow with the session."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from dashboard.shared.session_json.schemas import rfc3339
from recorder.core.formats.base import strip_sse_framing
from recorder.journal.read import Pruned, texts
from recorder.models import EventRecord, Session

ROWS, BYTES = 500, 1024 * 1024  # maximum of one chunk; a single line may be larger


def chunks(session: Session, *, envelope: bool) -> Iterator[bytes]:
    """Return the lines in recorded order, in chunks of whole lines, each line ending in a newline.

    Raises Pruned if lines without envelopes are incomplete because bodies were pruned.
    """
    if session.pruned_on is not None and not envelope:
        raise Pruned(session.pruned_on)
    return _chunks(session.pk, envelope=envelope)


def _chunks(session: int, *, envelope: bool) -> Iterator[bytes]:
    last = 0
    while keys := _next(session, last):
        yield _chunk(keys, envelope=envelope)
        last = keys[-1]


def _next(session: int, last: int) -> list[int]:
    """Return the keys of the next lines, at most ROWS rows and BYTES bytes, but at least one."""
    lines = EventRecord.objects.filter(session=session, journal__gt=last, journal__kind="line").order_by(
        "journal"
    )
    sizes = lines.values_list("pk", "journal__size")[:ROWS]
    keys: list[int] = []
    total = 0
    for pk, size in sizes:
        total += size
        if keys and total > BYTES:
            break
        keys.append(pk)
    return keys


def _chunk(keys: Sequence[int], *, envelope: bool) -> bytes:
    raws = texts(keys)
    if not envelope:
        return b"".join(raws[key] + b"\n" for key in keys)
    lines = EventRecord.objects.filter(pk__in=keys).select_related("journal__producer").order_by("journal")
    return b"".join(
        _envelope(line, raws.get(line.pk)) for line in lines.defer("journal__own", "journal__pieces")
    )


def _envelope(line: EventRecord, raw: bytes | None) -> bytes:
    """Return a line in its envelope; `event` is null when the line's body was pruned."""
    about: dict[str, object] = {
        "id": line.pk,
        "producer": line.journal.producer.name,
        "seq": line.journal.seq,
        "received_at": rfc3339(line.journal.received_at),
        "occurred_at": rfc3339(line.occurred_at) if line.occurred_at else None,
        "loop": line.loop_id,
        "type": line.type,
        **({"masked": line.journal.masked} if line.journal.masked else {}),
    }
    if raw is None:
        day = line.journal.pruned_on
        about |= {"event": None, "pruned_on": day.isoformat() if day else None}
        return json.dumps(about).encode() + b"\n"
    # The recorded bytes are inserted unparsed: decoding could change numbers and duplicate keys.
    return json.dumps(about)[:-1].encode() + b', "event": ' + strip_sse_framing(raw) + b"}\n"
