"""`manage.py session delete`: delete a recorded session for good."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from dashboard.management.commands.search import marked
from dashboard.query_conditions.conditions import session_condition
from dashboard.query_language import QueryError, parse
from recorder.core.content.text import plural
from recorder.management.named_projects import project_of
from recorder.management.progress_bar import Progress
from recorder.models import Deletion, Project, Session
from recorder.operations import deletion
from recorder.operations.audit import command
from recorder.operations.deletion import Preview
from recorder.search import deleted_words

AT_ONCE = 100  # sessions hidden in one transaction


class Command(BaseCommand):
    """Works beside the server, in small transactions. The next one continues an interrupted deletion."""

    help = "Delete recorded sessions for good."
    requires_system_checks: list[str] = []  # system checks load every page; `make check` runs them

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Name the session."""
        actions = parser.add_subparsers(dest="action", required=True)
        delete = actions.add_parser("delete", help="delete a session: its lines, records and costs")
        which = delete.add_mutually_exclusive_group(required=True)
        which.add_argument("session_id", nargs="?")
        which.add_argument(
            "--query", help='all sessions that a query selects, such as those of a person: "user:ada"'
        )
        delete.add_argument("--project", default="default")
        delete.add_argument(
            "--with-sub-agents", action="store_true", help="and the sessions of its sub-agents"
        )
        delete.add_argument("--yes", action="store_true", help="without asking")
        resume = actions.add_parser("resume", help="finish the deletions that were interrupted")
        resume.add_argument("--project", help="by default every project")

    def handle(self, *_: Any, action: str, project: str | None, **options: Any) -> None:
        """Delete it, or finish what was begun."""
        within = None if project is None else project_of(project)
        if action == "resume":
            self.stdout.write(f"finished {plural(len(deletion.resume(within)), 'deletion')}")
            deleted_words.remove(within.pk if within else None)
        elif within is not None:
            deletion.resume(within)
            if options["query"] is not None:
                self._delete_all(within, **options)
            else:
                self._delete(within, **options)
            deleted_words.remove(within.pk)

    def _delete_all(
        self, project: Project, *, query: str, with_sub_agents: bool, yes: bool, **_: Any
    ) -> None:
        """Delete the sessions of a query, `AT_ONCE` in one transaction; the next run continues."""
        try:
            condition = session_condition(project.pk, parse(query), timezone.now())
        except QueryError as error:
            self.stderr.write(marked(query, error))
            sys.exit(2)
        if not query.strip():
            raise CommandError("A query is needed: an empty one would select every session.")
        matching = Session.objects.filter(condition, project=project).order_by("pk")
        number = matching.count()
        verb = "matches" if number == 1 else "match"
        self.stdout.write(f"{plural(number, 'session')} of {project.slug} {verb} {query}")
        if number and not yes and not self._is_confirmed(str(number), "number of the sessions"):
            raise CommandError("nothing was deleted")
        done: list[Deletion] = []
        while found := list(matching[:AT_ONCE]):
            going = found + deletion.sub_agents(found) if with_sub_agents else found
            done += map(deletion.finish, deletion.begin(project, going, command("session")))
        self.stdout.write(f"deleted: {_total(done)}")

    def _delete(
        self, project: Project, *, session_id: str, with_sub_agents: bool, yes: bool, **_: Any
    ) -> None:
        try:
            sessions = deletion.find(project, [session_id], with_sub_agents=with_sub_agents)
        except deletion.NotFound as error:
            raise CommandError(str(error)) from None
        going = [deletion.preview(each) for each in sessions]
        self._show(going)
        if not with_sub_agents and (more := deletion.sub_agents(sessions)):
            kept = f"{plural(len(more), 'session')} of its sub-agents"
            self.stdout.write(f"  kept: {kept}; --with-sub-agents deletes them too")
        if not yes and not self._is_confirmed(session_id):
            raise CommandError("nothing was deleted")
        progress = Progress(sys.stderr, sum(each.lines for each in going), "lines")
        try:
            done = [
                deletion.finish(each, progress.advance)
                for each in deletion.begin(project, sessions, command("session"))
            ]
        finally:
            progress.close()
        self.stdout.write(f"deleted: {_total(done)}")

    def _show(self, going: list[Preview]) -> None:
        for each in going:
            counts = f"{plural(each.loops, 'loop')}, {plural(each.lines, 'event')}, {each.size:,} bytes"
            self.stdout.write(f"  {each.session.session_id}: {counts}")

    def _is_confirmed(self, expected: str, what: str = "id of the session") -> bool:
        try:
            return input(f"Type the {what} to delete for good: ").strip() == expected
        except EOFError:
            return False


def _total(done: list[Deletion]) -> str:
    loops, lines = (sum(getattr(each, name) for each in done) for name in ("loops", "lines"))
    size = sum(each.size for each in done)
    counts = f"{plural(loops, 'loop')}, {plural(lines, 'event')}, {size:,} bytes"
    return f"{plural(len(done), 'session')}: {counts}"
