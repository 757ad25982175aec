"""The list of sessions, and one session."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import QuerySet

from dashboard.api import schemas
from dashboard.api.params import OfSessions
from dashboard.api.queries.list_endpoint import ListEndpoint, by_order
from dashboard.api.queries.notes import note_counts
from dashboard.query_conditions.conditions import session_condition
from dashboard.shared.queries.costs import sessions_with_sub_agents
from dashboard.shared.queries.session_filter import matching
from dashboard.shared.session_json.queries.loops import loop_items
from dashboard.shared.session_json.queries.price_sources import inferred_in_sessions
from dashboard.shared.session_json.queries.sessions import session_fields, session_items
from dashboard.shared.session_json.schemas import SessionItem
from recorder.core.loop_tree import tree_order
from recorder.models import LoopRecord, Project, Session


def session(project: Project, session_id: str) -> Session | None:
    """Return the session with this id; None when the project has none."""
    if "\0" in session_id:  # PostgreSQL rejects the parameter
        return None
    return Session.objects.filter(project=project, session_id=session_id).first()


def session_detail(project: Project, session: Session, at: int | None = None) -> schemas.SessionDetail:
    """Return a session with its loops, each under its parent; `at` is the event as of which it is read."""
    loops = LoopRecord.objects.filter(session=session)
    items = {item.id: item for item in loop_items(project, loops)}
    ordered = tree_order(loops.only("pk", "parent", "group", "branch_index"))
    whole = sessions_with_sub_agents([session])[session.pk]
    is_inferred = bool(inferred_in_sessions(project.pk, [session.pk]))
    fields = session_fields(project, session, whole, is_inferred=is_inferred) | {
        "loops": [items[loop.pk] for loop in ordered if loop.pk in items],
        "notes": note_counts(project, session.session_id, at),
    }
    return schemas.SessionDetail(**fields)


def _rows(project: Project, params: OfSessions) -> QuerySet[Session]:
    rows = matching(project.pk, params.wanted()).filter(params.condition(session_condition, project))
    return rows.defer("formation", "summary", "working_dir")


def _items(project: Project, _: OfSessions, rows: Sequence[Session]) -> list[SessionItem]:
    return session_items(project, rows)


SESSIONS = ListEndpoint(response=schemas.Sessions, rows=_rows, cut=by_order, items=_items)
