"""`manage.py project`: create and list projects."""

from __future__ import annotations

import re
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from recorder.models import Project

NAME = re.compile(r"[a-zA-Z0-9][-\w]{0,63}", re.ASCII)


class Command(BaseCommand):
    help = "Create and list projects."
    requires_system_checks: list[str] = []  # they load every page; `make check` runs them

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="create a project")
        create.add_argument("name", help="its name in addresses: letters, digits, - and _")
        create.add_argument("--title", default="", help="its name on pages")
        actions.add_parser("list", help="list all projects")

    def handle(self, *_: Any, action: str, **options: Any) -> None:
        if action == "create":
            self._create(options["name"], options["title"])
        else:
            for project in Project.objects.order_by("slug"):
                self.stdout.write(f"{project.slug}\t{project.title}")

    def _create(self, name: str, title: str) -> None:
        if not NAME.fullmatch(name):
            raise CommandError("A project's name has 1 to 64 letters, digits, - and _.")
        if len(title) > 200:
            raise CommandError("A title has at most 200 characters.")
        _, is_new = Project.objects.get_or_create(slug=name, defaults={"title": title})
        if not is_new:
            raise CommandError(f"There is a project {name!r} already.")
        self.stdout.write(f"Created the project {name}.")
