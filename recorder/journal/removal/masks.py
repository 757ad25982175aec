"""Masks lines that are stored already, those of one producer and day in one transaction.

Lines are encoded against earlier lines of their producer and day (`delta/encoding.py`), so one that changes
would break those that copy from it. Therefore all lines that copy from a rewritten line, also through others,
are encoded anew, in their order, against rewritten lines only. All other lines copy from lines that stay.

Each rewritten line is restored and compared before the transaction ends: if one differs, nothing is changed.

Cost: each line is restored and searched once; the bytes of the rewritten rows of a day are held in memory.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from recorder.core.formats.registry import READERS
from recorder.core.sources import OTLP
from recorder.database import sql
from recorder.journal.delta.dedup_window import Encoded, Window
from recorder.journal.delta.encoding import fingerprint, sources
from recorder.journal.read import LINES, texts
from recorder.journal.spans import without_record
from recorder.masking.counts import masks_in
from recorder.masking.masker import Masker
from recorder.models import JournalEvent, QuarantinedLine, SpanUnit

PORTION = 500  # lines that are restored together
OnProgress = Callable[[int], None]


class NotRestored(Exception):
    """A rewritten line could not be restored as it should be; the transaction has to be rolled back."""


class Day(NamedTuple):
    """A producer and a day (UTC) on which it sent lines."""

    producer: int
    format: str
    day: date


@dataclass(slots=True)
class Found:
    """The changes of masking: lines, the number of values in them by rule, and rows that are written anew.

    Rows are also those of derived events, and those that copy from a changed line.
    """

    lines: int = 0
    rows: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    changed: list[int] = field(default_factory=list)  # ids of changed lines and derived events
    secrets: dict[str, str] = field(default_factory=dict)  # in them: the mask of each value


class _Row(NamedTuple):
    own: bytes
    pieces: str | None
    size: int
    masked: int | None
    original: bytes | None
    line: int


def days(project: int) -> list[Day]:
    """Return the producers and days that have lines."""
    rows = JournalEvent.objects.filter(project=project, size__gt=0, pruned_on=None)
    found = rows.order_by("producer", "received_at__date").values_list(
        "producer", "producer__format", "received_at__date"
    )
    return [Day(*row) for row in found.distinct()]


def count_day(day: Day, masker: Masker, on_progress: OnProgress) -> Found:
    """Return what masking would change of a day; nothing is written."""
    return _changes(day, masker, on_progress)[0]


def mask_day(day: Day, masker: Masker, on_progress: OnProgress) -> Found:
    """Mask the lines of a day; call it in a transaction that holds the project's lock.

    Raises NotRestored, after which the transaction has to be rolled back.
    """
    found, rows, prints = _changes(day, masker, on_progress)
    if not rows:
        return found
    sql.write(
        f"UPDATE {LINES} SET own = %s, pieces = %s, size = %s, masked = %s, original = %s "  # noqa: S608  name
        "WHERE id = %s",
        rows,
    )
    # Windows of this and other processes know lines as they were: `window_cache.Windows.of` drops them.
    sql.write("UPDATE recorder_producer SET deletions = deletions + 1 WHERE id = %s", [[day.producer]])
    for ids in _portions(list(prints)):
        for line, text in texts(ids).items():
            if fingerprint(text) != prints.pop(line):
                raise NotRestored(f"line {line} of the journal")
    if prints:
        raise NotRestored(f"line {min(prints)} of the journal")
    return found


def mask_quarantine(project: int, masker: Masker) -> int:
    """Mask the rejected lines of a project; return how many were changed."""
    changed = 0
    last = 0
    while rows := list(QuarantinedLine.objects.filter(project=project, pk__gt=last).order_by("pk")[:PORTION]):
        last = rows[-1].pk
        for row in rows:
            raw = bytes(row.raw)
            masked = masker.mask_bytes(raw), masker.mask_text(row.message), masker.mask_text(row.path)
            if masked != (raw, row.message, row.path):
                row.raw, row.message, row.path = masked[0], masked[1][:1000], masked[2][:500]
                row.save(update_fields=("raw", "message", "path"))
                changed += 1
    return changed


def mask_states(project: int, masker: Masker) -> None:
    """Mask what the readers of foreign lines know: a rebuild would derive it again from masked lines."""
    for table, column in (("recorder_producer", "reading"), ("recorder_spanunit", "state")):
        where = f"project_id = %s AND {column} IS NOT NULL"
        rows = sql.read(f"SELECT id, {column} FROM {table} WHERE {where}", project)  # noqa: S608  names
        masked = [(masker.mask(state.encode()).line.decode(), pk) for pk, state in rows]
        changed = [new for new, old in zip(masked, rows, strict=True) if new[0] != old[1]]
        sql.write(f"UPDATE {table} SET {column} = %s WHERE id = %s", changed)  # noqa: S608  names
    _mask_names(project, masker)


def _mask_names(project: int, masker: Masker) -> None:
    """Mask the sender and the attribute names of spans that changed no record."""
    for unit in SpanUnit.objects.filter(project=project, unrecorded_spans__isnull=False).defer("state"):
        sender, names = map(masker.mask_text, (unit.unrecorded_sender, unit.unrecorded_names))
        if (sender, names) != (unit.unrecorded_sender, unit.unrecorded_names):
            unit.unrecorded_sender = sender[: without_record.SENDER_MAX]
            unit.unrecorded_names = names[: without_record.TEXT_MAX]
            unit.save(update_fields=("unrecorded_sender", "unrecorded_names"))


def _changes(day: Day, masker: Masker, on_progress: OnProgress) -> tuple[Found, list[_Row], dict[int, bytes]]:
    """Return what changes, the rows to write, and the fingerprints of their lines."""
    found, rows = Found(), list[_Row]()
    prints: dict[int, bytes] = {}
    window = Window(day.day)
    for ids in _portions(_ids(day)):
        raws = texts(ids)
        for line, kind, pieces, original in _rows(ids):
            raw = raws[line]
            masked = masker.mask(raw)
            is_changed = masked.line != raw
            if not is_changed and prints.keys().isdisjoint(sources(line, pieces)):
                continue
            if is_changed:
                found.changed.append(line)
                found.secrets |= masker.secrets(raw)
            if is_changed and kind == "line":
                found.lines += 1
                found.counts.update(masked.counts)
            stored = _encoded(window, line, masked.line, kind, day.format)
            # The fingerprint of a line that is sent again; one that was masked when it came has it already.
            mark = original or (masker.original(raw) if is_changed and kind == "line" else None)
            rows.append(_Row(*stored, len(masked.line), masks_in(masked.line) or None, mark, line))
            prints[line] = fingerprint(masked.line)
        on_progress(len(ids))
    found.rows = len(rows)
    return found, rows, prints


def _encoded(window: Window, line: int, raw: bytes, kind: str, form: str) -> Encoded:
    if kind != "line":  # no delta refers to derived events
        return raw, None
    if form == OTLP or form in READERS:
        return window.store(line, raw, "SourceEvent", None)
    try:
        fields = json.loads(raw)
    except (ValueError, RecursionError):
        return window.store(line, raw, "", None)
    loop = fields.get("loop_id") if isinstance(fields, dict) else None
    name = fields.get("type") if isinstance(fields, dict) else None
    return window.store(line, raw, str(name), loop if isinstance(loop, str) else None)


def _ids(day: Day) -> list[int]:
    begin = datetime.combine(day.day, time(), UTC)
    rows = JournalEvent.objects.filter(producer=day.producer, size__gt=0, pruned_on=None)
    of_day = rows.filter(received_at__gte=begin, received_at__lt=begin + timedelta(days=1))
    return list(of_day.order_by("pk").values_list("pk", flat=True))


def _rows(ids: Sequence[int]) -> list[tuple[int, str, str | None, bytes | None]]:
    rows = JournalEvent.objects.filter(pk__in=ids).order_by("pk")
    return [
        (line, kind, pieces, None if original is None else bytes(original))
        for line, kind, pieces, original in rows.values_list("pk", "kind", "pieces", "original")
    ]


def _portions(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    for at in range(0, len(ids), PORTION):
        yield ids[at : at + PORTION]
