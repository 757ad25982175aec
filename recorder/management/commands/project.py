"""`manage.py project`: create, list, archive, restore and delete projects."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from recorder.management.named_projects import project_of
from recorder.management.progress_bar import Progress
from recorder.models import Project, ProjectDeletion
from recorder.operations import audit
from recorder.operations.people import project_deletion, projects
from recorder.operations.people.errors import Refused


class Command(BaseCommand):
    """Works beside the server. `project resume` finishes a deletion that was interrupted."""

    help = "Create, list, archive, restore and delete projects."
    requires_system_checks: list[str] = []  # checks load every page; `make check` runs them

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Name the project."""
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="create a project")
        create.add_argument("name", help="its name in addresses: letters, digits, - and _")
        create.add_argument("--title", default="", help="its name on pages")
        actions.add_parser("list", help="list all projects")
        for action, what in (
            ("archive", "make a project read-only: it records nothing until it is restored"),
            ("restore", "undo archive"),
            ("delete", "delete a project for good, with all that was recorded into it"),
        ):
            actions.add_parser(action, help=what).add_argument("name")
        actions.choices["delete"].add_argument("--yes", action="store_true", help="without asking")
        actions.add_parser("resume", help="finish the deletions that were interrupted")

    def handle(self, *_: Any, action: str, **options: Any) -> None:
        try:
            getattr(self, f"_{action}")(**options)
        except Refused as error:
            raise CommandError(str(error)) from None

    def _create(self, *, name: str, title: str, **_: Any) -> None:
        projects.create(name, title, audit.command("project"))
        self.stdout.write(f"Created the project {name}.")

    def _list(self, **_: Any) -> None:
        for project in Project.objects.order_by("slug"):
            archived = "\tarchived" if project.archived_at else ""
            self.stdout.write(f"{project.slug}\t{project.title}{archived}")

    def _archive(self, *, name: str, **_: Any) -> None:
        projects.archive(project_of(name), audit.command("project"))
        self.stdout.write(f"{name} is archived: it can be read, and records nothing.")

    def _restore(self, *, name: str, **_: Any) -> None:
        projects.restore(project_of(name), audit.command("project"))
        self.stdout.write(f"{name} is restored.")

    def _delete(self, *, name: str, yes: bool, **_: Any) -> None:
        project = project_of(name)
        going = project_deletion.preview(project)
        self.stdout.write(
            f"{name}: {going['sessions']:,} sessions, {going['loops']:,} loops, {going['events']:,} events, "
            "its notes, views, tokens, members and settings"
        )
        if not yes and not _is_confirmed(name):
            raise CommandError("nothing was deleted")
        begun = project_deletion.begin(project, audit.command("project"))
        progress = Progress(sys.stderr, begun.lines, "lines")
        try:
            done = project_deletion.finish(begun, progress.advance)
        finally:
            progress.close()
        self.stdout.write(_summary(done))

    def _resume(self, **_: Any) -> None:
        done = project_deletion.resume()
        for each in done:
            self.stdout.write(_summary(each))
        self.stdout.write(f"finished {len(done)} {'deletion' if len(done) == 1 else 'deletions'} of projects")


def _is_confirmed(name: str) -> bool:
    try:
        return input("Type the name of the project to delete it for good: ").strip() == name
    except EOFError:
        return False


def _summary(done: ProjectDeletion) -> str:
    return (
        f"deleted {done.slug}: {done.sessions:,} sessions, {done.deleted:,} lines, {done.rows:,} other rows"
    )
