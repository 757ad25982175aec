"""Endpoints that read and write notes, scores and bookmarks."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from ninja import Path, Query, Router, Status
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from dashboard.api import schemas
from dashboard.api.auth import acting, author_of, project_of, writer
from dashboard.api.params import ID_MAX, ById, OfNotes, Text
from dashboard.api.queries.notes import NOTES, SCORES, note_items, note_of, score_items
from dashboard.security.access import may
from recorder.access.rights import Right, least_role
from recorder.models import Note, Project
from recorder.notes import definitions, targets, write
from recorder.notes.errors import Refused
from recorder.notes.write import Author
from recorder.operations.audited import scores as audited
from recorder.operations.audited.notes import delete_note

router = Router()
Key = Annotated[int, Field(ge=0, le=ID_MAX)]
Value = StrictBool | StrictInt | StrictFloat | StrictStr


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class TargetBody(_Body):
    """The narrowest of what is named. `loop`: id of a record, or a loop_id of its newest run or of `run`.

    `turn` is the position in the loop, from 0; `event` the id of a recorded event; `evaluation` of a group.
    """

    session_id: Text
    loop: Annotated[StrictInt, Field(ge=0, le=ID_MAX)] | Text | None = None
    run: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None
    turn: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
    event: Key | None = None
    evaluation: Key | None = None


class NewNote(_Body):
    """An entry to write. Without `kind` it is a score if it has a `name`, else a note.

    `id` is the sender's own: an entry with the same one is changed instead of written again. A token writes
    with source `code`, or `judge` with the judge's name as `author`.
    """

    target: TargetBody | None = None
    kind: Literal["note", "score", "bookmark"] | None = None
    name: Text = ""
    value: Value | None = None
    text: str = ""
    id: str = ""
    parent: Key | None = None
    source: Literal["human", "code", "judge"] | None = None
    author: Annotated[str, Field(max_length=200)] = ""


class NoteChange(_Body):
    text: str | None = None
    value: Value | None = None
    resolved: StrictBool | None = None


class NewScore(_Body):
    """The definition of a score. Without `targets` and `sources` it is given on all, by all."""

    name: Text
    kind: Literal["number", "category", "boolean"]
    min: float | None = None
    max: float | None = None
    categories: list[str] = []
    meaning: str = ""
    targets: list[str] = []
    sources: list[str] = []


@router.get("/notes", response=schemas.Notes)
def notes(request: HttpRequest, params: Query[OfNotes]) -> schemas.Notes:
    """List notes, scores and bookmarks in the order in which they were written."""
    return NOTES.page(project_of(request), params)


@router.post("/notes", response={200: schemas.NoteItem, 201: schemas.NoteItem}, auth=writer)
def add(request: HttpRequest, body: NewNote) -> Status[schemas.NoteItem]:
    """Write a note, score or bookmark; 200 if it changed an existing one."""
    project = project_of(request)
    written = _write(project, _author(request, body), body)
    return Status(201 if written.is_new else 200, note_items(project, [written.note])[0])


@router.patch("/notes/{pk}", response=schemas.NoteItem, auth=writer)
def change(request: HttpRequest, pk: Path[Key], body: NoteChange) -> schemas.NoteItem:
    """Change the text or value of an entry of one's own, or resolve a note."""
    project, author = project_of(request), author_of(request)
    note = _note_or_404(project, pk)
    if body.text is not None or body.value is not None:
        write.edit(note, author, text=body.text, value=body.value)
    if body.resolved is not None:
        if author.user is None:
            write.require_own(note, author)
        write.resolve(note, author, is_resolved=body.resolved)
    return note_items(project, [note])[0]


@router.delete("/notes/{pk}", response={204: None}, auth=writer)
def delete(request: HttpRequest, pk: Path[Key]) -> Status[None]:
    """Delete an entry of one's own, with its replies; admins any."""
    project = project_of(request)
    delete_note(project, _note_or_404(project, pk), author_of(request), acting(request))
    return Status(204, None)


@router.get("/scores", response=schemas.Scores)
def scores(request: HttpRequest, params: Query[ById]) -> schemas.Scores:
    """List the definitions of scores."""
    return SCORES.page(project_of(request), params)


@router.post("/scores", response={201: schemas.ScoreItem}, auth=writer)
def define(request: HttpRequest, body: NewScore) -> Status[schemas.ScoreItem]:
    """Define a score; admins only."""
    project, author = project_of(request), _admin(request)
    draft = definitions.Draft(
        body.name,
        body.kind,
        body.min,
        body.max,
        body.categories,
        body.meaning,
        body.targets,
        body.sources,
    )
    return Status(
        201, score_items(project, [audited.define(project, draft, author.name, acting(request))])[0]
    )


@router.delete("/scores/{name}", response={204: None}, auth=writer)
def remove(request: HttpRequest, name: Path[Text]) -> Status[None]:
    """Delete a definition that no score uses; admins only."""
    _admin(request)
    if not audited.remove(project_of(request), name, acting(request)):
        raise Http404
    return Status(204, None)


def _write(project: Project, author: Author, body: NewNote) -> write.Written:
    kind = body.kind or ("score" if body.name else "note")
    parent = None if body.parent is None else _note_or_404(project, body.parent)
    if parent is not None and kind == "note":
        return write.add_note(
            project.pk, author, targets.of_note(parent), body.text, given_id=body.id, parent=parent
        )
    if body.target is None:
        raise Refused("`target` is missing: {session_id, loop?, turn?, event?, evaluation?}.", "bad_body")
    target = targets.find(project.pk, **body.target.model_dump())
    if kind == "bookmark":
        if author.user is None:
            raise Refused("Bookmarks are people's: a token writes notes and scores.")
        return write.add_bookmark(project.pk, author, target, body.text)
    if kind == "note":
        return write.add_note(project.pk, author, target, body.text, given_id=body.id)
    if not body.name or body.value is None:
        raise Refused("A score has a `name` and a `value`.", "bad_body")
    return write.give_score(
        project.pk, author, target, body.name, body.value, text=body.text, given_id=body.id
    )


def _author(request: HttpRequest, body: NewNote) -> Author:
    author = author_of(request)
    if body.source not in (None, "human") and author.user is not None:
        raise Refused("A signed-in user writes with source human; programs use a token.")
    if author.user is None and body.source == "human":
        raise Refused("A token writes with source code or judge.")
    if author.user is not None:
        return author
    if "\0" in body.author:
        raise Refused("`author` has a NUL character.")
    return replace(author, source=body.source or "code", name=body.author.strip() or author.name)


def _admin(request: HttpRequest) -> Author:
    author = author_of(request)
    if author.user is None or not may(author.user, project_of(request), Right.CHANGE_SETTINGS):
        raise PermissionDenied(f"Only {least_role(Right.CHANGE_SETTINGS)}s define scores.")
    return author


def _note_or_404(project: Project, pk: int) -> Note:
    note = note_of(project, pk)
    if note is None:
        raise Http404
    return note
