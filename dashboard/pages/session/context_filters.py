"""The query parameters of the tab Context. Invalid values are treated as missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dashboard.shared.ledger_sums.tools import RESULTS
from dashboard.web.query_params import whole_number
from recorder.core.ledger.blocks import KINDS

if TYPE_CHECKING:
    from django.http import QueryDict

By = Literal["kind", "tool", "price"]
GROUPINGS: tuple[By, ...] = ("kind", "tool", "price")
ALL_RESULTS = "results"  # of tools and sub-agents
TEXT_MAX = 200  # characters of the filter


@dataclass(frozen=True, slots=True)
class ContextParams:
    """`scope` is a loop, or 0 for the session; `turn` the number of the chosen call within it, from 1."""

    scope: int = 0
    turn: int | None = None
    by: By = "kind"
    q: str = ""  # part of a name, an argument or a server
    kind: str = ""  # of blocks, or ALL_RESULTS
    call: str = ""  # id of the tool call whose result is shown
    is_whole: bool = False  # all rows of the block ledger

    @classmethod
    def parse(cls, params: QueryDict) -> ContextParams:
        """Parse a query string."""
        by, kind = params.get("by", ""), params.get("kind", "")
        return cls(
            scope=whole_number(params.get("scope", "")) or 0,
            turn=whole_number(params.get("turn", "")),
            by=next((name for name in GROUPINGS if name == by), "kind"),
            q=params.get("q", "").strip()[:TEXT_MAX],
            kind=kind if kind in (*KINDS, ALL_RESULTS) else "",
            call=params.get("call", "")[:TEXT_MAX],
            is_whole=params.get("rows") == "all",
        )

    def includes(self, kind: str) -> bool:
        """Return whether the filter by kind lets blocks of a kind through."""
        return self.kind in ("", kind) or (self.kind == ALL_RESULTS and kind in RESULTS)

    def pairs(self, **changes: str | int) -> dict[str, str | int]:
        """Return the parameters as a link has them, with `changes`; those at their default are left out."""
        pairs: dict[str, str | int] = {
            "tab": "context",
            "scope": self.scope or "",
            "turn": self.turn or "",
            "by": "" if self.by == "kind" else self.by,
            "q": self.q,
            "kind": self.kind,
            "call": self.call,
            "rows": "all" if self.is_whole else "",
        }
        return {name: value for name, value in (pairs | changes).items() if value != ""}
