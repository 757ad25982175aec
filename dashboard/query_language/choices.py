"""Values that menus choose: the conditions `key:value` and `key:[a,b]` of a query that must hold. Pure.

Without a script a form cannot change the text of a query, so menus send parameters of their own, and the page
writes them into the query. Addresses of before pages had queries have the same parameters.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from dashboard.query_language.errors import QueryError
from dashboard.query_language.nodes import And, Condition, Node
from dashboard.query_language.parser import parse
from dashboard.query_language.printer import conjunction, print_query
from dashboard.web.filters import SHOWN, Menu, Option

if TYPE_CHECKING:
    from django.http import QueryDict

    from dashboard.web.query_params import Reading

Pair: TypeAlias = tuple[str, str]  # key and value
EACH = ("has", "is")  # keys of which several values must all hold: a condition each


@dataclass(frozen=True, slots=True)
class MenuKey:
    """A parameter that menus send, and the key whose values it has."""

    param: str
    key: str
    known: Sequence[str] = ()  # valid values; any text if it is empty


@dataclass(frozen=True, slots=True)
class MenuKeys:
    """The menus of a page that write its query."""

    keys: Sequence[MenuKey]
    each: Collection[str] = EACH

    def text(self, read: Reading, params: QueryDict) -> str:
        """Return the query of an address, with what menus chose; a query with an error stays as it is."""
        typed = params.get("q", "").strip()
        try:
            node = parse(typed)
        except QueryError:
            return typed
        pairs = [(each.key, value) for each in self.keys for value in read.values(each.param, each.known)]
        wanted = [pair for pair in pairs if is_valid(*pair)]
        return print_query(choose(node, wanted, shown=shown_pairs(read), each=self.each))

    def on(self, menus: Sequence[Menu]) -> list[Menu]:
        """Return the menus, their options with the conditions that they write into the query."""
        return with_conditions(menus, {each.param: each.key for each in self.keys})


def with_conditions(menus: Sequence[Menu], keys: Mapping[str, str]) -> list[Menu]:
    """Return the menus, their options with the conditions that they write; `keys` has a key by parameter.

    An option of another parameter, as an order, writes none.
    """
    return [replace(menu, options=[_with_condition(each, keys) for each in menu.options]) for menu in menus]


def shown_pairs(read: Reading) -> list[Pair]:
    """Return the values that the menus of a sent form had shown as chosen."""
    found = map(parsed_condition, read.values(SHOWN))
    return [(each.key, each.values[0]) for each in found if each]


def is_valid(key: str, value: str) -> bool:
    """Return whether a query can have this value of a key."""
    condition = Condition(key, "=", (value,))
    return parsed_condition(print_query(condition)) == condition


def _with_condition(option: Option, keys: Mapping[str, str]) -> Option:
    key = keys.get(option.name)
    return replace(option, condition=print_query(Condition(key, "=", (option.value,)))) if key else option


def chosen(node: Node | None) -> Mapping[str, tuple[str, ...]]:
    """Return the chosen values of each key."""
    found: dict[str, tuple[str, ...]] = {}
    for key, value in _pairs(node):
        found[key] = (*found.get(key, ()), value)
    return found


def choose(
    node: Node | None,
    pairs: Iterable[Pair],
    *,
    shown: Collection[Pair] = (),
    each: Collection[str] = EACH,
) -> Node | None:
    """Return the query with these values chosen, and without those that were only `shown`.

    A value that was shown as chosen and still is was not changed in its menu: there the query itself counts.
    """
    wanted = dict.fromkeys(pairs)
    dropped = set(shown) - set(wanted)
    left = [kept for part in _parts(node) if (kept := _without(part, dropped))]
    known = {*_pairs(conjunction(left)), *shown}
    missing = [pair for pair in wanted if pair not in known]
    for key, value in missing:
        _add(left, key, value, each)
    return conjunction(left)


def replace_value(node: Node | None, key: str, value: str) -> Node | None:
    """Return the query with this value chosen in place of all others of its key."""
    return choose(node, [(key, value)], shown=[(key, other) for other in chosen(node).get(key, ())])


def parsed_condition(text: str) -> Condition | None:
    """Return the one condition of a text; None for any other text."""
    try:
        node = parse(text)
    except QueryError:
        return None
    return node if isinstance(node, Condition) else None


def _parts(node: Node | None) -> tuple[Node, ...]:
    return node.nodes if isinstance(node, And) else (node,) if node else ()


def _pairs(node: Node | None) -> Iterator[Pair]:
    for part in _parts(node):
        if isinstance(part, Condition) and part.operator == "=":
            yield from ((part.key, value) for value in part.values)


def _without(part: Node, pairs: Collection[Pair]) -> Node | None:
    if not isinstance(part, Condition) or part.operator != "=":
        return part
    values = tuple(value for value in part.values if (part.key, value) not in pairs)
    if not values:
        return Condition(part.key, "begins", part.begins) if part.begins else None
    return replace(part, values=values)


def _add(parts: list[Node], key: str, value: str, each: Collection[str]) -> None:
    for at, part in enumerate(parts):
        if isinstance(part, Condition) and (part.key, part.operator) == (key, "=") and key not in each:
            parts[at] = replace(part, values=(*part.values, value))
            return
    parts.append(Condition(key, "=", (value,)))
