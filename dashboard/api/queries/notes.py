"""The lists of notes, scores and bookmarks, and of the definitions of scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Count, QuerySet

from dashboard.api import schemas
from dashboard.api.params import ById, OfNotes
from dashboard.api.queries.list_endpoint import ListEndpoint, by_id, filtered
from dashboard.web import links
from recorder.models import Note, ParallelGroupRecord, Project, ScoreDefinition, Session
from recorder.notes import revisions


def note_items(project: Project, rows: Sequence[Note]) -> list[schemas.NoteItem]:
    """Return entries as items, with the URLs of their places. Two queries."""
    ids = {row.session_id for row in rows}
    sessions = dict(
        Session.objects.filter(project=project, session_id__in=ids).values_list("session_id", "pk")
    )
    groups = _groups(sessions, rows)
    return [_item(project, row, sessions.get(row.session_id), groups) for row in rows]


def note_of(project: Project, pk: int) -> Note | None:
    """Return an entry of the project."""
    return Note.objects.filter(project=project, pk=pk).first()


def note_counts(project: Project, session_id: str, at: int | None = None) -> schemas.NoteCounts:
    """Return how many entries a session has, as of event `at` if given. One query."""
    rows = filtered(Note.objects.filter(project=project, session_id=session_id), event__lte=at)
    counts = dict(rows.order_by().values_list("kind").annotate(n=Count("pk")))
    return schemas.NoteCounts(
        notes=counts.get("note", 0), scores=counts.get("score", 0), bookmarks=counts.get("bookmark", 0)
    )


def _groups(sessions: dict[str, int], rows: Sequence[Note]) -> dict[tuple[str, int], int]:
    if not any(row.group is not None for row in rows):
        return {}
    groups = ParallelGroupRecord.objects.filter(session__in=sessions.values())
    rows_found = groups.values_list("session__session_id", "ordinal", "pk")
    return {(session_id, ordinal): pk for session_id, ordinal, pk in rows_found}


def _item(
    project: Project, row: Note, session: int | None, groups: dict[tuple[str, int], int]
) -> schemas.NoteItem:
    evaluation = None if row.group is None else groups.get((row.session_id, row.group))
    kinds: Any = {"type": row.target, "kind": row.kind, "source": row.source}
    return schemas.NoteItem(
        id=row.pk,
        target=schemas.TargetItem(
            type=kinds["type"],
            session_id=row.session_id,
            loop=row.loop,
            loop_id=row.loop_id or None,
            run=row.run or None,
            turn=row.turn,
            event=row.event,
            evaluation=evaluation,
        ),
        kind=kinds["kind"],
        name=row.name or None,
        value=row.value,
        text=row.text or None,
        author=row.author,
        source=kinds["source"],
        at=row.created_at,
        edited_at=row.edited_at,
        parent=row.parent_id,
        resolved_at=row.resolved_at,
        resolved_by=row.resolved_by or None,
        given_id=row.given_id or None,
        url=None
        if session is None
        else links.note(project.slug, session, row.pk, loop=row.loop, turn=row.turn, evaluation=evaluation),
    )


def _rows(project: Project, params: OfNotes) -> QuerySet[Note]:
    return filtered(
        Note.objects.filter(project=project),
        session_id=params.session_id,
        kind=params.kind,
        name=params.name,
        source=params.source,
        event__lte=params.at,
    )


def _items(project: Project, params: OfNotes, rows: Sequence[Note]) -> list[schemas.NoteItem]:
    if params.at is not None:
        revisions.restore(rows, params.at)
    return note_items(project, rows)


def score_items(project: Project, rows: Sequence[ScoreDefinition]) -> list[schemas.ScoreItem]:
    """Return definitions as items, with the numbers of scores given. One query."""
    scores = Note.objects.filter(project=project, kind=Note.Kind.SCORE, name__in=[row.name for row in rows])
    counts = dict(scores.values_list("name").annotate(given=Count("pk")))
    return [
        schemas.ScoreItem(
            name=row.name,
            kind=row.kind,  # type: ignore[arg-type]  # one of ScoreDefinition.Kind
            min=row.least,
            max=row.most,
            categories=row.categories,
            meaning=row.meaning or None,
            targets=row.targets,
            sources=row.sources,
            given=counts.get(row.name, 0),
        )
        for row in rows
    ]


def _score_rows(project: Project, _: ById) -> QuerySet[ScoreDefinition]:
    return ScoreDefinition.objects.filter(project=project)


def _score_items(project: Project, _: ById, rows: Sequence[ScoreDefinition]) -> list[schemas.ScoreItem]:
    return score_items(project, rows)


NOTES = ListEndpoint(response=schemas.Notes, rows=_rows, cut=by_id, items=_items)
SCORES = ListEndpoint(response=schemas.Scores, rows=_score_rows, cut=by_id, items=_score_items)
