"""Conditions of one kind of record by the condition of the record that it belongs to, and the reader."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from django.contrib.auth.models import User
from django.db.models import Q

from dashboard.query_conditions.queries.context import any_of
from recorder.models import LoopRecord, Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from dashboard.query_conditions.queries.context import Context
    from dashboard.query_language.nodes import Condition


def reader_of(user: int) -> User | None:
    """Return the user who reads, by primary key."""
    return User.objects.filter(pk=user).first()


def of_sessions(context: Context, condition: Q) -> Q:
    """Return the condition that the session of a record matches."""
    return Q(session__in=Session.objects.filter(condition, project=context.project))


def of_words(
    context: Context,
    condition: Condition,
    own: Callable[[Context, str], Q | None],
    of_session: Callable[[Context, Condition], Q],
) -> Q:
    """Return the condition of `has:` or `is:` on a record, which may have some of the words itself.

    `own` gives the condition of a word; a word for which it gives None is that of the session.
    """
    conditions = {word: own(context, word) for word in condition.values}
    where = any_of(*(query for query in conditions.values() if query is not None))
    others = tuple(word for word, query in conditions.items() if query is None)
    if not others:
        return where
    return where | of_sessions(context, of_session(context, replace(condition, values=others)))


def of_loops(context: Context, condition: Q) -> Q:
    """Return the condition that the loop of a record matches."""
    return Q(loop__in=LoopRecord.objects.filter(condition, session__project=context.project))
