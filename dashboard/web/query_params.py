"""What the address of a page asks for: read once into a frozen dataclass, written back into links."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Self, TypeAlias
from urllib.parse import urlencode

from dashboard.web.keyset import Cursor, Order

if TYPE_CHECKING:
    from django.http import QueryDict

    from dashboard.web.links import Value

Choices: TypeAlias = list[tuple[str, str, bool]]  # value, link, whether it is chosen

WINDOWS = {
    "1h": timedelta(hours=1),
    "24h": timedelta(hours=24),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
    "90d": timedelta(days=90),
    "all": None,
}
WORDS_MAX = 200
VALUE_MAX, VALUES_MAX = 512, 50  # characters; values of one name
SHOWN_MAX, NOTES_MAX = 60, 5
PASSING = ("before", "after", "undo")  # what only this page of the list is about


@dataclass(frozen=True, slots=True)
class Address:
    """A query string: a field is a name in it, its default what is usual. What is not compared is no name."""

    def but(self, **changes: Any) -> Self:
        """Return the same, on its first page, but for `changes`."""
        passing = {each.name: None for each in fields(self) if each.name in PASSING}
        return replace(self, **passing | changes)

    def pairs(self) -> dict[str, Value]:
        """Return the query string's names and values, without what is usual."""
        said = {each: getattr(self, each.name) for each in fields(self) if each.compare}
        return {each.name: _written(value) for each, value in said.items() if value != each.default}

    @property
    def is_narrow(self) -> bool:
        """Say whether anything is asked for that would leave something out."""
        return bool(self.but().pairs())

    @property
    def query(self) -> str:
        """Return the link to exactly this, relative to the page: "?…", never empty."""
        return "?" + urlencode(self.pairs(), doseq=True)

    def choices(self, name: str, values: Iterable[str]) -> Choices:
        """Return what can be asked for in place of the value of that name."""
        return [(each, self.but(**{name: each}).query, each == getattr(self, name)) for each in values]


class Reading:
    """A query string being read; `notes` say what of it made no sense and is left out."""

    def __init__(self, params: QueryDict) -> None:
        self._params = params
        self.notes: list[str] = []

    def choice(self, name: str, known: Collection[str], usual: str) -> str:
        given = self._params.get(name, "")
        if given and given not in known:
            self.ignore(name, given)
        return given if given in known else usual

    def text(self, name: str) -> str:
        """Return one value of any kind: a name that somebody gave."""
        given = self._params.get(name, "")
        if not _is_text(given):
            self.ignore(name, given)
            return ""
        return given

    def words(self, name: str) -> str:
        """Return words to look for."""
        given = self._params.get(name, "").replace("\0", "").strip()
        if len(given) > WORDS_MAX:
            self.notes.append(f"Only the first {WORDS_MAX} characters were searched for.")
        return given[:WORDS_MAX].strip()

    def values(self, name: str, known: Collection[str] = ()) -> tuple[str, ...]:
        """Return each value once: of those that are known, where any are."""
        kept: list[str] = []
        for value in dict.fromkeys(filter(None, self._params.getlist(name))):
            if (value in known if known else _is_text(value)) and len(kept) < VALUES_MAX:
                kept.append(value)
            else:
                self.ignore(name, value)
        return tuple(kept)

    def key(self, name: str) -> int | None:
        return whole_number(self._params.get(name, "")) or None

    def cursor(self, name: str, order: Order) -> Cursor | None:
        given = self._params.get(name, "")
        try:
            return order.parse(given) if given else None
        except ValueError:
            self.ignore(name, given)
            return None

    def ignore(self, name: str, value: str, why: str = "there is no such value") -> None:
        """Say that there is no such value, or what it may be."""
        if len(self.notes) < NOTES_MAX:
            shown = value.replace("\0", "\N{REPLACEMENT CHARACTER}")
            shown = shown if len(shown) <= SHOWN_MAX else f"{shown[:SHOWN_MAX]}…"
            self.notes.append(f"Ignored {name} “{shown}”: {why}.")


def whole_number(text: str) -> int | None:
    """Return a number that may be a primary key, None for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


def start(since: str, now: datetime) -> datetime | None:
    """Return when a time range of `WINDOWS` begins; None is as far back as there is anything."""
    window = WINDOWS[since]
    return now - window if window else None


def _is_text(value: str) -> bool:
    return "\0" not in value and len(value) <= VALUE_MAX


def _written(value: object) -> Value:
    if isinstance(value, tuple):
        return value
    return str(int(value)) if isinstance(value, bool) else str(value)
