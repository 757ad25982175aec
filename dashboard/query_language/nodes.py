"""Nodes of a parsed query. Immutable; equal queries have equal nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Operator = Literal["=", ">", ">=", "<", "<=", "begins"]


@dataclass(frozen=True, slots=True)
class Words:
    """One word, a "phrase" or a prefix*; searched in all recorded text."""

    text: str
    is_phrase: bool = False
    is_prefix: bool = False


@dataclass(frozen=True, slots=True)
class Condition:
    """`key:value`, `key:[a,b]`, `key:>=4`, `key:a*`, `has:key` or `is:word`; any of the values matches.

    The key is in lower case; `metadata.KEY` and `score.NAME` keep the case of KEY and NAME. `begins` are the
    beginnings in a list that has whole values, too: `key:[a,b*]`.
    """

    key: str
    operator: Operator
    values: tuple[str, ...]
    begins: tuple[str, ...] = ()

    @property
    def single(self) -> tuple[Condition, ...]:
        """Return conditions of which any matches, each with whole values or with one beginning."""
        if self.operator == "begins":
            return tuple(Condition(self.key, "begins", (value,)) for value in self.values)
        begins = (Condition(self.key, "begins", (value,)) for value in self.begins)
        return (Condition(self.key, self.operator, self.values), *begins)


@dataclass(frozen=True, slots=True)
class Not:
    node: Node


@dataclass(frozen=True, slots=True)
class And:
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    nodes: tuple[Node, ...]


Node = Words | Condition | Not | And | Or
