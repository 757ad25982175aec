"""Deletes the rejected lines of a session: those that name it or a loop of it, and those amid its lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from recorder.database import sql
from recorder.journal.read import LINES
from recorder.models import QuarantinedLine

EVENTS = "recorder_eventrecord"


def delete(session: int, names: Iterable[str]) -> int:
    """Delete the rejected lines of a session, before its other lines; return their number."""
    wanted = [name.encode(errors="replace") for name in names if name]
    found = sql.read(
        f"""SELECT DISTINCT j.producer_id FROM {EVENTS} e JOIN {LINES} j ON j.id = e.id
            WHERE e.session_id = %s""",  # noqa: S608  names
        session,
    )
    gone: Counter[int] = Counter()
    for producer in (pk for (pk,) in found):
        for row in QuarantinedLine.objects.filter(producer=producer).order_by("pk").iterator(chunk_size=50):
            raw = bytes(row.raw)
            if any(name in raw for name in wanted) or _is_amid(session, producer, row.seq):
                gone[producer] += 1
                row.delete()
    sql.write(
        "UPDATE recorder_producer SET dropped = dropped + %s WHERE id = %s",
        [(count, producer) for producer, count in gone.items()],
    )
    return gone.total()


def _is_amid(session: int, producer: int, number: int) -> bool:
    """Return whether the last line up to a number, or the first one if there is none, is of a session."""
    before = sql.read(
        f"SELECT id FROM {LINES} WHERE producer_id = %s AND seq <= %s ORDER BY seq DESC LIMIT 1",  # noqa: S608
        *(producer, number),
    ) or sql.read(
        f"SELECT id FROM {LINES} WHERE producer_id = %s AND seq > %s ORDER BY seq LIMIT 1",  # noqa: S608
        *(producer, number),
    )
    of_session = f"SELECT 1 FROM {EVENTS} WHERE id = %s AND session_id = %s"  # noqa: S608  name
    return bool(before and sql.read(of_session, before[0][0], session))
