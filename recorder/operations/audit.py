"""Writes the audit log: who did what to which project. An entry belongs to the transaction of its action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from django.utils import timezone

from recorder.core.content.text import clean
from recorder.core.records import Json
from recorder.models import AuditEntry, Project
from recorder.models.pricing import ID

# `audit_actions` has the words and the group of each.
Action = Literal[
    "session.delete",
    "session.export",
    "session.pin",
    "session.unpin",
    "signin",
    "signin.refused",
    "signin.link",
    "signout",
    "token.create",
    "token.revoke",
    "price.set",
    "price.withdraw",
    "price.reprice",
    "retention.change",
    "project.create",
    "project.rename",
    "project.archive",
    "project.restore",
    "project.delete",
    "user.create",
    "user.disable",
    "user.enable",
    "user.superuser",
    "profile.change",
    "password.change",
    "signin.end",
    "member.add",
    "member.role",
    "member.remove",
    "invite.create",
    "invite.renew",
    "invite.mail",
    "invite.withdraw",
    "invite.accept",
    "token.rotate",
    "retention.prune",
    "export",
    "import",
    "rebuild",
    "spans.retry",
    "demo.play",
    "demo.remove",
    "score.define",
    "score.change",
    "score.remove",
    "note.delete",
    "view.create",
    "view.change",
    "view.move",
    "view.remove",
    "insight.dismiss",
    "insight.restore",
    "consolidate",
    "audit.retention",
    "audit.prune",
    "membership.claim",
    "factor.add",
    "factor.rename",
    "factor.remove",
    "recovery_codes.create",
    "share.create",
    "share.open",
    "share.revoke",
    "masking.change",
    "masking.history",
]


@dataclass(frozen=True, slots=True)
class Actor:
    """The author of an action and its address; a command has none. The name of a token is its public part."""

    kind: Literal["user", "token", "command", "unknown"]
    name: str = ""
    address: str = ""
    is_superuser: bool = False


def command(name: str) -> Actor:
    """Return a command of `manage.py` as an actor."""
    return Actor("command", name)


COMMAND = command("")


def record(
    project: Project | None,
    actor: Actor,
    action: Action,
    target: str = "",
    *,
    before: Json = None,
    after: Json = None,
) -> None:
    """Add an entry; call it in the transaction of the action. A sign-in has no project."""
    AuditEntry.objects.create(
        project=project,
        at=timezone.now(),
        actor_kind=actor.kind,
        actor=clean(actor.name, 200),
        action=action,
        target=clean(target, ID),
        before=before,  # type: ignore[misc]  # a field of JSON
        after=after,
        address=actor.address[:64],
    )
