"""What the address of the insights page asks for. What makes no sense is as if it were not there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from dashboard.keyset import Cursor

if TYPE_CHECKING:
    from django.http import QueryDict

KINDS = {"": "All", "procedure": "Procedures", "solution": "Error solutions", "fact": "Facts"}
AGENT_MAX = 512


@dataclass(frozen=True, slots=True)
class Asked:
    """The query string; `undo` is the insight that was just dismissed or put back."""

    kind: str = ""
    agent: str = ""
    is_dismissed: bool = False
    before: Cursor | None = None  # the page after this insight, newest first
    after: Cursor | None = None  # the page that ends before this one
    undo: int | None = None

    @classmethod
    def parse(cls, params: QueryDict) -> Asked:
        """Read a query string, or what a form sends along."""
        kind, undo = params.get("kind", ""), params.get("undo", "")
        return cls(
            kind=kind if kind in KINDS else "",
            agent=params.get("agent", "")[:AGENT_MAX],
            is_dismissed=params.get("dismissed", "") == "1",
            before=_cursor(params.get("before", "")),
            after=_cursor(params.get("after", "")),
            undo=int(undo) if undo.isascii() and undo.isdecimal() and len(undo) < 19 else None,
        )

    @property
    def is_narrow(self) -> bool:
        return bool(self.kind or self.agent)

    @property
    def kinds(self) -> list[tuple[str, str, bool]]:
        """Return the kinds: word, link, whether chosen."""
        return [(words, self.but(kind=kind), kind == self.kind) for kind, words in KINDS.items()]

    @property
    def switched(self) -> str:
        return self.but(is_dismissed=not self.is_dismissed)

    @property
    def all(self) -> str:
        return self.but(kind="", agent="")

    def but(self, **change: object) -> str:
        """Return the link to the same list but for this, on its first page: "?…", never empty."""
        first = replace(self, before=None, after=None, undo=None)
        return "?" + urlencode(replace(first, **change).pairs())  # type: ignore[arg-type]  # its fields

    def pairs(self) -> dict[str, str]:
        """Return the query string's names and values, without what is usual."""
        said = {
            "kind": self.kind,
            "agent": self.agent,
            "dismissed": "1" if self.is_dismissed else "",
            "before": str(self.before or ""),
            "after": str(self.after or ""),
            "undo": str(self.undo or ""),
        }
        return {name: value for name, value in said.items() if value}


def _cursor(text: str) -> Cursor | None:
    try:
        return None if text.startswith("c") else Cursor.parse(text)
    except ValueError:
        return None
