"""Conditions by what people and programs added: notes, scores, bookmarks, pins.

Those of a session are all in it, those of a loop on it, its turns and its events. An evaluation has its own.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Left
from django.db.models.lookups import Exact

from dashboard.query_conditions.queries.context import LOOKUPS, NOTHING, boolean, contains
from dashboard.query_language import values
from dashboard.query_language.keys import SCORE
from recorder.models import Note, Pin, SessionLabel

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.db.models import QuerySet

    from dashboard.query_conditions.queries.context import Context
    from dashboard.query_language.nodes import Condition

    Of = Callable[[QuerySet[Note]], Q]

KINDS = ("note", "score", "bookmark")


def of_session(notes: QuerySet[Note]) -> Q:
    """Return the condition that a session has one of the entries."""
    return Q(session_id__in=notes.values("session_id"))


def of_loop(notes: QuerySet[Note]) -> Q:
    """Return the condition that one of the entries is on a loop or on a turn or event in it."""
    names = {"session_id": "session__session_id", "loop_id": "loop_id", "run": "run"}
    return Q(Exists(notes.filter(**{name: OuterRef(column) for name, column in names.items()})))


def of_group(notes: QuerySet[Note]) -> Q:
    """Return the condition that one of the entries is on an evaluation."""
    return Q(Exists(notes.filter(session_id=OuterRef("session__session_id"), group=OuterRef("ordinal"))))


def note(context: Context, condition: Condition, of: Of = of_session) -> Q:
    """Return the condition that a note contains one of the texts."""
    return of(_notes(context, "note").filter(contains("text", condition)))


def bookmark(context: Context, condition: Condition, of: Of = of_session) -> Q:
    return boolean(condition, has(context, "bookmark", of=of))


def score(context: Context, condition: Condition, of: Of = of_session) -> Q:
    """Return the condition that a score of this name has the value, or compares so as a number."""
    scores = _notes(context, "score").filter(name=condition.key.removeprefix(SCORE))
    where = NOTHING
    for value in condition.values:
        where |= _score_condition(condition, value)
    return of(scores.filter(where))


def marked(context: Context, condition: Condition, of: Of) -> Q | None:
    """Return the condition on notes, bookmarks or scores of a record; None for any other key."""
    if condition.key.startswith(SCORE):
        return score(context, condition, of)
    of_key = {"note": note, "bookmark": bookmark}.get(condition.key)
    return of_key(context, condition, of) if of_key else None


def has(context: Context, kind: str, name: str = "", of: Of = of_session) -> Q:
    """Return the condition that there is a note, a score of this name, or a bookmark."""
    notes = _notes(context, kind)
    return of(notes.filter(name=name) if name else notes)


def has_any(context: Context, word: str, of: Of) -> Q | None:
    """Return the condition of `has:` on entries of a record; None for any other word."""
    if word.startswith(SCORE):
        return has(context, "score", word.removeprefix(SCORE), of)
    return has(context, word, of=of) if word in KINDS else None


def bookmarked(context: Context, of: Of = of_session) -> Q:
    """Return the condition that the reader bookmarked something."""
    bookmarks = _notes(context, "bookmark")
    return of(bookmarks if context.user is None else bookmarks.filter(user=context.user.pk))


def pinned(context: Context) -> Q:
    return Q(session_id__in=Pin.objects.filter(project=context.project).values("session_id"))


def mine(context: Context) -> Q:
    """Return the condition that the metadata `user` of the session names the reader."""
    if context.user is None:
        return NOTHING
    names = {context.user.get_username(), getattr(context.user, "email", "")} - {""}
    labels = SessionLabel.objects.filter(project=context.project, name="metadata.user", value__in=names)
    return Q(pk__in=labels.values("session"))


def _score_condition(condition: Condition, text: str) -> Q:
    if condition.operator == "begins":
        written = json.dumps(text).removesuffix('"')  # as the column has a category
        # LIKE would ignore case on SQLite only.
        return Q(Exact(Left(F("value"), len(written)), written))
    where = Q(value=text) if condition.operator == "=" else NOTHING
    if (number := values.number(text)) is not None:  # a category may look like a number
        where |= Q(**{f"number__{LOOKUPS[condition.operator]}": float(number)})
    truth = values.boolean(text)
    return where if truth is None else where | Q(value=truth)


def _notes(context: Context, kind: str) -> QuerySet[Note]:
    return Note.objects.filter(project=context.project, kind=kind)
