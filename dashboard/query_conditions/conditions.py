"""A query as a database condition on a kind of record: sessions, loops, evaluations, tool calls, compactions.

A key that a record does not have itself is that of its session. Words are searched in the session's recorded
text. The number of SQL queries is fixed: one for the rows, with subqueries, and at most three that read the
configs of the project. Every subquery is bound to the project or to the record around it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, assert_never

from django.db.models import Q

from dashboard.query_conditions.queries import compactions, evaluations, loops, sessions, tool_calls
from dashboard.query_conditions.queries.context import EVERYTHING, NOTHING, Context, any_of
from dashboard.query_conditions.queries.records import of_loops, of_sessions
from dashboard.query_language.nodes import And, Condition, Node, Not, Or, Words
from dashboard.shared.search.sessions import searchable

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from django.contrib.auth.models import AbstractBaseUser

Leaf: TypeAlias = "Callable[[Words | Condition], Q]"


def session_condition(
    project: int, node: Node | None, now: datetime, user: AbstractBaseUser | None = None
) -> Q:
    """Return the condition on `Session`; `user` is the reader, for `is:mine` and `is:bookmarked`."""
    return combined(node, session_leaf(Context(project, now, user)))


def search_condition(
    project: int, node: Node | None, now: datetime, user: AbstractBaseUser | None = None
) -> Q:
    """Return the condition on `Session` of a search with hits: words are those of the index alone."""
    return combined(node, session_leaf(Context(project, now, user, is_indexed_only=True)))


def loop_condition(project: int, node: Node | None, now: datetime, user: AbstractBaseUser | None = None) -> Q:
    """Return the condition on `LoopRecord`; the caller limits the rows to the project."""
    context = Context(project, now, user)
    return combined(node, _own_or_session(context, loops.loop))


def evaluation_condition(
    project: int, node: Node | None, now: datetime, user: AbstractBaseUser | None = None
) -> Q:
    """Return the condition on `ParallelGroupRecord`; the caller limits the rows to the project."""
    context = Context(project, now, user)
    return combined(node, _own_or_session(context, evaluations.evaluation))


def tool_call_condition(
    project: int, node: Node | None, now: datetime, user: AbstractBaseUser | None = None
) -> Q:
    """Return the condition on `ToolCall`; keys of a loop are those of the call's loop."""
    return combined(node, _own_or_loop(Context(project, now, user), tool_calls.tool_call))


def compaction_condition(
    project: int, node: Node | None, now: datetime, user: AbstractBaseUser | None = None
) -> Q:
    """Return the condition on `Compaction`; keys of a loop are those of the compaction's loop."""
    return combined(node, _own_or_loop(Context(project, now, user), compactions.compaction))


def session_leaf(context: Context) -> Leaf:
    """Return the function of a word's or condition's condition on `Session`."""

    def leaf(node: Words | Condition) -> Q:
        if isinstance(node, Words):
            return sessions.with_words(context, node)
        return sessions.session(context, node)

    return leaf


def _own_or_loop(context: Context, own: Callable[[Context, Condition], Q | None]) -> Leaf:
    of_loop = _own_or_session(context, loops.loop)

    def leaf(node: Words | Condition) -> Q:
        where = own(context, node) if isinstance(node, Condition) else None
        return of_loops(context, of_loop(node)) if where is None else where

    return leaf


def _own_or_session(context: Context, own: Callable[[Context, Condition], Q | None]) -> Leaf:
    of_session = session_leaf(context)

    def leaf(node: Words | Condition) -> Q:
        where = own(context, node) if isinstance(node, Condition) else None
        return of_sessions(context, of_session(node)) if where is None else where

    return leaf


def combined(node: Node | None, leaf: Leaf) -> Q:
    """Return the condition of a query, of which `leaf` gives those of its words and conditions.

    Words of punctuation alone are skipped beside others.
    """
    match node:
        case None:
            return EVERYTHING
        case Words():
            return leaf(node)
        case Condition():
            return any_of(*map(leaf, node.single))
        case Not(inner):
            return ~combined(inner, leaf)
        case And(nodes):
            where = EVERYTHING
            for part in searchable(nodes):
                where &= combined(part, leaf)
            return where
        case Or(nodes):
            where = NOTHING
            for part in searchable(nodes):
                where |= combined(part, leaf)
            return where
        case _:
            assert_never(node)
