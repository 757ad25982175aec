"""Words that a query searches for, and what is left of it without them."""

from __future__ import annotations

from dashboard.query_language.nodes import And, Condition, Node, Not, Or, Words


def positive_words(node: Node | None) -> tuple[Words, ...]:
    """Return the words that a query searches for, without those that it excludes."""
    match node:
        case Words():
            return (node,)
        case And(nodes) | Or(nodes):
            return tuple(word for part in nodes for word in positive_words(part))
        case _:
            return ()


def without_words(node: Node | None) -> Node | None:
    """Return a query without words that all records satisfy that satisfy `node`; None if any record may."""
    match node:
        case And(nodes):
            parts = tuple(part for part in map(without_words, nodes) if part is not None)
            return And(parts) if len(parts) > 1 else parts[0] if parts else None
        case Or(nodes):
            parts = tuple(part for part in map(without_words, nodes) if part is not None)
            return Or(parts) if len(parts) == len(nodes) else None
        case Not(inner):
            return None if _has_words(inner) else node
        case Condition():
            return node
        case _:
            return None


def _has_words(node: Node) -> bool:
    match node:
        case Words():
            return True
        case And(nodes) | Or(nodes):
            return any(map(_has_words, nodes))
        case Not(inner):
            return _has_words(inner)
        case _:
            return False
