"""The list of loops."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import QuerySet

from dashboard.api import schemas
from dashboard.api.params import OfLoop
from dashboard.api.queries.list_endpoint import ListEndpoint, by_id, filtered
from dashboard.query_conditions.conditions import loop_condition
from dashboard.shared.session_json.queries.loops import loop_items
from dashboard.shared.session_json.schemas import LoopItem
from recorder.models import LoopRecord, Project


def _rows(project: Project, params: OfLoop) -> QuerySet[LoopRecord]:
    rows = LoopRecord.objects.filter(params.condition(loop_condition, project), session__project=project)
    return filtered(rows, session__session_id=params.session_id, loop_id=params.loop_id)


def _items(project: Project, _: OfLoop, rows: Sequence[LoopRecord]) -> list[LoopItem]:
    return loop_items(project, LoopRecord.objects.filter(pk__in=[row.pk for row in rows]))


LOOPS = ListEndpoint(response=schemas.Loops, rows=_rows, cut=by_id, items=_items)
