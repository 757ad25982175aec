"""`manage.py user`: create, list, disable and enable users."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.urls import reverse

from recorder.operations import audit
from recorder.operations.people import users
from recorder.operations.people.errors import Refused


class Command(BaseCommand):
    help = "Create, list, disable and enable users."
    requires_system_checks: list[str] = []  # system checks load every page; `make check` runs them

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="create a user and print a one-time sign-in link")
        create.add_argument("name")
        create.add_argument("--email", default="")
        create.add_argument("--superuser", action="store_true", help="admin of every project")
        actions.add_parser("list", help="list all users")
        for action, what in (
            ("disable", "sign a user out everywhere and end the tokens"),
            ("enable", "undo disable"),
        ):
            actions.add_parser(action, help=what).add_argument("name")

    def handle(self, *_: Any, action: str, **options: Any) -> None:
        try:
            if action == "create":
                self._create(options["name"], options["email"], is_superuser=options["superuser"])
            elif action == "list":
                self._list()
            else:
                users.set_active(found(options["name"]), audit.command("user"), is_active=action == "enable")
                self.stdout.write(f"{options['name']} is {action}d.")
        except Refused as error:
            raise CommandError(str(error)) from None

    def _create(self, name: str, email: str, *, is_superuser: bool) -> None:
        actor = audit.command("user")
        with transaction.atomic():
            user = users.create(name, actor, email=email, is_superuser=is_superuser)
            secret = users.make_link(user, actor)
        self.stdout.write(reverse("signin-link", args=[secret]))

    def _list(self) -> None:
        for user in User.objects.order_by("username").prefetch_related("memberships__project"):
            roles = [f"{each.project.slug}:{each.role}" for each in user.memberships.all()]
            what = "superuser" if user.is_superuser else ", ".join(sorted(roles)) or "no project"
            state = "active" if user.is_active else "disabled"
            self.stdout.write("\t".join((user.username, user.email, state, what)))


def found(name: str) -> User:
    """Return a user by name. Raises CommandError."""
    user = User.objects.filter(username__iexact=name).first()
    if user is None:
        raise CommandError(f"There is no user {name!r}.")
    return user
