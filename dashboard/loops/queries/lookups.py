"""One recorded event: where it is shown, and its line."""

from __future__ import annotations

from dataclasses import dataclass

from recorder.models import EventRecord, JournalEvent


@dataclass(frozen=True, slots=True)
class Place:
    """The session and loop of an event; both None for an orphan."""

    session: int | None
    loop: int | None


def place(project: int, pk: int) -> Place:
    """Return where an event belongs. Raises EventRecord.DoesNotExist."""
    record = EventRecord.objects.get(pk=pk, journal__project=project)
    return Place(record.session_id, record.loop_id)


def line(project: int, pk: int) -> bytes:
    """Return a recorded line, byte for byte. Raises JournalEvent.DoesNotExist."""
    raw = JournalEvent.objects.filter(kind="line").values_list("raw", flat=True).get(pk=pk, project=project)
    return bytes(raw)
