"""Parse a query by recursive descent. The work is linear in its length, which is bounded.

or        = and { "OR" and }
and       = not { [ "AND" ] not }
not       = ( "NOT" | "-" | "!" ) not | primary
primary   = "(" or ")" | condition | "phrase" [ "*" ] | word [ "*" ]
condition = key ":" [ ">" | ">=" | "<" | "<=" ] text | key ":[" text { "," text } "]"
text      = value [ "*" ], where a star may also end a quoted value
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dashboard.query_language import tokens as scan
from dashboard.query_language.check import checked
from dashboard.query_language.errors import QueryError
from dashboard.query_language.nodes import And, Node, Not, Or, Words
from recorder.core.search.tokens import PREFIX_CHARACTERS, is_short_prefix

if TYPE_CHECKING:
    from dashboard.query_language.tokens import Kind, Token

LENGTH_MAX = 2_000  # characters of a query
DEPTH_MAX = 16  # of parentheses and negations
NODES_MAX = 64  # words and conditions

OPERAND = "A word, a condition or a parenthesis must follow."


def parse(text: str) -> Node | None:
    """Return the query as a tree; None if it is empty. Raises QueryError."""
    if len(text) > LENGTH_MAX:
        message = f"A query has at most {LENGTH_MAX:,} characters."
        raise QueryError(LENGTH_MAX, len(text) - LENGTH_MAX, message)
    found = list(scan.tokens(text))
    return _Parser(text, found).query() if found else None


@dataclass(slots=True)
class _Parser:
    """The tokens of one query, and the position in them."""

    text: str
    tokens: list[Token]
    at: int = 0
    depth: int = 0
    nodes: int = 0

    def query(self) -> Node:
        node = self._or()
        if token := self._next():  # only a parenthesis ends an expression
            raise QueryError(token.at, 1, "This parenthesis was not opened.", "")
        return node

    def _or(self) -> Node:
        nodes = [self._and()]
        while self._take("or"):
            nodes.append(self._and())
        return nodes[0] if len(nodes) == 1 else Or(tuple(nodes))

    def _and(self) -> Node:
        nodes = [self._not()]
        while True:
            if not self._take("and") and self._peek() in (None, "or", ")"):
                return nodes[0] if len(nodes) == 1 else And(tuple(nodes))
            nodes.append(self._not())

    def _not(self) -> Node:
        token = self._take("not")
        if token is None:
            return self._primary()
        self._enter(token)
        node = self._not()
        self.depth -= 1
        return Not(node)

    def _primary(self) -> Node:
        token = self._next()
        if token is None or token.kind in ("and", "or", ")"):
            raise self._no_operand(token)
        self.at += 1
        if token.kind == "(":
            return self._group(token)
        self.nodes += max(
            1, sum(value.is_prefix for value in token.values)
        )  # each beginning is compared alone
        if self.nodes > NODES_MAX:
            message = f"A query has at most {NODES_MAX} words and conditions."
            raise QueryError(token.at, token.end - token.at, message)
        if token.kind == "key":
            return checked(self.text, token)
        if token.is_prefix and is_short_prefix(token.text):
            message = f"“{token.text}*” needs {PREFIX_CHARACTERS} letters or digits before the star."
            raise QueryError(token.at, token.end - token.at, message, token.text)
        return Words(token.text, is_phrase=token.kind == "phrase", is_prefix=token.is_prefix)

    def _group(self, opened: Token) -> Node:
        self._enter(opened)
        if self._peek() == ")":
            raise QueryError(
                opened.at, self.tokens[self.at].end - opened.at, "These parentheses are empty.", ""
            )
        if self._peek() is None:
            raise self._not_closed(opened)
        node = self._or()
        if not self._take(")"):
            raise self._not_closed(opened)
        self.depth -= 1
        return node

    def _enter(self, token: Token) -> None:
        self.depth += 1
        if self.depth > DEPTH_MAX:
            message = f"Parentheses and negations are nested at most {DEPTH_MAX} deep."
            raise QueryError(token.at, token.end - token.at, message)

    def _not_closed(self, opened: Token) -> QueryError:
        return QueryError(opened.at, 1, f"The parenthesis at character {opened.at + 1} is not closed.")

    def _no_operand(self, token: Token | None) -> QueryError:
        before = self.tokens[self.at - 1] if self.at else None
        if before is not None and before.kind in ("and", "or", "not"):
            word = self.text[before.at : before.end]
            return QueryError(before.at, before.end - before.at, f"Nothing follows {word}. {OPERAND}")
        if token is None:
            return QueryError(len(self.text), 0, OPERAND)
        word = self.text[token.at : token.end]
        fix = f'"{word}"' if token.kind != ")" else ""
        message = f"Nothing precedes {word}." if token.kind != ")" else "This parenthesis was not opened."
        return QueryError(token.at, token.end - token.at, message, fix)

    def _peek(self) -> Kind | None:
        return self.tokens[self.at].kind if self.at < len(self.tokens) else None

    def _next(self) -> Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def _take(self, kind: Kind) -> Token | None:
        token = self._next()
        if token is None or token.kind != kind:
            return None
        self.at += 1
        return token
