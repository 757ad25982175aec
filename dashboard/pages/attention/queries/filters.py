"""Sessions of the attention page's query, and the options of its menus."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import QuerySet
from django.utils import timezone

from dashboard.pages.attention.params import KINDS, MENUS, AttentionParams
from dashboard.query_conditions.box import parsed
from dashboard.web.filters import Menu, Option, options
from recorder.models import Session

NEWEST = 1_000  # sessions whose agents and sources are options


def selected(project: int, params: AttentionParams) -> QuerySet[Session, int]:
    """Return the primary keys of the sessions that the query selects, as the list of sessions does."""
    query = parsed(params.q).on_sessions(project, timezone.now(), params.reader)
    return Session.objects.filter(query, project=project).values_list("pk", flat=True)


def menus(project: int, params: AttentionParams) -> Sequence[Menu]:
    """Return the kinds, and the agents and sources of the newest sessions. One query."""
    newest = Session.objects.filter(project=project).order_by("-last_event_at", "-pk")
    pairs = list(newest.values_list("agent_id", "source")[:NEWEST])
    agents, sources = params.chosen.get("agent", ()), params.chosen.get("source", ())
    kinds = [
        Option("kind", kind, name, kind == params.kind) for kind, name in (("", "All kinds"), *KINDS.items())
    ]
    return MENUS.on(
        (
            Menu("Kind", kinds, is_single=True),
            Menu("Agent", options("agent", (agent for agent, _ in pairs), agents)),
            Menu("Source", options("source", (source for _, source in pairs), sources)),
        )
    )
