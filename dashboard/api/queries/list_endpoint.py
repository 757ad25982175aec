"""The generic list endpoint: params -> rows -> one page -> items of the response schema.

A list names its filtered rows, how a page is cut out of them, and how the rows of a page become items. Pages
are cut in one of four ways:

- `by_id`: a queryset in recorded order; the cursor is the last primary key.
- `by_newest`: the same with the newest first.
- `by_order`: a queryset in the order of the params; the cursor is the last row's sort key and primary key.
- `by_offset`: a computed sequence, such as a ranking; the cursor is the number of rows before the page.

Invariant: following `next` until it is null returns each row once, provided that rows keep their place. Cost:
a keyset page reads `limit` + 1 rows through an index, however deep it lies, and counts all rows for `total`;
a page by offset computes the whole sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from django.db.models import Model, QuerySet
from pydantic import BaseModel

from dashboard.api.params import ById, OfSessions
from dashboard.api.schemas import ResultPage
from recorder.models import Project, Session

M = TypeVar("M", bound=Model)
Params = TypeVar("Params")
Rows = TypeVar("Rows")
Row = TypeVar("Row")
Items = TypeVar("Items", bound=ResultPage)


class Offset(Protocol):
    """Params of a list by offset."""

    cursor: int
    limit: int


@dataclass(frozen=True, slots=True)
class Slice(Generic[Row]):
    """The rows of one page, the cursor of the next page (None on the last), and the number of all rows."""

    rows: Sequence[Row]
    next: str | None
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ListEndpoint(Generic[Params, Rows, Row, Items]):
    """One list of the read API: `rows` filters, `cut` selects a page, `items` serialises its rows."""

    response: Callable[..., Items]
    rows: Callable[[Project, Params], Rows]
    cut: Callable[[Rows, Params], Slice[Row]]
    items: Callable[[Project, Params, Sequence[Row]], Sequence[BaseModel]]

    def page(self, project: Project, params: Params) -> Items:
        """Return the page that `params` select, at most `params.limit` items, in the order of the list."""
        page = self.cut(self.rows(project, params), params)
        return self.response(items=self.items(project, params, page.rows), next=page.next, total=page.total)


def filtered(rows: QuerySet[M], **conditions: object) -> QuerySet[M]:
    """Return the rows that match every condition whose value is not None (its parameter was sent)."""
    return rows.filter(**{lookup: value for lookup, value in conditions.items() if value is not None})


def by_id(rows: QuerySet[M], params: ById) -> Slice[M]:
    """Return the rows after the cursor, in recorded order. Two queries."""
    # One row more than the page holds shows whether another page follows.
    fetched = list(rows.order_by("pk").filter(pk__gt=params.cursor)[: params.limit + 1])
    shown = fetched[: params.limit]
    return Slice(shown, str(shown[-1].pk) if len(fetched) > len(shown) else None, rows.count())


def by_newest(rows: QuerySet[M], params: ById) -> Slice[M]:
    """Return the rows before the cursor, or the newest without one, last recorded first. Two queries."""
    rest = rows.filter(pk__lt=params.cursor) if params.cursor else rows
    fetched = list(rest.order_by("-pk")[: params.limit + 1])
    shown = fetched[: params.limit]
    return Slice(shown, str(shown[-1].pk) if len(fetched) > len(shown) else None, rows.count())


def by_order(sessions: QuerySet[Session], params: OfSessions) -> Slice[Session]:
    """Return the sessions after the cursor, in the order of `params.sort`. Two queries."""
    order = params.order
    rest = order.after(sessions, params.after) if params.after else sessions
    fetched = list(order.sort(rest)[: params.limit + 1])
    shown = fetched[: params.limit]
    return Slice(shown, str(order.cursor(shown[-1])) if len(fetched) > len(shown) else None, sessions.count())


def by_offset(rows: Sequence[Row], params: Offset) -> Slice[Row]:
    """Return the rows from position `params.cursor` on."""
    end = params.cursor + params.limit
    return Slice(rows[params.cursor : end], str(end) if end < len(rows) else None, len(rows))
