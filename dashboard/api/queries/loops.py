"""Pages of loops, as items of the read API."""

from __future__ import annotations

from dashboard.api import schemas
from dashboard.api.params import OfLoop
from dashboard.api.queries.keyset import by_id
from dashboard.shared.session_json.queries.loops import loop_items
from recorder.models import LoopRecord, Project


def loops(project: Project, asked: OfLoop) -> schemas.Loops:
    """Return a page of loops."""
    rows = LoopRecord.objects.filter(session__project=project)
    if asked.session_id is not None:
        rows = rows.filter(session__session_id=asked.session_id)
    if asked.loop_id is not None:
        rows = rows.filter(loop_id=asked.loop_id)
    page = by_id(rows, asked)
    shown = LoopRecord.objects.filter(pk__in=[row.pk for row in page.rows])
    return schemas.Loops(items=loop_items(project, shown), next=page.next, total=page.total)
