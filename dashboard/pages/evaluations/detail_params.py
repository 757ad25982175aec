"""What the address of an evaluation asks for, read once. What makes no sense is as if it were not there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlencode

from dashboard.web.query_params import whole_number

if TYPE_CHECKING:
    from django.http import QueryDict

Answer = Literal["diff", "rendered", "raw"]
ANSWERS: dict[Answer, str] = {"diff": "Changes", "rendered": "Rendered", "raw": "Raw"}
MOST = 6  # branches side by side
FIRST = 3  # of more than that, what is shown unasked


@dataclass(frozen=True, slots=True)
class Params:
    """`branches` are numbers as people count, from 1; none is: as many as fit."""

    answer: Answer = "diff"
    is_only_differences: bool = False
    branches: tuple[int, ...] = ()
    row: int = 1  # the first one shown

    @classmethod
    def parse(cls, params: QueryDict) -> Params:
        """Read a query string."""
        answer = params.get("answer", "")
        words = [word for value in params.getlist("branches") for word in value.split(",")]
        numbers = [number for word in words if (number := whole_number(word))]
        return cls(
            answer=answer if answer in ANSWERS else "diff",
            is_only_differences=params.get("only") == "diff",
            branches=tuple(dict.fromkeys(numbers))[:MOST],
            row=whole_number(params.get("row", "")) or 1,
        )

    def chosen(self, winner: int | None, branches: int) -> Sequence[int]:
        """Return the numbers of the branches to show, the winner's first."""
        known = range(1, branches + 1)
        wanted = [number for number in sorted(self.branches) if number in known]
        shown = wanted or list(known if branches <= MOST else known[:FIRST])
        first = [winner] if winner is not None and winner in known else []
        rest = [number for number in shown if number not in first]
        most = MOST if wanted or branches <= MOST else FIRST
        return [*first, *rest][:most]

    def but(self, **change: object) -> str:
        """Return the query string of the same page with this changed: "?…", never empty."""
        other = replace(self, **change)  # type: ignore[arg-type]  # the fields of this class
        return "?" + urlencode(other.pairs(), safe=",")

    def pairs(self) -> dict[str, str]:
        """Return the query string's names and values, without what is usual."""
        said = {
            "answer": self.answer if self.answer != "diff" else "",
            "only": "diff" if self.is_only_differences else "",
            "branches": ",".join(map(str, self.branches)),
            "row": str(self.row) if self.row > 1 else "",
        }
        return {name: value for name, value in said.items() if value}
