"""A panel is one live region: name, query, partial, DOM id.

Page and socket render it with the same function, so what is pushed equals what a reload shows (the reload
invariant). Cost: a fixed number of SQL queries for any number of panels of one kind, and one template each.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from django.template.loader import render_to_string


@dataclass(frozen=True, slots=True)
class Panel:
    """`name` is "page/part" or "page/region/part": "session/conversation/turn" is drawn by the partial
    dashboard/templates/session/conversation/_turn.html into `#session-turn-<pk>`.

    A panel that several pages show is "_shared/part". `query` takes primary keys and returns what the partial
    shows for each, in a fixed number of SQL queries; a deleted record is left out. An open page redraws it at
    most every `min_interval_ms` milliseconds; 0 is every tick.
    """

    name: str
    query: Callable[[Collection[int]], Mapping[int, object]]
    min_interval_ms: int = 0

    def dom_id(self, pk: int) -> str:
        """Return the DOM id: page, part and primary key, which contain no dots."""
        page, *_, part = self.name.split("/")
        return f"{page.lstrip('_')}-{part}-{pk}"

    @property
    def template(self) -> str:
        folder, _, part = self.name.rpartition("/")
        return f"{folder}/_{part.replace('-', '_')}.html"

    def draw(self, pks: Collection[int], *, oob: bool = False) -> dict[int, str]:
        """Return the HTML by primary key, without deleted records; `oob` marks it for an out-of-band swap."""
        shown = self.query(pks)
        return {pk: self.fragment(pk, value, oob=oob) for pk, value in shown.items()}

    def fragment(self, pk: int, value: object, *, oob: bool = False) -> str:
        """Return the HTML of one panel from the value that `query` returned for it."""
        return render_to_string(self.template, {"id": self.dom_id(pk), "panel": value, "oob": oob})
