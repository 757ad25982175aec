"""The query parameters of the flame graph, parsed once. Invalid values are treated as missing."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlencode

from dashboard.web.query_params import whole_number

if TYPE_CHECKING:
    from django.http import QueryDict

Measure = Literal["cost", "tokens", "time"]
MEASURES: tuple[Measure, ...] = ("cost", "tokens", "time")
_NODE = re.compile(r"([0-9a-f]{12})(?:\.(\d{1,6})-(\d{1,6}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class FlameParams:
    """The drawing: `by` is the width, `node` the enlarged part, `other` a session to compare with."""

    by: Measure = "cost"
    node: str = ""  # its id, and ".first-last" of its children if only these are drawn
    other: int | None = None
    at: int | None = None  # as of this event

    @classmethod
    def parse(cls, params: QueryDict) -> FlameParams:
        """Parse a query string."""
        by, node = params.get("by", ""), params.get("node", "")
        return cls(
            by=next((name for name in MEASURES if name == by), "cost"),
            node=node if _NODE.fullmatch(node) else "",
            other=whole_number(params.get("with", "")),
            at=whole_number(params.get("at", "")),
        )

    @property
    def part(self) -> tuple[str, slice]:
        """Return the id of the enlarged node, "" for the whole, and which of its children are drawn."""
        match = _NODE.fullmatch(self.node)
        if match is None:
            return "", slice(None)
        return match[1], slice(int(match[2]), int(match[3]) + 1) if match[2] else slice(None)

    def pairs(self) -> dict[str, str | int]:
        """Return names and values of the parameters that differ from their defaults."""
        pairs = {
            "by": self.by if self.by != "cost" else "",
            "node": self.node,
            "with": self.other,
            "at": self.at,
        }
        return {name: value for name, value in pairs.items() if value is not None and value != ""}

    def but(self, **change: object) -> str:
        """Return the query string ("?…") of the same page with these changes."""
        other = replace(self, **change)  # type: ignore[arg-type]  # the fields of this class
        return "?" + urlencode(other.pairs())
