"""The first recorded requests of sessions or loops."""

from __future__ import annotations

from collections.abc import Mapping

from django.db.models import QuerySet

from dashboard.pages.compare.requests import Request, read_request
from dashboard.web import links
from recorder.core.formats import InvalidLineError
from recorder.core.formats.base import strip_sse_framing
from recorder.core.formats.native import NO_LIMITS, read_object
from recorder.journal.read import texts
from recorder.models import JournalEvent, Turn

READ_BYTES = 256 * 1024  # a larger line is not read: most of it is messages


def first_requests(slug: str, turns: Mapping[int, QuerySet[Turn]]) -> Mapping[int, Request | None]:
    """Return the first request among the turns of each column. A query for each, and two."""
    events = {pk: _first(found) for pk, found in turns.items()}
    wanted = {event for event in events.values() if event}
    lines = JournalEvent.objects.filter(pk__in=wanted).values_list("pk", "size", "pruned_on")
    missing = {pk: _missing(size, is_pruned=day is not None) for pk, size, day in lines}
    bodies = texts([pk for pk, why in missing.items() if not why])
    return {pk: _request(slug, event, missing, bodies) if event else None for pk, event in events.items()}


def _request(
    slug: str, event: int, missing: Mapping[int, str], bodies: Mapping[int, bytes]
) -> Request | None:
    if missing.get(event):
        return Request(missing=missing[event])
    return _read(slug, event, bodies[event]) if event in bodies else None


def _first(turns: QuerySet[Turn]) -> int | None:
    requested = turns.filter(request_event__isnull=False).order_by("loop_id", "ordinal")
    return requested.values_list("request_event", flat=True).first()


def _missing(size: int, *, is_pruned: bool) -> str:
    if is_pruned:
        return "pruned"
    return "too large to compare" if size > READ_BYTES else ""


def _read(slug: str, event: int, body: bytes) -> Request | None:
    """Return the request of a recorded line; None for a line of another format that represents one."""
    try:
        fields = read_object(strip_sse_framing(body), NO_LIMITS)
    except InvalidLineError:
        return None
    return read_request(fields, links.event(slug, event))
