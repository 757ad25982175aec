"""Removes what the readers of foreign lines know of a session, before its lines are deleted.

The state of a reader holds parts of the lines it read. A producer whose lines were all of the session loses
its state, and later lines of it are dropped; of any other the state is read again from the lines that stay.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator

from recorder.core.formats import InvalidLineError
from recorder.core.formats.base import parse
from recorder.core.formats.native import NO_LIMITS
from recorder.core.formats.otlp.joining import home_of, keys_of
from recorder.core.formats.otlp.unit import Unit
from recorder.core.formats.registry import READERS
from recorder.core.sources import OTLP
from recorder.database import sql
from recorder.journal import tombstones
from recorder.journal.read import LINES, texts
from recorder.journal.spans.reported_calls import forget_turns
from recorder.journal.tombstones import Name
from recorder.models import Producer, SpanKey, SpanTrace, SpanUnit

READ = 200  # lines at once
TRACE = 32  # characters; the ids of loops of spans begin with their trace


def forget_producers(session: int) -> Iterator[Name]:
    """Renew the state of the producers that sent lines of a session; yield those that sent nothing else."""
    found = sql.read(
        f"""SELECT DISTINCT j.producer_id FROM recorder_eventrecord e JOIN {LINES} j ON j.id = e.id
            WHERE e.session_id = %s""",  # noqa: S608  name
        session,
    )
    pks = [pk for (pk,) in found]
    sql.write("UPDATE recorder_producer SET deletions = deletions + 1 WHERE id = %s", [[pk] for pk in pks])
    for producer in Producer.objects.filter(pk__in=pks, format__in=READERS):
        others = _lines_of_others(producer.pk, session)
        if not others:
            yield tombstones.of_producer(producer.pk)
        state = None if not others else _state(producer, others)
        sql.write(
            "UPDATE recorder_producer SET reading = %s WHERE id = %s",
            [(None if state is None else json.dumps(state, separators=(",", ":")), producer.pk)],
        )


def forget_spans(project: int, session_id: str, loop_ids: Collection[str]) -> Iterator[Name]:
    """Delete the units of a session's spans; yield their traces and keys."""
    traces = {loop_id[:TRACE] for loop_id in loop_ids}
    forget_turns(project, sorted(loop_ids))
    found = SpanTrace.objects.filter(project=project, trace__in=traces, unit__isnull=False)
    for unit in SpanUnit.objects.filter(pk__in=found.values("unit")):
        yield from _forget_unit(unit, session_id)


def has_spans(session: int) -> bool:
    """Return whether lines of a session are spans."""
    return bool(
        sql.read(
            f"""SELECT 1 FROM recorder_eventrecord e JOIN {LINES} j ON j.id = e.id
                JOIN recorder_producer p ON p.id = j.producer_id
                WHERE e.session_id = %s AND p.format = %s LIMIT 1""",  # noqa: S608  name
            *(session, OTLP),
        )
    )


def _forget_unit(row: SpanUnit, session_id: str) -> Iterator[Name]:
    """Remove a session's spans from a unit, which is deleted if it has no others."""
    unit = Unit(row.state)
    sessions = {key: each.session for key, each in unit.recorded.items()} | unit.covered
    traces = {key[:TRACE] for key, session in sessions.items() if session == session_id}
    others = {key[:TRACE] for key, session in sessions.items() if session != session_id}
    if not others:
        traces |= {*SpanTrace.objects.filter(unit=row.pk).values_list("trace", flat=True)}
    gone = [each for each in unit.digests.values() if home_of(each) in traces]
    stays = {key for each in unit.digests.values() if home_of(each) not in traces for key in keys_of(each)}
    keys = {key for each in gone for key in keys_of(each)} - stays
    if not others:
        keys |= {*SpanKey.objects.filter(unit=row.pk).values_list("key", flat=True)}
        row.delete()
    else:
        for key in [key for key, each in unit.digests.items() if each in gone]:
            del unit.digests[key]
        unit.recorded = {key: each for key, each in unit.recorded.items() if each.session != session_id}
        unit.covered = {key: each for key, each in unit.covered.items() if each != session_id}
        row.state, row.is_open = unit.state, unit.is_open
        row.save()
    SpanTrace.objects.filter(project=row.project_id, trace__in=traces).delete()
    SpanKey.objects.filter(project=row.project_id, key__in=keys).delete()
    yield from map(tombstones.of_trace, traces)
    yield from map(tombstones.of_key, keys)


def _lines_of_others(producer: int, session: int) -> list[int]:
    rows = sql.read(
        f"""SELECT j.id FROM {LINES} j LEFT JOIN recorder_eventrecord e ON e.id = j.id
            WHERE j.producer_id = %s AND j.seq IS NOT NULL AND j.pruned_on IS NULL
            AND (e.session_id IS NULL OR e.session_id <> %s) ORDER BY j.seq""",  # noqa: S608  names
        *(producer, session),
    )
    return [line for (line,) in rows]


def _state(producer: Producer, lines: list[int]) -> object:
    """Return the state of a producer's reader after these lines."""
    counts: Counter[str] = Counter()

    def next_loop(session_id: str) -> int:
        counts[session_id] += 1
        return counts[session_id]

    reader = READERS[producer.format](None, str(producer.pk), next_loop)
    for at in range(0, len(lines), READ):
        for raw in texts(lines[at : at + READ]).values():
            try:
                fields = parse(raw, limits=NO_LIMITS).fields
                if fields is not None:
                    reader.read(fields, producer.last_seen_at or producer.created_at)
            except InvalidLineError:
                continue
    return reader.state
