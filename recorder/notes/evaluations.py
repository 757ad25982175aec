"""Writes the evaluations that telemetry reports: a score, or a note where no definition takes it.

A definition takes an evaluation by its name, with `_` in place of what no name of a score may have: a
number its value, a category its label, yes or no a label such as `pass`, or a value of 1 or 0. The first
evaluation of a name without a definition defines it: a number if it has a value, else yes or no if its label
says so. An evaluation is written once, whatever is sent again; if later spans show that it is about
something else, it moves there. One that was deleted stays so. It mentions no user, as its text is often that
of a model.

Cost: a fixed number of queries for `AT_ONCE` evaluations, and three for a name that is defined. The index of
a session is read once for all of its evaluations that move, and not for new ones.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import cached_property, partial
from hashlib import sha256

from django.db import transaction
from django.utils import timezone

from recorder.core.content.text import clean
from recorder.core.formats.otlp.spans.attributes import moment
from recorder.core.formats.otlp.spans.content.evaluations import Evaluation
from recorder.journal.spans.evaluations import PlacedEvaluation
from recorder.models import LoopRecord, Note, Project, ScoreDefinition, Session, Turn
from recorder.notes import definitions, search
from recorder.notes.definitions import Draft, Value
from recorder.notes.errors import Refused
from recorder.notes.targets import Target
from recorder.notes.write import AUTHOR_CHARS
from recorder.pubsub import invalidation
from recorder.pubsub.invalidation import Invalidation
from recorder.search.documents import Place
from recorder.search.notes import NoteText, add_notes, remove_notes

AT_ONCE = 500  # evaluations that are written together
MAKER = "OpenTelemetry"  # of the definitions that evaluations made
DEFINED_MAX = 50  # of them in a project
_NO_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_YES = {"pass": True, "true": True, "yes": True, "fail": False, "false": False, "no": False}
_PLACE = ("target", "session_id", "loop_id", "run", "loop", "turn", "group", "event")


def write_all(by_project: Mapping[int, Sequence[PlacedEvaluation]]) -> None:
    """Write evaluations in the transaction of their lines, whose records are written.

    All projects of the transaction are locked by then: the search index has one lock for all.
    """
    for project, found in by_project.items():
        if found:
            _write(project, found)


def _write(project: int, found: Sequence[PlacedEvaluation]) -> None:
    by_key = {_key(each): each for each in found}  # of several places the last one counts
    new = {_key(each) for each in found if not each.has_moved}
    search.lock()
    scores = _Scores(project)
    keys = list(by_key)
    for start in range(0, len(keys), AT_ONCE):
        portion = {key: by_key[key] for key in keys[start : start + AT_ONCE]}
        _write_portion(project, portion, new, scores)


def _write_portion(
    project: int, by_key: Mapping[str, PlacedEvaluation], new: Collection[str], scores: _Scores
) -> None:
    """Write evaluations by key; those that are not in `new` only if they are stored."""
    stored = {note.key: note for note in Note.objects.filter(project=project, key__in=list(by_key))}
    places = _Places(project, by_key.values())
    scores.load(by_key.values())
    added: list[Note] = []
    moved: dict[Note, Target] = {}
    for key, placed in by_key.items():
        target, note = places.target(placed), stored.get(key)
        if target is None or (note is None and key not in new):
            continue
        if note is None:
            added.append(scores.note(placed, target, key))
        elif any(getattr(note, name) != getattr(target, name) for name in _PLACE[1:-1]):
            moved[note] = target
    if moved:
        _move(project, moved)
    Note.objects.bulk_create(added)
    if changed := [*added, *moved]:
        add_notes(project, [NoteText(note.pk, places.of(note), note.text, _time(note)) for note in changed])
        transaction.on_commit(partial(invalidation.publish, places.touched(changed)))


def _move(project: int, targets: Mapping[Note, Target]) -> None:
    """Give notes other targets, and remove them from the index. A session that is gone has none there."""
    names = {note.session_id for note in targets}
    sessions = Session.objects.filter(project=project, session_id__in=names).values_list("pk", flat=True)
    remove_notes(project, [note.pk for note in targets], list(sessions))
    for note, target in targets.items():
        for name in _PLACE:
            setattr(note, name, getattr(target, name))
    Note.objects.bulk_update(targets, _PLACE)


def _time(note: Note) -> datetime:
    return note.edited_at or note.created_at


class _Places:
    """The records that evaluations are about. Three queries."""

    def __init__(self, project: int, found: Collection[PlacedEvaluation]) -> None:
        self._project = project
        names = {placed.place.session for placed in found}
        sessions = Session.objects.filter(project=project, session_id__in=names)
        self._sessions = dict(sessions.values_list("session_id", "pk"))
        loops = LoopRecord.objects.filter(
            session__in=self._sessions.values(), loop_id__in={placed.place.loop for placed in found}
        ).order_by("run")  # of several runs the last one counts
        rows = loops.values_list("session__session_id", "loop_id", "run", "pk")
        self._loops = {(session, loop): (run, pk) for session, loop, run, pk in rows}
        turns = Turn.objects.filter(
            loop__in={pk for _, pk in self._loops.values()},
            ordinal__in={turn for placed in found if (turn := placed.place.turn) is not None},
        )
        keys = turns.values_list("loop_id", "ordinal", "pk")
        self._turns: dict[tuple[int | None, int | None], int] = {(loop, at): pk for loop, at, pk in keys}

    def target(self, placed: PlacedEvaluation) -> Target | None:
        """Return what an evaluation is about: its session if the loop is gone, None if that is gone too."""
        session, loop, turn = placed.place
        if session not in self._sessions:
            return None
        line = placed.digest.line
        if (session, loop) not in self._loops:
            return Target(Note.Target.SESSION, session, line)
        kind = Note.Target.LOOP if turn is None else Note.Target.TURN
        return Target(kind, session, line, loop, *self._loops[session, loop], turn)

    def of(self, note: Note) -> Place:
        """Return the place of a note in the index."""
        turn = self._turns.get((note.loop, note.turn))
        return Place(self._sessions[note.session_id], note.loop, turn, note.event)

    def touched(self, notes: Collection[Note]) -> Invalidation:
        """Return what shows some notes: their sessions and turns."""
        places = [self.of(note) for note in notes]
        return Invalidation(
            self._project,
            noted={place.session for place in places},
            turns={place.turn: place.loop for place in places if place.turn and place.loop},
        )


class _Scores:
    """The scores that evaluations are, by the definitions of a project."""

    def __init__(self, project: int) -> None:
        self._project = project
        self._definitions: dict[str, ScoreDefinition] = {}

    def load(self, found: Collection[PlacedEvaluation]) -> None:
        """Read the definitions of evaluations; they cannot change until the transaction ends. One query."""
        names = {_score_name(placed.evaluation) for placed in found} - self._definitions.keys()
        rows = ScoreDefinition.objects.select_for_update().filter(project=self._project, name__in=names)
        self._definitions |= {row.name: row for row in rows}

    @cached_property
    def _made(self) -> int:
        """The number of definitions that evaluations made."""
        return ScoreDefinition.objects.filter(project=self._project, created_by=MAKER).count()

    def note(self, placed: PlacedEvaluation, target: Target, key: str) -> Note:
        """Return an evaluation as a score, or as a note, that is not stored."""
        digest, evaluation = placed.digest, placed.evaluation
        note = Note(
            project_id=self._project,
            kind=Note.Kind.NOTE,
            text=_sentence(evaluation),
            source=Note.Source.CODE,
            key=key,
            author=clean(digest.service or digest.emitter or "otlp", AUTHOR_CHARS),
            token=digest.token or None,
            created_at=moment(digest.end) if digest.end else timezone.now(),
            **target.fields,
        )
        name = _score_name(evaluation)
        value = self._value(name, evaluation, target.target)
        if value is not None:
            note.kind, note.name, note.value = Note.Kind.SCORE, name, value
            note.number, note.text = definitions.number_of(value), _reason(evaluation, value)
        return note

    def _value(self, name: str, evaluation: Evaluation, target: str) -> Value | None:
        definition = self._definition(name, evaluation, target)
        if definition is None:
            return None
        number = evaluation.value
        value: Value | None = int(number) if number is not None and number.is_integer() else number
        if definition.kind == ScoreDefinition.Kind.CATEGORY:
            value = evaluation.label
        elif definition.kind == ScoreDefinition.Kind.BOOLEAN:
            value = _YES.get(evaluation.label.lower(), {0: False, 1: True}.get(value))  # type: ignore[arg-type]
        try:
            return definitions.checked(definition, value)
        except Refused:
            return None

    def _definition(self, name: str, evaluation: Evaluation, target: str) -> ScoreDefinition | None:
        """Return the definition by which an evaluation is a score, made if there is none of its name."""
        if (definition := self._definitions.get(name)) is None:
            return self._define(name, evaluation)
        try:
            definitions.check_use(definition, target, Note.Source.CODE)
        except Refused:
            return None
        return definition

    def _define(self, name: str, evaluation: Evaluation) -> ScoreDefinition | None:
        kind = _kind_of(evaluation)
        if not kind or self._made >= DEFINED_MAX or not definitions.NAME.fullmatch(name):
            return None
        project = Project.objects.get(pk=self._project)
        try:
            self._definitions[name] = definitions.define(project, Draft(name, kind), MAKER)
        except Refused:  # an admin defined it since it was looked for
            return None
        self._made += 1
        return self._definitions[name]


def _score_name(evaluation: Evaluation) -> str:
    return _NO_NAME.sub("_", evaluation.name)


def _kind_of(evaluation: Evaluation) -> str:
    """Return what an evaluation shows that its score takes; "" for a label that may be one of many."""
    if evaluation.value is not None:
        return ScoreDefinition.Kind.NUMBER
    return ScoreDefinition.Kind.BOOLEAN if evaluation.label.lower() in _YES else ""


def _sentence(evaluation: Evaluation) -> str:
    """Return an evaluation as the text of a note."""
    value = "" if evaluation.value is None else f"{evaluation.value:g}"
    result = f"{value} ({evaluation.label})" if value and evaluation.label else value or evaluation.label
    result = result or (f"failed, {evaluation.error}" if evaluation.error else "no result")
    return "\n\n".join(filter(None, (f"{evaluation.name}: {result}", evaluation.explanation)))


def _reason(evaluation: Evaluation, value: Value) -> str:
    label = "" if evaluation.label == value else evaluation.label
    return "\n\n".join(filter(None, (label, evaluation.explanation)))


def _key(placed: PlacedEvaluation) -> str:
    digest = placed.digest
    line = digest.print if digest.is_log else digest.key
    return sha256(f"evaluation\n{digest.home}\n{line}\n{placed.number}".encode(errors="replace")).hexdigest()
