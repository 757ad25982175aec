"""A query as the spending that it selects.

The parts of a query that must all hold are of two kinds: those with only the keys of a turn or its loop
(`turns.OWN`) select turns and loops, all others select sessions, of which everything counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.query_conditions.conditions import combined, session_leaf
from dashboard.query_conditions.queries import loops, turns
from dashboard.query_conditions.queries.context import EVERYTHING, Context
from dashboard.query_conditions.queries.subqueries import loops as loops_of_session
from dashboard.query_conditions.queries.subqueries import with_loops
from dashboard.query_language.nodes import And, Condition, Node, Not, Or, Words
from dashboard.query_language.printer import conjunction
from dashboard.shared.spending import scope
from dashboard.shared.spending.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from django.contrib.auth.models import AbstractBaseUser
    from django.db.models import Q


def spending_scope(
    project: int, node: Node | None, now: datetime, user: AbstractBaseUser | None = None
) -> Scope:
    """Return the conditions of a query on everything that has usage; `user` is the reader."""
    if node is None:
        return scope.EVERYTHING
    context = Context(project, now, user)
    parts = list(_parts(node))
    own = conjunction(part for part in parts if _keys(part) <= {*turns.OWN})
    of_session = conjunction(part for part in parts if not _keys(part) <= {*turns.OWN})
    is_summed = of_session is None and _keys(own) <= {*turns.SUMMED}
    return Scope(
        sessions=combined(of_session, session_leaf(context)),
        turns=_on(own, turns.turn, context),
        loops=_on(own, turns.loop, context),
        groups=_on(own, turns.selection, context),
        having=_having(own, context),
        rollups=_on(own, turns.rollup, context) if is_summed else None,
    )


def _on(node: Node | None, own: Callable[[Context, Condition], Q], context: Context) -> Q:
    def leaf(node: Words | Condition) -> Q:
        assert isinstance(node, Condition)  # words are of the session
        return own(context, node)

    return combined(node, leaf)


def _having(own: Node | None, context: Context) -> Q:
    """Return the condition on sessions that one of their loops may have what `own` selects."""
    positive = conjunction(part for part in _parts(own) if not _negates(part)) if own else None
    if positive is None:
        return EVERYTHING
    return with_loops(loops_of_session().filter(_on(positive, _of_loop, context)))


def _of_loop(context: Context, condition: Condition) -> Q:
    return loops.BY_KEY[condition.key](context, condition)


def _parts(node: Node) -> Iterator[Node]:
    if isinstance(node, And):
        for part in node.nodes:
            yield from _parts(part)
    else:
        yield node


def _keys(node: Node | None) -> set[str]:
    match node:
        case And(nodes) | Or(nodes):
            return {key for part in nodes for key in _keys(part)}
        case Not(inner):
            return _keys(inner)
        case Condition():
            return {node.key}
        case Words():
            return {""}
        case _:
            return set()


def _negates(node: Node) -> bool:
    match node:
        case And(nodes) | Or(nodes):
            return any(map(_negates, nodes))
        case _:
            return isinstance(node, Not)
