"""Counts of what the deletion of sessions removes or removed. A fixed number of queries a session."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from recorder.models import Deletion, Project, Session
from recorder.operations import deletion
from recorder.operations.deletion import Preview


@dataclass(frozen=True, slots=True)
class Wanted:
    """The chosen sessions, and those of their sub-agents that may go with them."""

    chosen: Sequence[Preview]
    sub_agents: Sequence[Preview]


def wanted(project: Project, pks: Collection[int], *, limit: int) -> Wanted:
    """Return what the deletion of some sessions removes; sessions of other projects are left out."""
    found = list(Session.objects.filter(project=project, pk__in=list(pks)[:limit]).order_by("pk"))
    return Wanted(
        [deletion.preview(each) for each in found],
        [deletion.preview(each) for each in deletion.sub_agents(found)],
    )


def deletions(project: Project, pks: Collection[int]) -> list[Deletion]:
    """Return deletions by their primary keys."""
    return list(Deletion.objects.filter(project=project, pk__in=pks).order_by("pk"))
