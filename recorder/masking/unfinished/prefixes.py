r"""Derives from a rule's pattern the pattern of its prefixes: what may become a match when more text follows.

The prefixes of `A B C` are those of `A`, or `A` and those of `B`, or `A B` and those of `C`; those of
`X{m,n}` of one character are `X{0,n}`; those of `(a|b)` are those of `a` or of `b`. A match is a prefix too,
as the next character may make it longer, or none.

A prefix counts from where the public part of the rule is complete: the literals with which it begins, or all
that stands before its group. So an ordinary text has none. Where a rule begins with a part of the key itself,
it counts from where that part is complete, or its first literal, if the part has less than `LEAD_MIN`
characters.

Only the syntax that the definite rules use is read; a test derives the prefixes of each of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

_QUANTIFIER = re.compile(r"\{(\d+)(?:(,)(\d*))?\}|[*+?]")
_FLAGS = re.compile(r"\(\?([a-z]+)\)")
_HEADER = re.compile(r"\(\?[a-z]*:|\(")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]")
_FEW = re.compile(r"\[[^\^\\-]{1,12}\]")  # a class of a few characters, which is a part of an anchor
LEAD_MIN = 8
_Items = list["_Item"]


@dataclass(frozen=True, slots=True)
class _Item:
    """A part of a pattern: one character or class, a group, or an assertion, which takes no characters."""

    source: str  # without the quantifier; of a group without its brackets
    header: str = ""  # of a group
    alternatives: tuple[_Items, ...] = ()
    is_assertion: bool = False
    is_captured: bool = False
    low: int = 1
    high: int | None = 1
    quantifier: str = ""

    @property
    def whole(self) -> str:
        """The item as a pattern that captures nothing."""
        if not self.header:
            return f"{self.source}{self.quantifier}"
        return f"{self.header}{'|'.join(map(_whole, self.alternatives))}){self.quantifier}"

    @property
    def prefixes(self) -> str:
        """The pattern of all prefixes, from the empty one to the whole."""
        if self.is_assertion:
            return ""
        most = "*" if self.high is None else f"{{0,{self.high}}}"
        if not self.header:
            return f"{self.source}{most}"
        inside = f"{self.header}{'|'.join(map(_prefixes, self.alternatives))})"
        if self.high == 1:
            return inside
        before = "*" if self.high is None else f"{{0,{self.high - 1}}}"
        return f"(?:{self.header}{'|'.join(map(_whole, self.alternatives))})){before}{inside}"

    @property
    def is_literal(self) -> bool:
        """Return whether this may be a part of an anchor."""
        if self.is_assertion:
            return True
        if self.high != 1:
            return False
        if self.header:
            return all(item.is_literal for items in self.alternatives for item in items)
        return (
            self.source[0] not in "[\\" or self.source in {r"\.", r"\-"} or bool(_FEW.fullmatch(self.source))
        )


class Prefix(NamedTuple):
    """A pattern of a rule's prefixes, and of the public part with which all of them begin.

    With `is_group`, group 1 is what may be secret of a prefix. With `may_be_word` a prefix may be
    the part of a key before its anchor alone.
    """

    pattern: str
    public: str
    is_group: bool
    may_be_word: bool = False


def prefixes_of(pattern: str, group: int, *, from_anchor: bool = False) -> list[Prefix]:
    """Return the prefixes of a rule's pattern; with `from_anchor` none that may be a word alone.

    Raises ValueError for syntax that is not read here.
    """
    flags = _FLAGS.match(pattern)
    items, at = _alternatives(pattern, flags.end() if flags else 0)
    if at != len(pattern):
        raise ValueError(f"bracket without its pair in {pattern}")
    around = f"(?{flags[1]}:" if flags else "(?:"
    return [
        Prefix(f"{around}{found.pattern})", f"{around}{found.public})", found.is_group, found.may_be_word)
        for alternative in items
        for found in [(_of_group if group else _of_match)(alternative, from_anchor=from_anchor)]
    ]


def _of_match(items: _Items, *, from_anchor: bool) -> Prefix:
    end = next((at for at, item in enumerate(items) if not item.is_literal), len(items))
    may_be_word = False
    if all(item.is_assertion for item in items[:end]):  # the key begins with a part of its own
        end += 1
        may_be_word = items[end - 1].low >= LEAD_MIN and not from_anchor
        if not may_be_word:
            end = next(at for at in range(end, len(items)) if items[at].is_literal) + 1
    public = _whole(items[:end])
    return Prefix(f"{public}{_prefixes(items[end:])}", public, is_group=False, may_be_word=may_be_word)


def _of_group(items: _Items, *, from_anchor: bool) -> Prefix:
    at = next(place for place, item in enumerate(items) if item.is_captured)
    if all(item.is_assertion for item in items[:at]):
        (inside,) = items[at].alternatives
        return _of_match([*items[:at], *inside, *items[at + 1 :]], from_anchor=from_anchor)
    public = _whole(items[:at])
    return Prefix(f"{public}({_prefixes(items[at:])})", public, is_group=True)


def _whole(items: Sequence[_Item]) -> str:
    return "".join(item.whole for item in items)


def _prefixes(items: Sequence[_Item]) -> str:
    found = ""
    for at in range(len(items) - 1, -1, -1):
        item = items[at]
        if at == len(items) - 1:
            found = item.prefixes
        elif item.is_assertion:
            found = f"(?:{item.source}{found})?" if found else ""
        else:
            found = f"(?:{item.prefixes}|{item.whole}{found})"
    return found


def _alternatives(pattern: str, at: int) -> tuple[list[_Items], int]:
    """Return the alternatives from an offset on, and the offset of the bracket that ends them."""
    found: list[_Items] = [[]]
    while at < len(pattern) and pattern[at] != ")":
        if pattern[at] == "|":
            found.append([])
            at += 1
            continue
        item, at = _item(pattern, at)
        found[-1].append(item)
    return found, at


def _item(pattern: str, at: int) -> tuple[_Item, int]:
    header, source, captures = "", "", False
    alternatives: tuple[_Items, ...] = ()
    if pattern[at] == "(":
        if pattern.startswith(("(?=", "(?!", "(?<", "(?P"), at):
            raise ValueError(f"group that is not read in {pattern}")
        header = _found(_HEADER, pattern, at)
        inside, end = _alternatives(pattern, at + len(header))
        alternatives, at = tuple(inside), end + 1
        captures, header = header == "(", "(?:" if header == "(" else header
    elif pattern[at] == "[":
        source = _found(_CLASS, pattern, at)
        at += len(source)
    else:
        source = pattern[at : at + 2] if pattern[at] == "\\" else pattern[at]
        at += len(source)
    quantifier = _QUANTIFIER.match(pattern, at)
    low, high = (1, 1) if quantifier is None else _limits(quantifier)
    end = at if quantifier is None else quantifier.end()
    end += quantifier is not None and pattern.startswith("?", end)
    text = pattern[at:end]
    return _Item(source, header, alternatives, source == r"\b", captures, low, high, text), end


def _limits(quantifier: re.Match[str]) -> tuple[int, int | None]:
    match quantifier[0]:
        case "*":
            return 0, None
        case "+":
            return 1, None
        case "?":
            return 0, 1
    low = int(quantifier[1])
    return low, (int(quantifier[3]) if quantifier[3] else None) if quantifier[2] else low


def _found(regex: re.Pattern[str], pattern: str, at: int) -> str:
    found = regex.match(pattern, at)
    if found is None:
        raise ValueError(f"syntax that is not read at {at} in {pattern}")
    return found[0]
