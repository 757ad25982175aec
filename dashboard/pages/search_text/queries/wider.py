"""Wider queries for a query without results: each drops one filter, with the sessions that it would give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from dashboard.live.paged_list import Count, count
from dashboard.pages.search_text.params import SearchParams
from dashboard.query_language import print_query
from dashboard.query_language.nodes import And, Condition, Node, Not, Or, Words
from dashboard.query_language.printer import conjunction
from recorder.models import Session

SHOWN, TRIED, COUNTED = 3, 5, 100  # buttons, queries that are counted, sessions of each
TIMES = ("since", "until", "age")


@dataclass(frozen=True, slots=True)
class Wider:
    """One button: what it drops, the link, and the number of sessions there."""

    label: str
    url: str
    sessions: Count


def wider(project: int, params: SearchParams, now: datetime, user: int) -> Sequence[Wider]:
    """Return the wider queries that have results, at most `SHOWN`. At most `TRIED` queries."""
    found: list[Wider] = []
    for label, address in list(_wider(params))[:TRIED]:
        condition = address.parsed.on_indexed(project, now, user)
        sessions = count(Session.objects.filter(condition, project=project), COUNTED)
        if sessions.value:
            found.append(Wider(label, address.query, sessions))
    return found[:SHOWN]


def _wider(params: SearchParams) -> Iterator[tuple[str, SearchParams]]:
    """Yield label and address: without the kinds of text, without each filter, with any of the words."""
    node = params.parsed.node
    if params.kind:
        yield "Any kind of text", params.but(kind=())
    parts = node.nodes if isinstance(node, And) else (node,) if node else ()
    filters = [part for part in parts if not isinstance(part, Words)]
    words = [part for part in parts if isinstance(part, Words)]
    for part in sorted(filters, key=_order):
        rest = conjunction(other for other in parts if other is not part)
        if rest is not None:
            yield _label(part), params.but(q=print_query(rest))
    if len(words) > 1:
        either = Or(tuple(words))
        yield f"Any word ({print_query(either)})", params.but(q=print_query(conjunction([*filters, either])))


def _order(part: Node) -> int:
    key = part.key if isinstance(part, Condition) else ""
    return 0 if key in TIMES else 1 if key in ("status", "outcome") else 2


def _label(part: Node) -> str:
    if isinstance(part, Condition) and part.key in TIMES:
        return "Any time"
    if isinstance(part, Condition) and part.operator == "=" and part.key not in ("has", "is"):
        return f"Any {part.key}"
    if isinstance(part, Not):
        return f"With {print_query(part.node)}"
    return f"Without {print_query(part)}"
