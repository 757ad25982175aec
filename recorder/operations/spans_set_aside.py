"""Acknowledged spans that could not be read and are set aside: what there is, and another try.

A try changes nothing unless it succeeds; then its transaction deletes the row.
"""

from __future__ import annotations

from django.conf import settings
from django.db.models import OuterRef, QuerySet, Subquery

from recorder.ingest.commit import unreadable_spans
from recorder.ingest.commit.bisect import Attempts
from recorder.ingest.commit.span_backlog import Backlog, as_batch
from recorder.ingest.commit.unreadable_spans import TooLong
from recorder.models import AccessToken, WaitingSpans


def found() -> QuerySet[WaitingSpans]:
    """Return the bodies that are set aside, oldest first, with the name of their `sender`, without lines."""
    names = AccessToken.objects.filter(pk=OuterRef("token")).values("name")[:1]
    rows = WaitingSpans.objects.filter(set_aside_at__isnull=False).annotate(sender=Subquery(names))
    return rows.select_related("project").defer("lines").order_by("pk")


def retry(row: WaitingSpans) -> str:
    """Read a body that is set aside; return why it could not be read, "" if it was.

    Takes at most `LOOPSCOPE_SPAN_READ_S` seconds. Raises StoreError.
    """
    about = (row.pk, row.project_id, row.token, row.address, row.is_demo, row.received_at, bytes(row.lines))
    try:
        with unreadable_spans.time_limit(settings.LOOPSCOPE_SPAN_READ_S):
            (answer,) = Attempts(Backlog()).write([as_batch(*about)])
    except TooLong:
        unreadable_spans.drop_connection()
        return f"Reading it took longer than {settings.LOOPSCOPE_SPAN_READ_S} s."
    return unreadable_spans.of_error(answer) if isinstance(answer, Exception) else ""
