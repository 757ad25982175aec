"""The list of tool calls, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from django.db.models import QuerySet

from dashboard.api import schemas
from dashboard.api.params import OfLoop
from dashboard.api.queries.list_endpoint import ListEndpoint, by_newest, filtered
from dashboard.query_conditions.conditions import tool_call_condition
from dashboard.query_conditions.queries.tool_calls import shown_state
from dashboard.shared.waste.queries.places import Place
from dashboard.web import links
from recorder.models import Project, Session, ToolCall

READ = (
    *("tool_call_id", "tool_name", "state", "started_at", "ended_at", "duration_ms"),
    *("loop__loop_id", "loop__session", "turn__ordinal"),
)


def _rows(project: Project, params: OfLoop) -> QuerySet[ToolCall]:
    matches = params.condition(tool_call_condition, project)
    rows = ToolCall.objects.filter(matches, loop__session__project=project)
    return filtered(rows, loop__session__session_id=params.session_id, loop__loop_id=params.loop_id)


def _items(project: Project, _: OfLoop, rows: Sequence[ToolCall]) -> list[schemas.ToolCallItem]:
    """Return the items of a page. Two queries."""
    call_of = ToolCall.objects.select_related("loop", "turn").only(*READ).in_bulk([row.pk for row in rows])
    calls = [call_of[row.pk] for row in rows if row.pk in call_of]
    sessions = Session.objects.defer("formation", "summary").in_bulk({call.loop.session_id for call in calls})
    return [_item(project, call, sessions[call.loop.session_id]) for call in calls]


def _item(project: Project, call: ToolCall, session: Session) -> schemas.ToolCallItem:
    number = call.turn.ordinal if call.turn else None
    return schemas.ToolCallItem(
        id=call.pk,
        tool_call_id=call.tool_call_id,
        tool_name=call.tool_name,
        state=cast("schemas.CallState", shown_state(call, session)),
        started_at=call.started_at,
        ended_at=call.ended_at,
        duration_ms=call.duration_ms,
        session=schemas.SessionOfCall(
            session_id=session.session_id,
            title=session.title or None,
            url=links.session(project.slug, session.pk),
        ),
        loop=call.loop_id,
        loop_id=call.loop.loop_id,
        turn=call.turn_id,
        url=_url(project.slug, call, session.pk, number),
    )


def _url(slug: str, call: ToolCall, session: int, ordinal: int | None) -> str:
    if ordinal is None:
        return links.loop(slug, session, call.loop_id)
    return Place(session, call.loop_id, ordinal, call.pk).url(slug)


TOOL_CALLS = ListEndpoint(response=schemas.ToolCalls, rows=_rows, cut=by_newest, items=_items)
