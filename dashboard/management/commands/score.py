"""`manage.py score`: define the scores of a project, list and delete definitions."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from recorder.management.named_projects import project_of
from recorder.models import Note, ScoreDefinition
from recorder.notes import definitions
from recorder.notes.errors import Refused
from recorder.operations import audit
from recorder.operations.audited import scores

ACTOR = audit.command("score")


class Command(BaseCommand):
    help = "Define the scores of a project, list and delete definitions."
    requires_system_checks: list[str] = []  # system checks load every page; `make check` runs them

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="define a score")
        create.add_argument("name")
        create.add_argument("--kind", choices=ScoreDefinition.Kind.values, default="number")
        create.add_argument("--min", type=float, dest="least", help="of a number")
        create.add_argument("--max", type=float, dest="most", help="of a number")
        create.add_argument("--categories", type=_words, default=[], help="comma-separated")
        create.add_argument("--meaning", default="")
        create.add_argument(
            "--targets", type=_words, default=[], help=f"of {', '.join(Note.Target.values)}; default all"
        )
        create.add_argument(
            "--sources", type=_words, default=[], help=f"of {', '.join(Note.Source.values)}; default all"
        )
        delete = actions.add_parser("delete", help="delete a definition that no score uses")
        delete.add_argument("name")
        for action in (create, delete, actions.add_parser("list", help="list the definitions")):
            action.add_argument("--project", default="default")

    def handle(self, *_: Any, action: str, **options: Any) -> None:
        project = project_of(options["project"])
        try:
            if action == "create":
                names = definitions.Draft.__dataclass_fields__
                draft = definitions.Draft(**{name: options[name] for name in names})
                scores.define(project, draft, "command", ACTOR)
                self.stdout.write(f"Defined the score {draft.name}.")
            elif action == "delete" and not scores.remove(project, options["name"], ACTOR):
                raise CommandError(f"The project defines no score {options['name']!r}.")
        except Refused as error:
            raise CommandError(str(error)) from None
        if action == "list":
            for found in ScoreDefinition.objects.filter(project=project).order_by("name"):
                self.stdout.write(f"{found.name}\t{definitions.takes(found)}\t{found.meaning}")


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
