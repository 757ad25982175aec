"""The list of waste, in the order in which it was found."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import QuerySet

from dashboard.api import schemas
from dashboard.api.params import OfWaste
from dashboard.api.queries.list_endpoint import ListEndpoint, by_id, filtered
from dashboard.query_conditions.conditions import session_condition
from dashboard.shared.queries.costs import usd
from dashboard.shared.waste.queries import places
from dashboard.shared.waste.queries.places import Place
from dashboard.shared.waste.queries.wastes import WasteRow, of_keys
from recorder.models import Project, Session, Waste


def _rows(project: Project, params: OfWaste) -> QuerySet[Waste]:
    wastes = Waste.objects.filter(project=project)
    if params.q or params.session is not None:
        sessions = Session.objects.filter(params.condition(session_condition, project), project=project)
        sessions = filtered(sessions, session_id=params.session)
        wastes = wastes.filter(session__in=sessions.values("pk"))
    is_without_alarm = False if params.alarms else None
    return filtered(wastes, rule=params.rule, last_at__gte=params.since, alarm_line__isnull=is_without_alarm)


def _items(project: Project, _: OfWaste, rows: Sequence[Waste]) -> list[schemas.WasteItem]:
    """Return the items of a page. Three queries."""
    pks = [row.pk for row in rows]
    waste_rows, calls = of_keys(pks), places.of_calls(pks)
    sessions = Session.objects.filter(project=project).in_bulk({row.session for row in rows})
    return [
        _item(project, waste_rows[row.pk], sessions[row.session], calls.get(row.pk, []))
        for row in rows
        if row.pk in waste_rows and row.session in sessions
    ]


def _item(project: Project, row: WasteRow, session: Session, calls: Sequence[Place]) -> schemas.WasteItem:
    return schemas.WasteItem(
        id=row.pk,
        session_id=session.session_id,
        loop=row.loop,
        agent_id=row.agent or None,
        rule=row.rule,
        name=row.name or None,
        times=row.times,
        calls=row.wasted.calls,
        tokens=row.wasted.tokens,
        cost_usd=usd(row.wasted.nano),
        unpriced=row.wasted.unpriced,
        first_event=row.first_line,
        last_event=row.last_line,
        last_at=row.last_at,
        alarm_event=row.alarm_line,
        alarmed_at=row.alarmed_at,
        urls=[call.url(project.slug) for call in calls[: schemas.WASTE_URLS_MAX]],
    )


WASTE = ListEndpoint(response=schemas.Wastes, rows=_rows, cut=by_id, items=_items)
