"""`loopscope search`: the sessions that a query selects and their hits, as text or as lines of JSON."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from dashboard.query_conditions.conditions import session_condition
from dashboard.query_language import QueryError, parse
from dashboard.shared.search.queries.find import hits_of
from dashboard.shared.search.queries.hits import Hit, hits
from dashboard.shared.session_json.queries.sessions import session_items
from dashboard.shared.session_json.schemas import SessionItem, rfc3339
from recorder.core.content.text import clean, plural
from recorder.management.named_projects import project_of
from recorder.models import Project, Session

LIMIT, LIMIT_MAX = 20, 1_000
LINE = 200  # characters of one


@dataclass(frozen=True, slots=True)
class Found:
    """A session with its newest hits, and how many more it has."""

    item: SessionItem
    hits: Sequence[Hit]
    more: int


class Command(BaseCommand):
    help = (
        "Search sessions by a query, newest activity first; docs/reference/query-language.md has the grammar."
    )
    requires_system_checks: list[str] = []  # system checks load every page; `make check` runs them

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("query", help="as in the search box, quoted as one argument")
        parser.add_argument("--project", default="default", help="slug of the project")
        parser.add_argument("--limit", type=int, default=LIMIT, help=f"sessions at most, up to {LIMIT_MAX:,}")
        parser.add_argument(
            "--json",
            action="store_true",
            help="one line of JSON a session with its hits, as the read API has them",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        project = project_of(options["project"])
        if not 1 <= options["limit"] <= LIMIT_MAX:
            raise CommandError(f"The limit is a number from 1 to {LIMIT_MAX:,}.")
        for found in self._found(project, options["query"], options["limit"]):
            self.stdout.write(_json(found) if options["json"] else _text(found))

    def _found(self, project: Project, text: str, limit: int) -> list[Found]:
        """Return the sessions. Exits with status 2 for a query in error, and marks its position."""
        try:
            node = parse(text)
            condition = session_condition(project.pk, node, timezone.now())
        except QueryError as error:
            self.stderr.write(marked(text, error))
            sys.exit(2)
        matching = Session.objects.filter(condition, project=project).order_by("-last_event_at", "-pk")
        sessions = list(matching[:limit])
        found = hits_of(project.pk, node, [session.pk for session in sessions])
        shown = hits(project.pk, node, (hit for each in found for hit in each.hits))
        items = session_items(project, sessions)
        return [
            Found(item, [shown[hit.pk] for hit in each.hits], each.more)
            for item, each in zip(items, found, strict=True)
        ]


def marked(text: str, error: QueryError) -> str:
    """Return the query with its error underlined, the message, and the corrected query if there is one."""
    line = "".join(char if char.isprintable() else " " for char in text)
    lines = [line, " " * error.at + "^" * max(error.length, 1), error.message]
    if (fixed := error.fixed(text)) is not None:
        lines.append(f"Write: {fixed}")
    return "\n".join(lines)


def _json(found: Found) -> str:
    made = [
        {
            "kind": hit.kind,
            "loop": hit.loop,
            "turn": hit.turn,
            "event": hit.event,
            "at": hit.at and rfc3339(hit.at),
            "snippet": hit.snippet,
            "ranges": hit.ranges,
        }
        for hit in found.hits
    ]
    return json.dumps(found.item.model_dump(mode="json") | {"hits": made, "more": found.more})


def _text(found: Found) -> str:
    item = found.item
    state = "stale" if item.stale else item.outcome or item.status
    cost = f"${item.cost_usd}" if item.cost_usd is not None else "no cost"
    about = f"({_line(item.agent_id or '')}, {cost}, {plural(item.turns, 'turn')})"
    lines = [
        f"{rfc3339(item.last_active_at)[:16]}Z  {state:9}  {_line(item.session_id)}",
        f"    {_line(item.title or '') or 'No title'} {about}",
        *map(_hit, found.hits),
    ]
    if found.more:
        lines.append(f"    {plural(found.more, 'more hit')}")
    return "\n".join(lines)


def _hit(hit: Hit) -> str:
    return f"    {hit.kind.replace('_', ' '):11}  {_line(hit.snippet) or 'The text was pruned.'}"


def _line(text: str) -> str:
    """Return recorded text as one line without what a terminal would obey."""
    return clean("".join(char if char.isprintable() else " " for char in text[:LINE]))
