"""Query parameters of a comparison. `of` names the sessions, or the loops of one; the first is the base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from dashboard.comparison.turn_section import LEAST, MOST
from dashboard.web.query_params import whole_number

if TYPE_CHECKING:
    from django.http import QueryDict


@dataclass(frozen=True, slots=True)
class CompareParams:
    """Primary keys without repetitions, 0 for a word that is none; how turns are shown."""

    of: tuple[int, ...] = ()
    is_only_differences: bool = False
    row: int = 1  # first row of the page of turns

    @classmethod
    def parse(cls, params: QueryDict) -> CompareParams:
        """Parse a query string."""
        return cls(
            of=tuple(dict.fromkeys(whole_number(word) or 0 for word in params.getlist("of"))),
            is_only_differences=params.get("only") == "diff",
            row=whole_number(params.get("row", "")) or 1,
        )

    @property
    def is_comparison(self) -> bool:
        return LEAST <= len(self.of) <= MOST

    def but(self, **change: object) -> str:
        """Return the query string ("?…") of the same page with these changes."""
        other = replace(self, **change)  # type: ignore[arg-type]  # the fields of this class
        return "?" + urlencode(other.pairs())

    def based_on(self, pk: int) -> str:
        """Return the query string with this one as the base."""
        return self.but(of=(pk, *self._without(pk)), row=1)

    def without(self, pk: int) -> str:
        """Return the query string without this one; "" if too few would be left."""
        rest = self._without(pk)
        return self.but(of=rest, row=1) if len(rest) >= LEAST else ""

    def pairs(self) -> Sequence[tuple[str, str]]:
        """Return names and values of the query string, without defaults."""
        pairs = [("of", str(pk)) for pk in self.of]
        if self.is_only_differences:
            pairs.append(("only", "diff"))
        if self.row > 1:
            pairs.append(("row", str(self.row)))
        return pairs

    def _without(self, pk: int) -> tuple[int, ...]:
        return tuple(other for other in self.of if other != pk)
