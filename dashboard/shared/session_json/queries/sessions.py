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


def session_fields(project: Project, found: Session, whole: Cost, *, is_inferred: bool) -> dict[str, Any]:
    """Return the fields that list and detail share.

    `whole` is the cost with sub-agents; `is_inferred`: a call was priced by its model alone.
    """
    parent = Parent(session_id=found.parent_session_id or None, loop_id=found.parent_loop_id or None)
    return {
        "session_id": found.session_id,
        "title": found.title or None,
        "agent_id": found.agent_id or None,
        "source": found.source,
        "scope": found.scope,
        "status": found.status,
        "outcome": found.outcome or None,
        "stale": is_stale(found),
        "created_at": found.created_at,
        "last_active_at": found.last_event_at,
        "ended_at": found.ended_at,
        "loops": found.loops,
        "turns": found.turns,
        "tool_calls": found.tool_calls,
        "errors": found.errors,
        "compactions": found.compactions,
        "groups": found.groups,
        "sub_agents": found.sub_agents,
        "events": found.events,
        "waiting": found.waiting,
        **usage_and_cost(found, found.source, is_inferred=is_inferred),
        **inclusive(whole),
        "tags": tags_of(found.tags),
        "metadata": metadata_of(found.metadata),
        "parent": parent if found.has_spawn else None,
        "is_demo": found.is_demo,
        "pruned_on": found.pruned_on,
        "url": links.session(project.slug, found.pk),
    }
