"""Sessions of the lifecycle events in the feed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from dashboard.pages.attention.params import AttentionParams
from dashboard.pages.attention.queries.filters import selected
from recorder.models import Session


@dataclass(frozen=True, slots=True)
class FeedSession:
    """The session of a lifecycle event."""

    title: str
    agent: str


def sessions_by_id(
    project: int, session_ids: Collection[str], params: AttentionParams
) -> Mapping[str, FeedSession]:
    """Return the sessions that the filters select by session id. One query, two with filters."""
    found = Session.objects.filter(project=project, session_id__in=session_ids)
    if params.has_sessions:
        found = found.filter(pk__in=selected(project, params))
    named = found.values_list("session_id", "title", "agent_id")
    return {key: FeedSession(title or key, agent) for key, title, agent in named}
