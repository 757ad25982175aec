"""Reads what the forms show: the target, the scores that can be given on it, and an entry with its author."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dashboard.pages.notes.params import KINDS, NotesParams
from dashboard.web import links
from recorder.models import Note, Project, ScoreDefinition, Session
from recorder.notes import definitions, mentions, targets
from recorder.notes.targets import Target


@dataclass(frozen=True, slots=True)
class Choice:
    """A score that can be given, or a kind of entry, with the URL of its form."""

    name: str
    url: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Form:
    """The form of one entry on one target."""

    url: str
    kind: str
    place: str
    kinds: Sequence[Choice]
    scores: Sequence[Choice]
    score: ScoreDefinition | None
    takes: str
    choices: Sequence[str]
    members: Sequence[str]


def session_of(project: Project, pk: int) -> Session | None:
    return Session.objects.filter(project=project, pk=pk).only("session_id", "title").first()


def target_of(session: Session, params: NotesParams) -> Target:
    """Return the target of a form. Raises NoTarget."""
    return targets.find(
        session.project_id,
        session.session_id,
        loop=params.loop,
        turn=params.turn,
        event=params.event,
        evaluation=params.evaluation,
    )


def form(project: Project, session: Session, params: NotesParams, target: Target) -> Form:
    """Return the form. Two queries."""

    def url(**change: str) -> str:
        return params.url(project.slug, session.pk, **change)

    return _form(project, params, target.target, place(target), url)


def sessions_of(project: Project, pks: Sequence[int]) -> list[Session]:
    """Return the chosen sessions of a project."""
    found = Session.objects.filter(project=project, pk__in=pks).order_by("pk")
    return list(found.only("session_id", "title"))


def form_of_several(project: Project, sessions: Sequence[Session], params: NotesParams) -> Form:
    """Return the form of an entry on each of some sessions. Two queries."""

    def url(kind: str = params.kind, name: str = params.name) -> str:
        return links.new_note_on_several(project.slug, kind, [each.pk for each in sessions], name)

    number = "session" if len(sessions) == 1 else f"each of {len(sessions)} sessions"
    return _form(project, params, Note.Target.SESSION, number, url)


def _form(project: Project, params: NotesParams, target: str, where: str, url: Callable[..., str]) -> Form:
    defined = [
        found
        for found in ScoreDefinition.objects.filter(project=project).order_by("name")
        if (not found.targets or target in found.targets) and (not found.sources or "human" in found.sources)
    ]
    score = next((found for found in defined if found.name == params.name), defined[0] if defined else None)
    return Form(
        url(),
        params.kind,
        where,
        [Choice(kind.capitalize(), url(kind=kind), kind == params.kind) for kind in KINDS],
        [Choice(found.name, url(name=found.name), found is score) for found in defined],
        score,
        definitions.takes(score) if score else "",
        definitions.choices(score) if score else [],
        sorted(mentions.members(project.pk)) if params.kind == "note" else [],
    )


def place(target: Target) -> str:
    """Return what a target is, as words: "turn 3"."""
    if target.target == Note.Target.TURN:
        return f"turn {(target.turn or 0) + 1}"
    return f"the {Note.Target(target.target).label.lower()}"


def note_of(project: Project, pk: int) -> Note | None:
    """Return an entry; a reply's page is that of its note."""
    found = Note.objects.filter(project=project, pk=pk).select_related("project", "parent__project").first()
    return found.parent if found is not None and found.parent is not None else found


def reply_of(note: Note, pk: int) -> Note | None:
    """Return a note or one of its replies, by primary key."""
    return note if note.pk == pk else note.replies.filter(pk=pk).first()


def session_by_id(project: Project, note: Note) -> Session | None:
    """Return the session of an entry, None if it is gone."""
    return Session.objects.filter(project=project, session_id=note.session_id).only("pk").first()


def thread(note: Note) -> Sequence[int]:
    """Return the primary keys of a note and its replies."""
    return [note.pk, *note.replies.values_list("pk", flat=True)]
