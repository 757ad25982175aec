"""Addresses of list pages: the names of their parameters, their orders and their columns.

The pages define them; a test compares this table with them. Saved views are checked with it, because the read
API saves them without the pages.
"""

from __future__ import annotations

from dataclasses import dataclass

METADATA = "metadata."  # beginning of parameters of the list of sessions
EVERY = frozenset(
    ("q", "view", "cols", "sort", "shown", "before", "after", "cursor", "limit", "rows", "newest")
)
RANGE = frozenset(("since", "until"))


@dataclass(frozen=True, slots=True)
class ListPage:
    """A page that has saved views. `parameters` are those beside `EVERY`."""

    parameters: frozenset[str]
    sorts: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    has_metadata: bool = False

    def knows(self, name: str) -> bool:
        """Return whether the page has a parameter of this name."""
        is_metadata = self.has_metadata and name.startswith(METADATA)
        return name in EVERY or name in self.parameters or is_metadata


PAGES = {
    "sessions": ListPage(
        RANGE
        | frozenset("status outcome model config agent source tool has tag is cost tokens duration".split()),
        tuple(
            sign + name
            for name in ("activity", "created", "cost", "tokens", "duration", "errors")
            for sign in ("-", "")
        ),
        (
            *("loops", "turns", "configs", "tokens", "cost", "duration", "activity", "created", "agent"),
            *("source", "outcome", "tools", "errors", "agents", "compactions", "events", "id"),
        ),
        has_metadata=True,
    ),
    "search": ListPage(frozenset(("kind",)), ("newest", "best")),
    "attention": ListPage(frozenset(("kind", "period", "agent", "source", "waiting", "failed", "waste"))),
    "evaluations": ListPage(
        RANGE | {"session", "config", "winner", "verdict"},
        columns=(
            *("branches", "verdict", "cost", "overhead", "winner", "runner-up", "duration", "started"),
            *("session", "chosen", "count"),
        ),
    ),
    "leaderboard": ListPage(RANGE | {"task", "agent", "judge", "outcome"}),
    "costs": ListPage(
        RANGE | {"by", "sub", "judge", "agent", "model"},
        tuple(
            sign + name
            for name in "name loops turns input output reasoning read write".split()
            + "hits cost each p50 p95 failed".split()
            for sign in ("-", "")
        ),
    ),
    "compactions": ListPage(
        RANGE | {"session", "config", "agent"},
        columns=(
            *("config", "messages", "tokens", "smaller", "sent", "savings", "when", "agent", "state"),
            *("content", "loops"),
        ),
    ),
}
