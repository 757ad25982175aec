"""The list of sessions, and one session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet

from dashboard.api import schemas
from dashboard.api.params import OfSessions
from dashboard.api.queries.list_endpoint import ListEndpoint, by_order
from dashboard.shared.costs import Cost, sessions_with_sub_agents
from dashboard.shared.session_filter import matching
from dashboard.shared.session_json.queries.loops import loop_items
from dashboard.shared.session_json.usage import inclusive, usage_and_cost
from dashboard.shared.session_state import is_stale
from dashboard.web import links
from recorder.core.loop_tree import tree_order
from recorder.models import LoopRecord, Project, Session


def session(project: Project, session_id: str) -> Session | None:
    """Return the session with this id; None when the project has none."""
    if "\0" in session_id:  # PostgreSQL rejects the parameter
        return None
    return Session.objects.filter(project=project, session_id=session_id).first()


def session_detail(project: Project, found: Session) -> schemas.SessionDetail:
    """Return a session with its loops, each under its parent."""
    loops = LoopRecord.objects.filter(session=found)
    items = {item.id: item for item in loop_items(project, loops)}
    ordered = tree_order(loops.only("pk", "parent", "group", "branch_index"))
    whole = sessions_with_sub_agents([found])[found.pk]
    fields = session_fields(project, found, whole) | {
        "loops": [items[loop.pk] for loop in ordered if loop.pk in items]
    }
    return schemas.SessionDetail(**fields)


def session_fields(project: Project, found: Session, whole: Cost) -> dict[str, Any]:
    """Return the fields that list and detail share; `whole` is the cost with sub-agents."""
    parent = schemas.Parent(session_id=found.parent_session_id or None, loop_id=found.parent_loop_id or None)
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
        **usage_and_cost(found),
        **inclusive(whole),
        "parent": parent if found.has_spawn else None,
        "is_demo": found.is_demo,
        "pruned_on": found.pruned_on,
        "url": links.session(project.slug, found.pk),
    }


def _rows(project: Project, params: OfSessions) -> QuerySet[Session]:
    return matching(project.pk, params.wanted()).defer("formation", "summary", "working_dir")


def _items(project: Project, _: OfSessions, rows: Sequence[Session]) -> list[schemas.SessionItem]:
    whole = sessions_with_sub_agents(rows)
    return [schemas.SessionItem(**session_fields(project, row, whole[row.pk])) for row in rows]


SESSIONS = ListEndpoint(response=schemas.Sessions, rows=_rows, cut=by_order, items=_items)
