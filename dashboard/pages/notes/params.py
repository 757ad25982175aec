"""The query parameters of the form that writes a note: what it is about, and what it writes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from dashboard.web import links
from dashboard.web.query_params import whole_number

if TYPE_CHECKING:
    from django.http import QueryDict

Kind = Literal["note", "score", "bookmark"]
KINDS: tuple[Kind, ...] = ("note", "score", "bookmark")
TARGET = ("loop", "turn", "event", "evaluation")


@dataclass(frozen=True, slots=True)
class NotesParams:
    """The target by its parts, the kind of entry, and the name of the score."""

    loop: int | None = None
    turn: int | None = None  # from 0
    event: int | None = None
    evaluation: int | None = None
    kind: Kind = "note"
    name: str = ""

    @classmethod
    def parse(cls, query: QueryDict) -> NotesParams:
        """Parse a query string; invalid values are treated as missing."""
        kind = query.get("kind", "")
        name = query.get("name", "")
        loop, turn, event, evaluation = (whole_number(query.get(part, "")) for part in TARGET)
        return cls(
            loop,
            turn,
            event,
            evaluation,
            kind=next((known for known in KINDS if known == kind), "note"),
            name="" if "\0" in name else name[:64],
        )

    def url(self, slug: str, session: int, **change: str) -> str:
        """Return the form's URL with some parameters changed."""
        shown = replace(self, **change)  # type: ignore[arg-type]  # kinds and names, from this module
        parts = {name: "" if (found := getattr(shown, name)) is None else found for name in TARGET}
        kind = "" if shown.kind == "note" else shown.kind
        return links.new_note(slug, session, **parts, kind=kind, name=shown.name)
