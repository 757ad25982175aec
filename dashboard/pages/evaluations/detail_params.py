"""Query parameters of an evaluation page. Invalid parameters are ignored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlencode

from dashboard.web.query_params import whole_number

if TYPE_CHECKING:
    from django.http import QueryDict

Answer = Literal["diff", "rendered", "raw"]
ANSWERS: dict[Answer, str] = {"rendered": "Rendered", "diff": "Changes", "raw": "Raw"}
SHOWN_MAX = 6  # maximum number of branches side by side
SHOWN_DEFAULT = 3  # shown by default when there are more than SHOWN_MAX


@dataclass(frozen=True, slots=True)
class DetailParams:
    """Query parameters; `branches` are numbers from 1, empty for the default selection."""

    answer: Answer = "rendered"
    is_only_differences: bool = False
    branches: tuple[int, ...] = ()
    row: int = 1  # first row of the page of turns

    @classmethod
    def parse(cls, params: QueryDict) -> DetailParams:
        """Parse a query string."""
        answer = params.get("answer", "")
        words = [word for value in params.getlist("branches") for word in value.split(",")]
        numbers = [number for word in words if (number := whole_number(word))]
        return cls(
            answer=answer if answer in ANSWERS else "rendered",
            is_only_differences=params.get("only") == "diff",
            branches=tuple(dict.fromkeys(numbers))[:SHOWN_MAX],
            row=whole_number(params.get("row", "")) or 1,
        )

    def chosen(self, winner: int | None, branches: int) -> Sequence[int]:
        """Return the numbers of the branches to show, the winner's first."""
        available = range(1, branches + 1)
        wanted = [number for number in sorted(self.branches) if number in available]
        shown = wanted or list(available if branches <= SHOWN_MAX else available[:SHOWN_DEFAULT])
        first = [winner] if winner is not None and winner in available else []
        rest = [number for number in shown if number not in first]
        most = SHOWN_MAX if wanted or branches <= SHOWN_MAX else SHOWN_DEFAULT
        return [*first, *rest][:most]

    def but(self, **change: object) -> str:
        """Return the query string ("?…") of the same page with these changes."""
        other = replace(self, **change)  # type: ignore[arg-type]  # the fields of this class
        return "?" + urlencode(other.pairs(), safe=",")

    def pairs(self) -> dict[str, str]:
        """Return names and values of the query string, without defaults."""
        values = {
            "answer": self.answer if self.answer != "rendered" else "",
            "only": "diff" if self.is_only_differences else "",
            "branches": ",".join(map(str, self.branches)),
            "row": str(self.row) if self.row > 1 else "",
        }
        return {name: value for name, value in values.items() if value}
