"""`manage.py token`: create, list and revoke access tokens."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from recorder.access import tokens
from recorder.management.named_projects import project_of
from recorder.models import AccessToken, Project
from recorder.operations import audit
from recorder.operations.audited.tokens import issue_token, revoke_tokens, rotate_token

ACTOR = audit.command("token")


class Command(BaseCommand):
    help = "Create, list and revoke access tokens."
    requires_system_checks: list[str] = []  # checks load every page; `make check` runs them

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="create a token and print it")
        create.add_argument("--project", default="default")
        create.add_argument("--scopes", default="ingest,read", help="comma-separated: ingest, read")
        create.add_argument("--name", default="", help="what it is for")
        create.add_argument("--days", type=int, help="expires after so many days; default: never")
        rotate = actions.add_parser("rotate", help="create a successor and print it; both work for 24 hours")
        rotate.add_argument("key", metavar="KEY", help="the public part, as `list` prints it")
        rotate.add_argument("--project", default="default")
        listed = actions.add_parser("list", help="list tokens")
        listed.add_argument("--project")
        revoke = actions.add_parser("revoke", help="revoke a token, given in full or by its name")
        revoke.add_argument("token", metavar="TOKEN_OR_NAME")
        revoke.add_argument("--project")

    def handle(self, *_: Any, action: str, project: str | None, **options: Any) -> None:
        within = None if project is None else project_of(project)
        if action == "create" and within is not None:
            self._create(within, options["name"], options["scopes"], options["days"])
        elif action == "rotate" and within is not None:
            self._rotate(within, options["key"])
        elif action == "list":
            self._list(within)
        else:
            self._revoke(options["token"], within)

    def _create(self, project: Project, name: str, scopes: str, days: int | None) -> None:
        try:
            token = issue_token(project, name or "unnamed", scopes.split(","), None, ACTOR, days=days)
        except ValueError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(token)

    def _rotate(self, project: Project, key: str) -> None:
        token = rotate_token(project, tokens.key_of(key.removesuffix("_…")) or key, None, ACTOR)
        if token is None:
            raise CommandError(f"There is no valid token {_shown(key)} without a successor.")
        self.stdout.write(token)

    def _list(self, project: Project | None) -> None:
        found = AccessToken.objects.select_related("project").order_by("project__slug", "id")
        for token in found if project is None else found.filter(project=project):
            used = f"used {token.last_used_at:%Y-%m-%d %H:%M}" if token.last_used_at else "never used"
            used += f" from {token.last_used_from}" if token.last_used_from else ""
            is_expired = token.expires_at is not None and token.expires_at <= timezone.now()
            state = "revoked" if token.revoked_at else "expired" if is_expired else used
            about = (token.project.slug, token.name, f"{tokens.PREFIX}_{token.key}_…", token.scopes, state)
            self.stdout.write("\t".join(about))

    def _revoke(self, which: str, project: Project | None) -> None:
        revoked = revoke_tokens(which, project, ACTOR)
        if not revoked:
            raise CommandError(f"There is no valid token {_shown(which)}.")
        self.stdout.write(f"Revoked {revoked} token{'s' if revoked > 1 else ''}.")


def _shown(which: str) -> str:
    """Return a token without its secret, which must not end up in a log."""
    return "_".join(which.split("_")[:2]) + "_…" if which.startswith(f"{tokens.PREFIX}_") else repr(which)
