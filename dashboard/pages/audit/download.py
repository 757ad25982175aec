"""The audit log as a CSV file and as JSON lines, with the fields of the read API."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from dashboard.shared.audit_log.schemas import AuditItem
from dashboard.shared.session_json.schemas import rfc3339
from dashboard.web import csv_response
from dashboard.web.csv_response import Cell

HEADER = tuple(AuditItem.model_fields)


def as_csv(chunks: Iterable[Sequence[AuditItem]]) -> Iterator[bytes]:
    """Yield a CSV file; `before` and `after` are JSON."""
    yield csv_response.text(HEADER, ()).encode()
    for chunk in chunks:
        yield csv_response.lines(map(_cells, chunk)).encode()


def as_ndjson(chunks: Iterable[Sequence[AuditItem]]) -> Iterator[bytes]:
    """Yield one JSON document a line."""
    for chunk in chunks:
        yield "".join(f"{item.model_dump_json()}\n" for item in chunk).encode()


def _cells(item: AuditItem) -> list[Cell]:
    return [_cell(name, getattr(item, name)) for name in HEADER]


def _cell(name: str, value: object) -> Cell:
    if name == "at":
        return rfc3339(value)  # type: ignore[arg-type]  # the field's type
    if name in ("before", "after") and value is not None:
        return json.dumps(value, ensure_ascii=False)
    return value  # type: ignore[return-value]  # texts and a number
