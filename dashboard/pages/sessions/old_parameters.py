"""Parameters of the list before it had a query: read as the same conditions of one.

The menus of the filter bar send them, too: without a script a form has no other way to change the query.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.query_language.choices import Pair, choose, is_valid, parsed_condition, shown_pairs
from dashboard.query_language.keys import IS
from dashboard.query_language.nodes import And, Condition, Node
from dashboard.query_language.printer import conjunction
from dashboard.shared.queries.session_filter import HOLDS, METADATA, OUTCOMES, SILENT, metadata_names
from dashboard.shared.queries.session_filter import STATUSES as RECORDED
from recorder.core.sources import SOURCES

if TYPE_CHECKING:
    from django.http import QueryDict

    from dashboard.web.query_params import Reading

KNOWN = {"status": SILENT, "outcome": OUTCOMES, "source": SOURCES, "has": tuple(HOLDS), "is": IS}
NAMES = ("status", "outcome", "model", "config", "agent", "source", "tool", "has", "tag", "is")
LEAST = {  # minimum of a number, and how it is written
    "cost": "write it as cost=1.50",
    "tokens": "write it as tokens=10k",
    "duration": "write it as duration=5m",
}
STATUSES = ("stale", *RECORDED)


def merged(read: Reading, params: QueryDict, node: Node | None) -> Node | None:
    """Return the query with the conditions of the parameters; an invalid one is ignored with a note."""
    pairs = [pair for name in NAMES for pair in _pairs(read, name)]
    pairs += [
        (f"{METADATA}{name}", value)
        for name in metadata_names(params)
        for value in read.values(f"{METADATA}{name}")
    ]
    least = [found for name in LEAST if (found := _least(read, name))]
    chosen = choose(node, [pair for pair in pairs if is_valid(*pair)], shown=shown_pairs(read))
    return conjunction([*_parts(chosen), *least])


def _pairs(read: Reading, name: str) -> list[Pair]:
    if name == "status":
        return [(name, value) for value in read.values(name, STATUSES) if value in SILENT]
    # A menu offers states and outcomes together: both are `status:`, any of which matches.
    key = "status" if name == "outcome" else name
    return [(key, value) for value in read.values(name, KNOWN.get(name, ()))]


def _least(read: Reading, name: str) -> Condition | None:
    given = read.text(name)
    found = parsed_condition(f"{name}:>={given}") if given else None
    if given and not found:
        read.ignore(name, given, LEAST[name])
    return found


def _parts(node: Node | None) -> tuple[Node, ...]:
    return node.nodes if isinstance(node, And) else (node,) if node else ()
