"""The heads of a table whose columns sort: links that order by a column, or turn its order."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self


class Sorted(Protocol):
    """An address with an order: `sort` is the name of a column, with "-" before it from the highest on."""

    @property
    def sort(self) -> str: ...
    @property
    def query(self) -> str: ...
    def but(self, **changes: Any) -> Self: ...


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column, a link that sorts by it; `order` is "ascending", "descending" or ""."""

    label: str
    order: str
    url: str
    is_right: bool
    title: str = ""  # the effect of the link


def heads(
    address: Sorted, columns: Mapping[str, str], plain: Collection[str] = (), texts: Collection[str] = ()
) -> list[Head]:
    """Return the heads of columns by their names; those in `plain` do not sort.

    `texts` and plain ones are at the left; a first click orders texts from A on, numbers from the highest on.
    """
    return [
        Head(label, "", "", is_right=False)
        if name in plain
        else _head(address, name, label, is_text=name in texts)
        for name, label in columns.items()
    ]


def _head(address: Sorted, name: str, label: str, *, is_text: bool) -> Head:
    order = {name: "ascending", f"-{name}": "descending"}.get(address.sort, "")
    descends = order == "ascending" or (not order and not is_text)
    url = address.but(sort=f"-{name}" if descends else name).query
    first = ("A to Z", "Z to A") if is_text else ("lowest first", "highest first")
    return Head(label, order, url, is_right=not is_text, title=f"Sort, {first[descends]}")
