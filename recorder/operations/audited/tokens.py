"""Create and revoke access tokens, with their entries in the audit log."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from recorder.access import tokens
from recorder.core.records import Json
from recorder.models import AccessToken, Project
from recorder.operations import audit
from recorder.operations.audit import Actor

DAYS_MAX = 3_650
OVERLAP = timedelta(hours=24)  # for which both tokens of a rotation work


def issue_token(
    project: Project,
    name: str,
    scopes: Sequence[str],
    user: User | None,
    actor: Actor,
    *,
    days: int | None = None,
) -> str:
    """Create a token that expires after `days`, or never, and return it.

    Raises ValueError if a scope is unknown or none is given, or for a number of days out of range.
    """
    check_days(days)
    expires = timezone.now() + timedelta(days=days) if days is not None else None
    with transaction.atomic():
        token = tokens.issue(project, name, scopes, user=user, expires=expires)
        after: dict[str, Json] = {"name": name, "scopes": [scope.strip() for scope in scopes]}
        if expires:
            after["expires_at"] = expires.isoformat(timespec="seconds")
        audit.record(project, actor, "token.create", tokens.key_of(token), after=after)
    return token


def check_days(days: int | None) -> None:
    """Raise ValueError unless a token may expire after so many days; None is never."""
    if days is not None and not 1 <= days <= DAYS_MAX:
        raise ValueError(f"A token expires after 1 to {DAYS_MAX} days, or never.")


def rotate_token(project: Project, key: str, user: User | None, actor: Actor) -> str | None:
    """Give a valid token a successor and return it; both work for `OVERLAP`. None without such a token."""
    with transaction.atomic():
        found = AccessToken.objects.select_for_update().filter(project=project, key=key, replaced_by=None)
        token = tokens.still_valid(found).first()
        if token is None:
            return None
        text = tokens.rotate(token, OVERLAP, user=user)
        audit.record(project, actor, "token.rotate", tokens.key_of(text), before={"key": key})
    return text


def revoke_tokens(which: str, project: Project | None, actor: Actor) -> int:
    """Revoke tokens by full token, key or name, each with an entry of its project; return their number."""
    with transaction.atomic():
        for token in tokens.revocable(which, project).select_related("project"):
            audit.record(token.project, actor, "token.revoke", token.key, before={"name": token.name})
        return tokens.revoke(which, project)
