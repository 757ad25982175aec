"""Query parameters of the comparison of sessions. `of` names the sessions; the first is the base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from dashboard.web.query_params import whole_number

if TYPE_CHECKING:
    from django.http import QueryDict

LEAST, MOST = 2, 4  # sessions that can be compared


@dataclass(frozen=True, slots=True)
class Params:
    """Primary keys of the sessions without repetitions, 0 for a word that is none; how turns are shown."""

    sessions: tuple[int, ...] = ()
    is_only_differences: bool = False
    row: int = 1  # first row of the page of turns

    @classmethod
    def parse(cls, params: QueryDict) -> Params:
        """Parse a query string."""
        return cls(
            sessions=tuple(dict.fromkeys(whole_number(word) or 0 for word in params.getlist("of"))),
            is_only_differences=params.get("only") == "diff",
            row=whole_number(params.get("row", "")) or 1,
        )

    @property
    def is_comparison(self) -> bool:
        return LEAST <= len(self.sessions) <= MOST

    def but(self, **change: object) -> str:
        """Return the query string ("?…") of the same page with these changes."""
        other = replace(self, **change)  # type: ignore[arg-type]  # the fields of this class
        return "?" + urlencode(other.pairs())

    def based_on(self, session: int) -> str:
        """Return the query string with this session as the base."""
        return self.but(sessions=(session, *self._without(session)), row=1)

    def without(self, session: int) -> str:
        """Return the query string without this session; "" if too few would be left."""
        rest = self._without(session)
        return self.but(sessions=rest, row=1) if len(rest) >= LEAST else ""

    def pairs(self) -> Sequence[tuple[str, str]]:
        """Return names and values of the query string, without defaults."""
        pairs = [("of", str(session)) for session in self.sessions]
        if self.is_only_differences:
            pairs.append(("only", "diff"))
        if self.row > 1:
            pairs.append(("row", str(self.row)))
        return pairs

    def _without(self, session: int) -> tuple[int, ...]:
        return tuple(other for other in self.sessions if other != session)
