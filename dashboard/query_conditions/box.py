"""The text of a query in an address: parsed once, with its error for the box."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from dashboard.query_conditions.conditions import search_condition, session_condition
from dashboard.query_conditions.queries.context import NOTHING
from dashboard.query_conditions.queries.records import reader_of
from dashboard.query_conditions.spending import spending_scope
from dashboard.query_language import QueryError, parse
from dashboard.query_language.nodes import And, Condition, Node, Not, Or
from dashboard.shared.spending import scope
from dashboard.web.filters import Search
from dashboard.web.lists.download import Fault

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from django.contrib.auth.models import AbstractBaseUser
    from django.db.models import Q

    Matches = Callable[[int, Node | None, datetime, AbstractBaseUser | None], Q]

PERSONAL = {("is", "mine"), ("is", "bookmarked")}  # conditions whose rows differ by the reader


class Queried(Protocol):
    """An address with a query."""

    @property
    def q(self) -> str: ...
    @property
    def query(self) -> str: ...


@dataclass(frozen=True, slots=True)
class BadQuery:
    """A query that cannot be read, cut at its error, for `query_box/error.html`."""

    before: str
    wrong: str
    after: str
    message: str
    fix: str | None  # the text that replaces the wrong one
    fixed: str | None  # the whole query with the fix

    @property
    def has_fix(self) -> bool:
        return self.fix is not None


@dataclass(frozen=True, slots=True)
class Parsed:
    """A query or its error; an empty text has neither."""

    node: Node | None = None
    error: BadQuery | None = None

    @property
    def is_personal(self) -> bool:
        return self.node is not None and _is_personal(self.node)

    def reader(self, user: int | None) -> int:
        """Return the user if the rows differ by who reads them, else 0."""
        return user if user and self.is_personal else 0

    def on(self, matches: Matches, project: int, now: datetime, user: int = 0) -> Q:
        """Return the condition on a kind of record; nothing matches a query with an error."""
        return NOTHING if self.error else matches(project, self.node, now, self._reader(user))

    def on_sessions(self, project: int, now: datetime, user: int = 0) -> Q:
        """Return the condition on sessions; nothing matches a query with an error."""
        return NOTHING if self.error else session_condition(project, self.node, now, self._reader(user))

    def on_indexed(self, project: int, now: datetime, user: int = 0) -> Q:
        """Return the condition on sessions of a search with hits: words are those of the index alone."""
        return NOTHING if self.error else search_condition(project, self.node, now, self._reader(user))

    def spending(self, project: int, now: datetime, user: int = 0) -> scope.Scope:
        """Return the spending that the query selects; nothing for a query with an error."""
        return scope.NONE if self.error else spending_scope(project, self.node, now, self._reader(user))

    def _reader(self, user: int) -> AbstractBaseUser | None:
        return reader_of(user) if user and self.is_personal else None


def query_box(label: str, address: Queried, slug: str) -> Search:
    """Return the query box of a page, with the query of its address."""
    error = parsed(address.q).error
    return Search(
        name="q",
        label=label,
        placeholder="Words, status:failed, tool:bash, cost:>1",
        value=address.q,
        key="/",
        error=error,
        completes=slug,
        address=address.query,
    )


def fault_of(text: str) -> Fault | None:
    """Return the error of a query for a file that is then refused; None if it has none."""
    error = parsed(text).error
    return Fault(error.message, len(error.before)) if error else None


@lru_cache(maxsize=1_024)
def parsed(text: str) -> Parsed:
    """Parse a query."""
    try:
        return Parsed(parse(text))
    except QueryError as error:
        end = error.at + error.length
        cut = text[: error.at], text[error.at : end], text[end:]
        return Parsed(error=BadQuery(*cut, error.message, error.fix, error.fixed(text)))


def _is_personal(node: Node) -> bool:
    match node:
        case And(nodes) | Or(nodes):
            return any(map(_is_personal, nodes))
        case Not(inner):
            return _is_personal(inner)
        case Condition():
            return any((node.key, value) in PERSONAL for value in node.values)
        case _:
            return False
