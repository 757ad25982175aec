"""`manage.py index`: bring the search index, the block ledger and the search for waste up to date."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from django.core.management.base import BaseCommand, CommandParser
from django.db import transaction

from recorder.ledger import follower as ledger
from recorder.ledger import state as ledger_state
from recorder.management.named_projects import projects_of
from recorder.management.progress_bar import Progress
from recorder.models import Project
from recorder.search import indexer
from recorder.waste import follower as waste
from recorder.waste import state as waste_state

PARTS = ("search", "ledger", "waste")


class Command(BaseCommand):
    """May run beside the server, which does the same in its idle time. An interrupted run is continued."""

    help = "Index what was recorded since the last run; a running server does so by itself."
    requires_system_checks: list[str] = []  # checks load every page; `make check` runs them

    def add_arguments(self, parser: CommandParser) -> None:
        """Name the project, what to make, and whether it is made anew."""
        parser.add_argument("--project", help="whose index to make anew; by default every project's")
        parser.add_argument("--rebuild", action="store_true", help="delete it first")
        parser.add_argument("--only", choices=PARTS, help="the search index, the block ledger, or waste")

    def handle(self, *, project: str | None, rebuild: bool, only: str | None, **_: Any) -> None:
        """Index."""
        found = projects_of(project)
        anew = found if rebuild else ()
        if only in (None, "search"):
            _index(anew)
        if only in (None, "ledger"):
            _follow(ledger, ledger_state.forget, anew)
        if only in (None, "waste"):
            _follow(waste, waste_state.forget, anew)


class _Followed(Protocol):
    """A module of tables that follow the journal."""

    def waiting(self) -> int:
        """Return how many lines are left."""

    def run_all(self, on_progress: Callable[[int], None]) -> None:
        """Take them all."""


def _index(anew: Iterable[Project]) -> None:
    for each in anew:
        indexer.rebuild(each.pk)
    progress = Progress(sys.stderr, indexer.waiting(), "events")
    try:
        indexer.run_all(progress.advance)
    finally:
        progress.close()


def _follow(followed: _Followed, forget: Callable[[int], None], anew: Iterable[Project]) -> None:
    with transaction.atomic():
        for each in anew:
            forget(each.pk)
    progress = Progress(sys.stderr, followed.waiting(), "events")
    try:
        followed.run_all(progress.advance)
    finally:
        progress.close()
