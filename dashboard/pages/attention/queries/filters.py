"""Sessions of the attention page's filters, and the options of its menus."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import QuerySet

from dashboard.pages.attention.params import Params
from dashboard.shared.session_filter import Wanted, matching
from dashboard.web.filters import Menu, options
from recorder.models import Session

NEWEST = 1_000  # sessions whose agents and sources are options


def selected(project: int, params: Params) -> QuerySet[Session, int]:
    """Return the primary keys of the sessions that the filters select, as the list of sessions does."""
    wanted = Wanted(agent=params.agent, source=params.source)
    return matching(project, wanted).values_list("pk", flat=True)


def menus(project: int, params: Params) -> Sequence[Menu]:
    """Return the agents and sources of the newest sessions. One query."""
    newest = Session.objects.filter(project=project).order_by("-last_event_at", "-pk")
    seen = list(newest.values_list("agent_id", "source")[:NEWEST])
    return (
        Menu("Agent", options("agent", (agent for agent, _ in seen), params.agent)),
        Menu("Source", options("source", (source for _, source in seen), params.source)),
    )
