"""Query strings of pages: parsed once into a frozen dataclass, and written back into links."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Self, TypeAlias
from urllib.parse import urlencode

from dashboard.web.keyset import Cursor, Order

if TYPE_CHECKING:
    from django.http import QueryDict

    from dashboard.web.links import Value

Choices: TypeAlias = list[tuple[str, str, bool]]  # value, link, whether it is chosen

WORDS_MAX = 200
VALUE_MAX, VALUES_MAX = 512, 50  # characters; values of one name
SHOWN_MAX, NOTES_MAX = 60, 5
TRANSIENT = ("before", "after", "undo")  # parameters of one page of a list, which other links drop


@dataclass(frozen=True, slots=True)
class Address:
    """A query string: each compared field is a parameter, which is left out of links at its default."""

    def but(self, **changes: Any) -> Self:
        """Return a copy with `changes`, on the first page of the list."""
        transient = {field.name: None for field in fields(self) if field.name in TRANSIENT}
        return replace(self, **transient | changes)

    def pairs(self) -> dict[str, Value]:
        """Return names and values of the parameters that differ from their defaults."""
        values = {field: getattr(self, field.name) for field in fields(self) if field.compare}
        return {
            field.name: _written_value(value) for field, value in values.items() if value != field.default
        }

    @property
    def is_narrow(self) -> bool:
        """Return whether any filter is set."""
        return bool(self.but().pairs())

    @property
    def query(self) -> str:
        """Return the link to this query, relative to the page: "?…", never empty."""
        return "?" + urlencode(self.pairs(), doseq=True)

    def choices(self, name: str, values: Iterable[str]) -> Choices:
        """Return a choice for each possible value of a parameter."""
        return [(value, self.but(**{name: value}).query, value == getattr(self, name)) for value in values]


class Reading:
    """A parser of a query string; invalid values are ignored and listed in `notes` for the page."""

    def __init__(self, params: QueryDict) -> None:
        self._params = params
        self.notes: list[str] = []

    def choice(self, name: str, known: Collection[str], usual: str) -> str:
        value = self._params.get(name, "")
        if value and value not in known:
            self.ignore(name, value)
        return value if value in known else usual

    def text(self, name: str) -> str:
        """Return one value as text, at most VALUE_MAX characters."""
        value = self._params.get(name, "")
        if not _is_text(value):
            self.ignore(name, value)
            return ""
        return value

    def words(self, name: str) -> str:
        """Return search words, cut to WORDS_MAX characters."""
        value = self._params.get(name, "").replace("\0", "").strip()
        if len(value) > WORDS_MAX:
            self.notes.append(f"Only the first {WORDS_MAX} characters were searched for.")
        return value[:WORDS_MAX].strip()

    def values(self, name: str, known: Collection[str] = ()) -> tuple[str, ...]:
        """Return each value once, at most VALUES_MAX; only those in `known`, if it is not empty."""
        kept: list[str] = []
        for value in dict.fromkeys(filter(None, self._params.getlist(name))):
            if (value in known if known else _is_text(value)) and len(kept) < VALUES_MAX:
                kept.append(value)
            else:
                self.ignore(name, value)
        return tuple(kept)

    def all(self, name: str) -> list[str]:
        """Return every value as it was sent."""
        return self._params.getlist(name)

    def key(self, name: str) -> int | None:
        return whole_number(self._params.get(name, "")) or None

    def cursor(self, name: str, order: Order) -> Cursor | None:
        value = self._params.get(name, "")
        try:
            return order.parse(value) if value else None
        except ValueError:
            self.ignore(name, value)
            return None

    def ignore(self, name: str, value: str, why: str = "there is no such value") -> None:
        """Add a note that a value was ignored, and why; at most NOTES_MAX notes."""
        if len(self.notes) < NOTES_MAX:
            shown = value.replace("\0", "\N{REPLACEMENT CHARACTER}")
            shown = shown if len(shown) <= SHOWN_MAX else f"{shown[:SHOWN_MAX]}…"
            self.notes.append(f"Ignored {name} “{shown}”: {why}.")


def whole_number(text: str) -> int | None:
    """Parse a number of at most 18 decimal digits, as a primary key has; None for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


def _is_text(value: str) -> bool:
    return "\0" not in value and len(value) <= VALUE_MAX


def _written_value(value: object) -> Value:
    if isinstance(value, tuple):
        return value
    return str(int(value)) if isinstance(value, bool) else str(value)
