"""Tables as CSV files (RFC 4180, UTF-8). A quote before text keeps spreadsheets from running formulas."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from decimal import Decimal
from io import StringIO
from typing import TypeAlias

from django.http import HttpResponse

Cell: TypeAlias = str | int | float | Decimal | None
FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")  # the last four are full-width


def answer(name: str, header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> HttpResponse:
    """Return a download called `name`.csv, which must be plain ASCII."""
    response = HttpResponse(text(header, rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response


def text(header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Return a table as CSV; None is an empty cell."""
    return lines([header, *rows])


def lines(rows: Iterable[Sequence[Cell]]) -> str:
    """Return rows as lines of a CSV file, without a header."""
    out = StringIO(newline="")
    csv.writer(out).writerows([_cell_text(cell) for cell in row] for row in rows)
    return out.getvalue()


def _cell_text(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return f"'{cell}" if cell.lstrip(" ").startswith(FORMULA) else cell
    return f"{cell:f}" if isinstance(cell, Decimal) else str(cell)
