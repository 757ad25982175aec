"""`manage.py member`: add, remove and list the members of projects."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from dashboard.management.commands.user import found
from recorder.management.named_projects import project_of
from recorder.models import Membership
from recorder.operations import audit
from recorder.operations.people import members


class Command(BaseCommand):
    help = "Add, remove and list the members of projects."
    requires_system_checks: list[str] = []  # system checks load every page; `make check` runs them

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        add = actions.add_parser("add", help="add a member, or change the role of one")
        add.add_argument("user")
        add.add_argument("--project", default="default")
        add.add_argument("--role", choices=members.ROLES, default=Membership.Role.MEMBER.value)
        remove = actions.add_parser("remove", help="remove a member, whose tokens end with it")
        remove.add_argument("user")
        remove.add_argument("--project", default="default")
        listed = actions.add_parser("list", help="list members")
        listed.add_argument("--project")

    def handle(self, *_: Any, action: str, project: str | None, **options: Any) -> None:
        if action == "list":
            self._list(project)
            return
        user, of = found(options["user"]), project_of(project or "default")
        if action == "add":
            members.set_role(of, user, options["role"], audit.command("member"))
            self.stdout.write(f"{user.username} is {options['role']} of {of.slug}.")
        elif members.remove(of, user, audit.command("member")):
            self.stdout.write(f"{user.username} is no longer a member of {of.slug}.")
        else:
            raise CommandError(f"{user.username} is no member of {of.slug}.")

    def _list(self, project: str | None) -> None:
        rows = Membership.objects.select_related("project", "user").order_by(
            "project__slug", "user__username"
        )
        for row in rows if project is None else rows.filter(project=project_of(project)):
            self.stdout.write("\t".join((row.project.slug, row.user.get_username(), row.role)))
