"""Sessions as JSON documents, without their loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dashboard.shared.queries.costs import Cost, sessions_with_sub_agents
from dashboard.shared.session_json.queries.price_sources import inferred_in_sessions
from dashboard.shared.session_json.schemas import Parent, SessionItem
from dashboard.shared.session_json.usage import inclusive, usage_and_cost
from dashboard.shared.session_state import is_stale
from dashboard.web import links
from recorder.core.content.labels import metadata_of, tags_of
from recorder.models import Project, Session


def session_items(project: Project, rows: Sequence[Session]) -> list[SessionItem]:
    """Return sessions as the read API lists them."""
    whole = sessions_with_sub_agents(rows)
    inferred = inferred_in_sessions(project.pk, [row.pk for row in rows])
    return [
        SessionItem(**session_fields(project, row, whole[row.pk], is_inferred=row.pk in inferred))
        for row in rows
    ]


def session_fields(project: Project, session: Session, whole: Cost, *, is_inferred: bool) -> dict[str, Any]:
    """Return the fields that list and detail share.

    `whole` is the cost with sub-agents; `is_inferred`: a call was priced by its model alone.
    """
    parent = Parent(session_id=session.parent_session_id or None, loop_id=session.parent_loop_id or None)
    return {
        "session_id": session.session_id,
        "title": session.title or None,
        "agent_id": session.agent_id or None,
        "source": session.source,
        "scope": session.scope,
        "status": session.status,
        "outcome": session.outcome or None,
        "stale": is_stale(session),
        "created_at": session.created_at,
        "last_active_at": session.last_event_at,
        "ended_at": session.ended_at,
        "loops": session.loops,
        "turns": session.turns,
        "tool_calls": session.tool_calls,
        "errors": session.errors,
        "compactions": session.compactions,
        "groups": session.groups,
        "sub_agents": session.sub_agents,
        "events": session.events,
        "waiting": session.waiting,
        **usage_and_cost(session, session.source, is_inferred=is_inferred),
        **inclusive(whole),
        "tags": tags_of(session.tags),
        "metadata": metadata_of(session.metadata),
        "parent": parent if session.has_spawn else None,
        "is_demo": session.is_demo,
        "pruned_on": session.pruned_on,
        "url": links.session(project.slug, session.pk),
    }
