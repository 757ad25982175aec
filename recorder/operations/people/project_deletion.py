"""Deletes a project for good, with all that belongs to it, in bounded transactions.

`begin` is one transaction: the project loses its name, tokens, members, invites, share links and search
index, so from its commit on it is hidden and nothing is recorded into it. `finish` then deletes its rows in
portions: the journal from the newest line to the oldest, the sessions one by one, then each other table that
refers to projects. It may be interrupted at any time: `resume` goes on. What stays is the row of the project
without its name, a row of `ProjectDeletion`, and the entries of the audit log.

Cost: each table is read a few times, whatever the number of portions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from django.apps import apps
from django.db import models, transaction
from django.db.models import Count, F, Sum
from django.utils import timezone

from recorder.database import project_lock, sql
from recorder.journal import read
from recorder.models import (
    AccessToken,
    AuditEntry,
    Deletion,
    Invite,
    JournalEvent,
    Membership,
    Project,
    ProjectDeletion,
    SearchState,
    Session,
    ShareLink,
)
from recorder.operations import audit, deletion
from recorder.operations.people.errors import Refused
from recorder.projection import removal
from recorder.search import documents, tables

PORTION = 1_000  # rows of a transaction
EVENTS = "recorder_eventrecord"
ACCESS: tuple[type[models.Model], ...] = (AccessToken, ShareLink, Invite, Membership)
# Of the models that refer to a project: those that stay, and those that have steps of their own.
STAY: tuple[type[models.Model], ...] = (AuditEntry, ProjectDeletion)
APART: tuple[type[models.Model], ...] = (JournalEvent, Session)

OnProgress = Callable[[int], None]


def preview(project: Project) -> dict[str, int]:
    """Return how many sessions, loops and events a project has."""
    found = Session.objects.filter(project=project).aggregate(
        sessions=Count("pk"), loops_=Sum("loops", default=0), events_=Sum("events", default=0)
    )
    return {"sessions": found["sessions"], "loops": found["loops_"], "events": found["events_"]}


def begin(project: Project, actor: audit.Actor, user: int | None = None) -> ProjectDeletion:
    """Take a project away from everybody in one transaction; `finish` deletes it.

    `user` is the primary key of the person who may watch the progress. Raises Refused if it is gone already.
    """
    with transaction.atomic():
        project_lock.lock(project.pk)
        here = Project.objects.select_for_update().filter(pk=project.pk).first()
        if here is None:
            raise Refused("The project was deleted already.")
        counts = preview(here)
        for model in ACCESS:
            models.QuerySet(model).filter(project=here).delete()
        documents.lock()
        SearchState.objects.filter(project=here).delete()
        tables.drop(here.pk)
        audit.record(here, actor, "project.delete", here.slug, before={**counts})
        begun = ProjectDeletion.objects.create(
            project=here,
            slug=here.slug,
            requested_by=actor.name,
            user=user,
            requested_at=timezone.now(),
            sessions=counts["sessions"],
            lines=counts["events"],
        )
        here.slug, here.title = f"{Project.GONE}{here.pk}", ""
        here.save(update_fields=["slug", "title"])
    return begun


def finish(begun: ProjectDeletion, on_progress: OnProgress = lambda _: None) -> ProjectDeletion:
    """Delete what is left of a project; return its row with the counts of what is gone.

    `on_progress` is called with the number of rows that each transaction deleted.
    """
    project = begun.project_id
    deletion.overwrite_deleted_bytes()
    for each in Deletion.objects.filter(project=project, finished_at=None).order_by("pk"):
        deletion.finish(each)
    for column, steps in (("deleted", _lines(project)), ("rows", _records(project))):
        for count in steps:
            ProjectDeletion.objects.filter(pk=begun.pk).update(**{column: F(column) + count})
            on_progress(count)
    begun.refresh_from_db()
    begun.finished_at = timezone.now()
    begun.save(update_fields=["finished_at"])
    return begun


def resume(on_progress: OnProgress = lambda _: None) -> list[ProjectDeletion]:
    """Finish the deletions that have begun; return them."""
    rows = ProjectDeletion.objects.filter(finished_at=None).order_by("pk")
    return [finish(each, on_progress) for each in rows]


def tables_of_projects() -> list[type[models.Model]]:
    """Return the models whose rows belong to a project, each after those that refer to it."""
    found = [
        model
        for model in apps.get_app_config("recorder").get_models()
        if model not in STAY and any(each.related_model is Project for each in model._meta.concrete_fields)
    ]
    ordered: list[type[models.Model]] = []

    def add(model: type[models.Model]) -> None:
        if model in ordered or model not in found:
            return
        for relation in model._meta.related_objects:
            if relation.related_model is not model:
                add(relation.related_model)
        ordered.append(model)

    for model in found:
        add(model)
    return ordered


def _lines(project: int) -> Iterator[int]:
    """Delete the journal of a project, from its newest line on: each line that is left stays readable."""
    below = 1 + int(sql.read("SELECT COALESCE(MAX(id), 0) FROM recorder_journalevent")[0][0])
    while True:
        newest = f"WHERE project_id = %s AND id < %s ORDER BY id DESC LIMIT {PORTION}"
        rows = sql.read(f"SELECT id FROM {read.LINES} {newest}", project, below)  # noqa: S608  names
        if not rows:
            return
        below = rows[-1][0]
        ids = sql.list_param([line for (line,) in rows])
        with transaction.atomic():
            project_lock.lock(project)
            sql.write(f"DELETE FROM {EVENTS} WHERE {sql.in_list('id')}", [[ids]])  # noqa: S608  names
            sql.write(f"DELETE FROM {read.LINES} WHERE {sql.in_list('id')}", [[ids]])  # noqa: S608
        yield len(rows)


def _records(project: int) -> Iterator[int]:
    models_left = [model for model in tables_of_projects() if model not in APART]
    of_sessions = [model for model in models_left if _refers_to(model, Session)]
    for model in of_sessions:
        yield from _rows(model, project)
    yield from _sessions(project)
    for model in models_left:
        yield from _rows(model, project)


def _sessions(project: int) -> Iterator[int]:
    while pks := list(
        Session.objects.filter(project=project).order_by("pk").values_list("pk", flat=True)[:50]
    ):
        for session in pks:
            with transaction.atomic():
                removal.unlink(session)
            while True:
                with transaction.atomic():
                    count = removal.delete_some(session)
                yield count or 1
                if not count:
                    break


def _rows(model: type[models.Model], project: int) -> Iterator[int]:
    """Delete the rows of a project in a table, in the order of their primary keys."""
    last = 0
    while True:
        found: models.QuerySet[Any] = (
            models.QuerySet(model).filter(project=project, pk__gt=last).order_by("pk")
        )
        pks: Sequence[Any] = list(found.values_list("pk", flat=True)[:PORTION])
        if not pks:
            return
        last = pks[-1]
        with transaction.atomic():
            models.QuerySet(model).filter(pk__in=pks).delete()
        yield len(pks)


def _refers_to(model: type[models.Model], target: type[models.Model]) -> bool:
    return any(each.related_model is target for each in model._meta.concrete_fields)
