"""Whose rings the feed shows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from recorder.models import Session


@dataclass(frozen=True, slots=True)
class Whose:
    """The session that a ring is about."""

    title: str
    agent: str


def whose(project: int, session_ids: Collection[str]) -> Mapping[str, Whose]:
    """Return the sessions by their id. One query."""
    found = Session.objects.filter(project=project, session_id__in=session_ids)
    named = found.values_list("session_id", "title", "agent_id")
    return {key: Whose(title or key, agent) for key, title, agent in named}
