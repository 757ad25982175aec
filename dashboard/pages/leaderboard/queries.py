"""Filter options of the leaderboard."""

from __future__ import annotations

from recorder.models import Session

AGENTS_MAX = 200
NEWEST = 1_000  # the newest sessions, whose agents are options


def agents(project: int) -> list[str]:
    """Return the agents of the newest sessions with groups. One query."""
    newest = Session.objects.filter(project=project, groups__gt=0).order_by("-last_event_at", "-pk")
    recorded = newest.values_list("agent_id", flat=True)[:NEWEST]
    return sorted(set(recorded) - {""}, key=lambda name: (name.casefold(), name))[:AGENTS_MAX]
