"""The audit log of a project, and the sign-ins of its members, good and bad, which have no project."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import QuerySet

from dashboard.api import schemas
from dashboard.api.params import OfAudit
from dashboard.api.queries.list_endpoint import ListEndpoint, by_id
from dashboard.shared.audit_log import queries
from dashboard.shared.audit_log.schemas import AuditItem
from recorder.models import AuditEntry, Project


def _rows(project: Project, params: OfAudit) -> QuerySet[AuditEntry]:
    wanted = queries.Wanted(
        words=params.q,
        group=params.group,
        actors=params.actor,
        actions=params.action,
        since=params.since,
        until=params.until,
    )
    return queries.matching(project, params.reader, wanted)


def _items(project: Project, _: OfAudit, rows: Sequence[AuditEntry]) -> list[AuditItem]:
    return queries.items(project, rows)


AUDIT = ListEndpoint(response=schemas.Audit, rows=_rows, cut=by_id, items=_items)
