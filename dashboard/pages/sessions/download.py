"""The list of sessions as a CSV file and as a JSON document, written chunk by chunk."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

from dashboard.pages.sessions.queries.download import Downloaded
from dashboard.shared.session_json.schemas import rfc3339
from dashboard.web import csv_response
from dashboard.web.csv_response import Cell
from dashboard.web.lists.download import documents

USAGE = ("input", "output", "reasoning", "cache_read", "cache_write")
BUCKETS = ("uncached_input", "cache_read", "cache_write", "output", "reasoning")
COUNTS = (
    *("loops", "turns", "tool_calls", "errors", "compactions", "groups", "sub_agents", "events", "waiting"),
)
HEADER = (
    *("session_id", "title", "agent_id", "source", "scope", "status", "outcome", "stale"),
    *("created_at", "last_active_at", "ended_at", "duration_ms", *COUNTS, "configs", "tags", "metadata"),
    *(f"{name}_tokens" for name in USAGE),
    *(f"bucket_{name}_tokens" for name in BUCKETS),
    *("cost_usd", "cost_source", "unpriced", "inclusive_cost_usd", "inclusive_unpriced"),
    *("parent_session_id", "parent_loop_id", "is_demo", "pruned_on", "url"),
)


def as_csv(chunks: Iterable[Sequence[Downloaded]]) -> Iterator[bytes]:
    """Yield a CSV file; numbers are exact, a list of configs is separated by "; "."""
    yield csv_response.text(HEADER, ()).encode()
    for chunk in chunks:
        yield csv_response.lines(map(_cells, chunk)).encode()


def as_json(about: Mapping[str, str], chunks: Iterable[Sequence[Downloaded]]) -> Iterator[bytes]:
    """Yield a document with the query and the sessions, one a line."""
    return documents(about, ([_document(row) for row in chunk] for chunk in chunks))


def _document(row: Downloaded) -> str:
    more = {"configs": row.configs, "duration_ms": row.duration_ms}
    return json.dumps(row.item.model_dump(mode="json") | more)


def _cells(row: Downloaded) -> Sequence[Cell]:
    item = row.item
    times = (item.created_at, item.last_active_at, item.ended_at)
    parent = (item.parent.session_id, item.parent.loop_id) if item.parent else (None, None)
    return (
        *(item.session_id, item.title, item.agent_id, item.source, item.scope, item.status, item.outcome),
        *(item.stale, *(moment and rfc3339(moment) for moment in times), row.duration_ms),
        *(getattr(item, name) for name in COUNTS),
        *("; ".join(row.configs), "; ".join(item.tags), json.dumps(item.metadata) if item.metadata else None),
        *(item.usage and getattr(item.usage, name) for name in USAGE),
        *(item.buckets and getattr(item.buckets, name) for name in BUCKETS),
        *(_decimal(item.cost_usd), item.cost_source, item.unpriced),
        *(_decimal(item.inclusive_cost_usd), item.inclusive_unpriced),
        *(*parent, item.is_demo, item.pruned_on and item.pruned_on.isoformat(), item.url),
    )


def _decimal(usd: str | None) -> Decimal | None:
    return None if usd is None else Decimal(usd)
