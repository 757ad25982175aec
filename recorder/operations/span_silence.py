"""Aborts open loops of traces of which nothing came for `LOOPSCOPE_SPAN_SILENCE_S` seconds.

A run that is killed never sends its agent span. A mark is recorded as a line, so that a rebuild aborts the
same loops; a span that comes later continues them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import datetime, timedelta

from django.conf import settings

from recorder.core.sources import OTLP
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.ingest.commit.span_backlog import PRODUCER
from recorder.journal.spans.reader import SILENCE
from recorder.models import Project, SpanTrace, SpanUnit

MOST = 500  # units of one run; the others follow in the next one


def mark_silent(now: datetime) -> int:
    """Record a mark for each open unit that is silent; return their number. Raises Busy."""
    before = now - timedelta(seconds=settings.LOOPSCOPE_SPAN_SILENCE_S)
    recording = Project.objects.filter(archived_at=None)
    units = SpanUnit.objects.filter(is_open=True, last_received_at__lt=before, project__in=recording)
    units = units.order_by("pk")[:MOST]
    traces = SpanTrace.objects.filter(unit__in=[unit.pk for unit in units]).order_by("-pk")
    of_unit = {trace.unit_id: trace for trace in traces}
    marks: dict[int, list[bytes]] = defaultdict(list)
    for trace in of_unit.values():
        marks[trace.project_id].append(json.dumps({SILENCE: {"trace": trace.trace}}).encode())
    for project, lines in marks.items():
        ingest(Batch(project, PRODUCER, None, lines, OTLP))
    return len(of_unit)
