"""The endpoint of What if."""

from __future__ import annotations

from decimal import Decimal

from django.http import Http404, HttpRequest
from django.utils import timezone
from ninja import Query, Router

from dashboard.api.auth import project_of
from dashboard.api.ledger_params import OfWhatIf
from dashboard.api.what_if import schemas
from dashboard.shared.what_if.desk import Desk, WhatIfRow, desk
from dashboard.shared.what_if.models import key_of, name_of
from dashboard.shared.what_if.queries.sessions import session_of
from dashboard.shared.what_if.scope import Scope, days
from recorder.models import Project

router = Router()


@router.get("/context/what-if", response=schemas.WhatIfItem)
def what_if(request: HttpRequest, params: Query[OfWhatIf]) -> schemas.WhatIfItem:
    """Return what the calls of a session or period would have cost otherwise."""
    scope = _scope(project_of(request), params)
    return _item(desk(scope, [key_of(name) for name in params.model]))


def _scope(project: Project, params: OfWhatIf) -> Scope:
    if params.session is None:
        return days(project.pk, params.since, params.until or timezone.now(), params.agent or "")
    session = session_of(project.pk, params.session)
    if session is None:
        raise Http404
    return Scope(project.pk, session)


def _item(what_if: Desk) -> schemas.WhatIfItem:
    calls = what_if.calls
    return schemas.WhatIfItem(
        state=what_if.state,
        figures=[_figure(line) for line in what_if.lines],
        calls=len(calls.found),
        reported_calls=calls.reported,
        unpriced_calls=calls.unpriced,
        unreconciled_calls=calls.unreconciled,
        left_out_usd=_usd(calls.left_out_nano),
        has_ledger=what_if.has_ledger,
        without_price=[name_of(key) for key in what_if.without_price],
    )


def _figure(line: WhatIfRow) -> schemas.WhatIfFigure:
    figure = line.figure
    return schemas.WhatIfFigure(
        figure=line.kind,
        name=line.name or None,
        calls=figure.calls,
        changed_calls=figure.changed,
        tokens=line.tokens,
        times_called=line.used,
        recorded_usd=_usd(figure.base_nano),
        cost_usd=_usd(figure.nano),
        low_usd=_usd(figure.low_nano),
        high_usd=_usd(figure.high_nano),
        difference_usd=_usd(figure.difference_nano),
        reasons=[schemas.WhatIfReason(label=label, sentence=text) for label, text in line.reasons],
    )


def _usd(nano: int) -> str:
    return format(Decimal(nano).scaleb(-9).normalize() + 0, "f")
