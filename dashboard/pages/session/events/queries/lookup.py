"""Finds one recorded event: its session and loop, and its line."""

from __future__ import annotations

from dataclasses import dataclass

from recorder.core.formats.base import strip_sse_framing
from recorder.journal.read import Pruned, pruned, texts
from recorder.models import EventRecord, JournalEvent


@dataclass(frozen=True, slots=True)
class Place:
    """The session and loop of an event; both None for an orphan."""

    session: int | None
    loop: int | None


def place(project: int, pk: int) -> Place:
    """Return the session and loop of an event. Raises EventRecord.DoesNotExist."""
    record = EventRecord.objects.get(pk=pk, journal__project=project)
    return Place(record.session_id, record.loop_id)


def event(project: int, pk: int) -> bytes:
    """Return an event as a native line, or the recorded line if it has no native form.

    Raises JournalEvent.DoesNotExist or Pruned.
    """
    line_pk = (
        JournalEvent.objects.exclude(kind="flush").values_list("pk", flat=True).get(pk=pk, project=project)
    )
    return strip_sse_framing(_text(line_pk))


def line(project: int, pk: int) -> bytes:
    """Return the recorded line of an event byte for byte; of a translated event the foreign line.

    Raises JournalEvent.DoesNotExist or Pruned.
    """
    entry = JournalEvent.objects.exclude(kind="flush").get(pk=pk, project=project)
    if entry.kind == "read":
        lines = JournalEvent.objects.filter(producer=entry.producer_id, kind="line", pk__gt=pk)
        entry = lines.order_by("pk").first() or entry  # events created by a flush have no line of their own
    return _text(entry.pk)


def _text(line: int) -> bytes:
    text_of = texts([line])
    if not text_of and (day := pruned([line])) is not None:
        raise Pruned(day)
    return text_of[line]
