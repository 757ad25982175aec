"""Write a query as text. Parsing the text gives the same nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from dashboard.query_language.nodes import And, Condition, Node, Not, Or, Words
from dashboard.query_language.tokens import (
    is_plain_key,
    is_plain_value,
    is_plain_word,
    negates,
    quote,
    quote_value,
)

if TYPE_CHECKING:
    from collections.abc import Iterable


def print_query(node: Node | None) -> str:
    """Return the text of a query; an empty one for None."""
    match node:
        case None:
            return ""
        case And(nodes):
            return " ".join(_part(part, And, Or) for part in nodes)
        case Or(nodes):
            return " OR ".join(_part(part, Or) for part in nodes)
        case Words():
            return _words(node)
        case Condition():
            return _condition(node)
        case Not(inner):
            text = _part(inner, And, Or, Not)
            return f"-{text}" if negates(f"-{text}", 0) else f"NOT {text}"
        case _:
            assert_never(node)


def conjunction(parts: Iterable[Node]) -> Node | None:
    """Return the nodes joined by AND: None without any, the node itself if there is one."""
    nodes = tuple(parts)
    return nodes[0] if len(nodes) == 1 else And(nodes) if nodes else None


def _part(node: Node, *grouped: type[Node]) -> str:
    text = print_query(node)
    return f"({text})" if isinstance(node, grouped) else text


def _words(words: Words) -> str:
    star = "*" if words.is_prefix else ""
    plain = not words.is_phrase and is_plain_word(words.text, is_prefix=words.is_prefix)
    return (words.text if plain else quote(words.text)) + star


def _condition(condition: Condition) -> str:
    key = _key(condition.key)
    star = "*" if condition.operator == "begins" else ""
    values = [_value(value) + star for value in condition.values]
    values += [f"{_value(value)}*" for value in condition.begins]
    if len(values) != 1:
        return f"{key}:[{','.join(values)}]"
    sign = "" if condition.operator in ("=", "begins") else condition.operator
    return f"{key}:{sign}{values[0]}"


def _key(key: str) -> str:
    family, dot, name = key.partition(".")
    return f"{family}.{quote(name)}" if dot and not is_plain_key(key) else key


def _value(text: str) -> str:
    return text if is_plain_value(text) else quote_value(text)
