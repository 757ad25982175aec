"""`manage.py token`: create, list and revoke access tokens."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from recorder.access import tokens
from recorder.models import AccessToken, Project


class Command(BaseCommand):
    help = "Create, list and revoke access tokens."
    requires_system_checks: list[str] = []  # they load every page; `make check` runs them

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="create a token and print it")
        create.add_argument("--project", default="default")
        create.add_argument("--scopes", default="ingest,read", help="comma-separated: ingest, read")
        create.add_argument("--name", default="", help="what it is for")
        listed = actions.add_parser("list", help="list tokens")
        listed.add_argument("--project")
        revoke = actions.add_parser("revoke", help="revoke a token, given in full or by its name")
        revoke.add_argument("token", metavar="TOKEN_OR_NAME")
        revoke.add_argument("--project")

    def handle(self, *_: Any, action: str, project: str | None, **options: Any) -> None:
        within = None if project is None else _project(project)
        if action == "create" and within is not None:
            self._create(within, options["name"], options["scopes"])
        elif action == "list":
            self._list(within)
        else:
            self._revoke(options["token"], within)

    def _create(self, project: Project, name: str, scopes: str) -> None:
        try:
            token = tokens.issue(project, name or "unnamed", scopes.split(","))
        except ValueError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(token)

    def _list(self, project: Project | None) -> None:
        found = AccessToken.objects.select_related("project").order_by("project__slug", "id")
        for token in found if project is None else found.filter(project=project):
            used = f"used {token.last_used_at:%Y-%m-%d %H:%M}" if token.last_used_at else "never used"
            state = "revoked" if token.revoked_at else used
            about = (token.project.slug, token.name, f"{tokens.PREFIX}_{token.key}_…", token.scopes, state)
            self.stdout.write("\t".join(about))

    def _revoke(self, which: str, project: Project | None) -> None:
        revoked = tokens.revoke(which, project)
        if not revoked:
            raise CommandError(f"There is no valid token {_shown(which)}.")
        self.stdout.write(f"Revoked {revoked} token{'s' if revoked > 1 else ''}.")


def _project(slug: str) -> Project:
    project = Project.objects.filter(slug=slug).first()
    if project is None:
        raise CommandError(
            f"There is no project {slug!r}; `{settings.COMMAND} project list` shows those there are."
        )
    return project


def _shown(which: str) -> str:
    """Return a token without its secret, which must not end up in a log."""
    return "_".join(which.split("_")[:2]) + "_…" if which.startswith(f"{tokens.PREFIX}_") else repr(which)
