"""Entries of the audit log that an admin of a project may read, and what selects them.

They are the project's own, and those that belong to no project and concern its members: their sign-ins, good
and bad, and sign-in links that were made for them. A superuser also reads the entries of projects that were
deleted, and those without a project: a failed sign-in under an unknown name belongs to no member.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Q, QuerySet

from dashboard.shared.audit_log.schemas import AuditItem
from recorder.models import AccessToken, AuditEntry, Project, ProjectDeletion
from recorder.operations.audit_actions import Group, describe, of_group


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The conditions that select entries; an empty field selects all. The time range excludes its end."""

    words: str = ""  # words in the actor, the name of its token, the target or the address
    group: Group | None = None
    actors: Sequence[str] = ()
    actions: Sequence[str] = ()
    since: datetime | None = None
    until: datetime | None = None


def readable(project: Project, user: AbstractBaseUser | AnonymousUser | None) -> QuerySet[AuditEntry]:
    """Return the entries that an admin of the project may read, unordered."""
    if getattr(user, "is_superuser", False):
        gone = Project.every.filter(slug__startswith=Project.GONE).values("pk")
        return AuditEntry.objects.filter(Q(project=project) | Q(project=None) | Q(project__in=gone))
    members = project.memberships.values("user__username")
    by_others = Q(actor_kind="command") | Q(action="signin.link")
    of_members = Q(actor__in=members) | Q(by_others, target__in=members)
    return AuditEntry.objects.filter(Q(project=project) | Q(of_members, project=None))


def matching(
    project: Project, user: AbstractBaseUser | AnonymousUser | None, wanted: Wanted
) -> QuerySet[AuditEntry]:
    """Return the readable entries that are wanted, unordered."""
    rows = readable(project, user)
    for word in wanted.words.split():
        rows = rows.filter(_has(project, word))
    if wanted.group:
        rows = rows.filter(action__in=of_group(wanted.group))
    if wanted.actors:
        rows = rows.filter(actor__in=wanted.actors)
    if wanted.actions:
        rows = rows.filter(action__in=wanted.actions)
    if wanted.since:
        rows = rows.filter(at__gte=wanted.since)
    return rows.filter(at__lt=wanted.until) if wanted.until else rows


def items(project: Project, rows: Sequence[AuditEntry]) -> list[AuditItem]:
    """Return entries as documents."""
    slugs = {
        project.pk: project.slug,
        **_names_of_deleted({row.project_id for row in rows} - {project.pk, None}),
    }
    described = [(row, describe(row.action)) for row in rows]
    return [
        AuditItem(
            id=row.pk,
            at=row.at,
            actor_kind=row.actor_kind,
            actor=row.actor,
            action=row.action,
            words=description.words,
            group=description.group,
            project=slugs.get(row.project_id or 0),
            target=row.target,
            before=row.before,
            after=row.after,
            address=row.address or None,
        )
        for row, description in described
    ]


def _names_of_deleted(projects: Collection[int | None]) -> dict[int, str]:
    """Return the names that deleted projects had. One query, none without projects."""
    if not projects:
        return {}
    return dict(ProjectDeletion.objects.filter(project__in=projects).values_list("project", "slug"))


def token_names(project: Project) -> dict[str, str]:
    """Return the names of the project's tokens by their public part. One query."""
    return dict(AccessToken.objects.filter(project=project).values_list("key", "name"))


def _has(project: Project, word: str) -> Q:
    keys = AccessToken.objects.filter(project=project, name__icontains=word).values("key")
    of_token = Q(actor_kind="token", actor__in=keys)
    return Q(actor__icontains=word) | Q(target__icontains=word) | Q(address__icontains=word) | of_token
