"""Tokens of a query: terms with their position. The scan is linear.

A word ends at white space, a quotation mark or a parenthesis; `()` directly behind a character belongs to it,
as in `main()`. `key:` begins a condition if the key is ASCII and begins with a letter, unless `//` follows:
`http://host` and `12:30` are words. The name in `metadata.NAME` may be in quotation marks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dashboard.query_language.errors import QueryError

if TYPE_CHECKING:
    from collections.abc import Iterator

Kind = Literal["(", ")", "and", "or", "not", "word", "phrase", "key"]

SPACE = re.compile(r"\s+")
BARE = re.compile(r'[^\s()"]+(?:\([^\s()"]*\)[^\s()"]*)*')  # a word, or a value without quotation marks
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"(\*?)', re.DOTALL)
KEY = re.compile(r'([A-Za-z][A-Za-z0-9_-]*(?:\.[^\s:()"]+|\.)?):(?!//)')
NAMED_KEY = re.compile(r'(metadata|score)\."((?:[^"\\]|\\.)+)":', re.IGNORECASE | re.DOTALL)
LIST_ITEM = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"(\*?)|([^\s,\[\]()"]+))\s*', re.DOTALL)
BEGINNING = re.compile(r"((?:[^\\]|\\.)+)\*", re.DOTALL)  # a text between quotation marks that ends in a star
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
SIGN = re.compile(r"[<>]=?")
NO_NEGATION = frozenset("-!=>)")  # behind a dash: `--verbose`, `->` and `!=` are words
KEYWORDS: dict[str, Kind] = {"AND": "and", "OR": "or", "NOT": "not"}
CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a condition, and where it stands."""

    text: str
    at: int
    length: int
    is_prefix: bool = False


@dataclass(frozen=True, slots=True)
class Token:
    """One token; `at` and `end` are positions in the query."""

    kind: Kind
    at: int
    end: int
    text: str = ""  # the word, the phrase or the key
    is_prefix: bool = False
    sign: str = ""  # of a condition: > >= < <=
    values: tuple[Value, ...] = ()


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of a query. Raises QueryError."""
    if found := CONTROL.search(text):
        raise QueryError(found.start(), 1, "A control character cannot be searched for.", "")
    at = 0
    while at < len(text):
        if space := SPACE.match(text, at):
            at = space.end()
            continue
        token = _token(text, at)
        yield token
        at = token.end


def quote(text: str) -> str:
    """Return a text in quotation marks."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def quote_value(text: str) -> str:
    """Return a value in quotation marks, which is no beginning though it may end in a star."""
    return f'{quote(text)[:-2]}\\*"' if text.endswith("*") else quote(text)


def unescape(text: str) -> str:
    """Return the text that stands between quotation marks."""
    return ESCAPED.sub(r"\1", text)


def is_plain_word(text: str, *, is_prefix: bool) -> bool:
    """Return whether a word is read back as itself without quotation marks."""
    try:
        found = list(tokens(f"{text}*" if is_prefix else text))
    except QueryError:
        return False
    return [(each.kind, each.text, each.is_prefix) for each in found] == [("word", text, is_prefix)]


def negates(text: str, at: int) -> bool:
    """Return whether the dash or exclamation mark at `at` is a negation: no space and no sign follows."""
    following = text[at + 1 : at + 2]
    return bool(following) and not following.isspace() and following not in NO_NEGATION


def is_plain_key(key: str) -> bool:
    """Return whether a key is read back as itself without quotation marks."""
    return bool(KEY.fullmatch(f"{key}:"))


def is_plain_value(text: str) -> bool:
    """Return whether a value is read back as itself without quotation marks, alone and in a list."""
    bare = BARE.fullmatch(text)
    if not bare or text.endswith("*") or text.startswith(("[", "<", ">", "//")):
        return False
    return not set(",[]()") & set(text)


def _token(text: str, at: int) -> Token:
    char = text[at]
    if char == "(":
        return Token("(", at, at + 1)
    if char == ")":
        return Token(")", at, at + 1)
    if char == '"':
        quoted = _match_quoted(text, at)
        return Token("phrase", at, quoted.end(), unescape(quoted[1]), bool(quoted[2]))
    if char in "-!" and negates(text, at):
        return Token("not", at, at + 1)
    if key := NAMED_KEY.match(text, at) or KEY.match(text, at):
        return _condition(text, key)
    return _word(text, at)


def _word(text: str, at: int) -> Token:
    end = BARE.match(text, at).end()  # type: ignore[union-attr]  # the caller has seen a character of a word
    for word, kind in KEYWORDS.items():
        if text.startswith(word, at) and (at + len(word) == end or text[at + len(word)] == "("):
            return Token(kind, at, at + len(word))
    word = text[at:end]
    if len(word) > 1 and word.endswith("*"):
        return Token("word", at, end, word[:-1], is_prefix=True)
    return Token("word", at, end, word)


def _condition(text: str, key: re.Match[str]) -> Token:
    at = key.end()
    found = SIGN.match(text, at)
    sign = found[0] if found else ""
    at += len(sign)
    following = text[at : at + 1]
    if following == "[":
        return _list(text, key, at, sign)
    if following == '"':
        quoted = _match_quoted(text, at)
        value = _quoted_value(quoted, at, quoted.end() - at)
        return Token("key", key.start(), quoted.end(), _name(key), value.is_prefix, sign, (value,))
    bare = BARE.match(text, at)
    if bare is None:
        return Token("key", key.start(), at, _name(key), sign=sign)
    value = _bare_value(bare[0], at)
    return Token("key", key.start(), bare.end(), _name(key), value.is_prefix, sign, (value,))


def _name(key: re.Match[str]) -> str:
    return key[1] if key.re is KEY else f"{key[1]}.{unescape(key[2])}"


def _list(text: str, key: re.Match[str], start: int, sign: str) -> Token:
    if sign:
        raise QueryError(start - len(sign), len(sign), "A list has no comparison.", "")
    values: list[Value] = []
    at = start + 1
    while True:
        item = LIST_ITEM.match(text, at)
        if item is None:
            raise _bad_list(text, start, at)
        values.append(_item(item))
        at = item.end()
        if text[at : at + 1] == "]":
            return Token("key", key.start(), at + 1, _name(key), values=tuple(values))
        if text[at : at + 1] != ",":
            raise _bad_list(text, start, at)
        at += 1


def _item(item: re.Match[str]) -> Value:
    if item[3] is not None:
        return _bare_value(item[3], item.start(3))
    return _quoted_value(item, item.start(1) - 1, item.end(2) - item.start(1) + 1)


def _bare_value(text: str, at: int) -> Value:
    is_prefix = len(text) > 1 and text.endswith("*")
    return Value(text[:-1] if is_prefix else text, at, len(text), is_prefix)


def _quoted_value(quoted: re.Match[str], at: int, length: int) -> Value:
    """Return the value between quotation marks: a beginning if a star follows or ends it, unless escaped."""
    if quoted[2]:
        return Value(unescape(quoted[1]), at, length, is_prefix=True)
    begins = BEGINNING.fullmatch(quoted[1])
    return Value(unescape(begins[1] if begins else quoted[1]), at, length, is_prefix=bool(begins))


def _bad_list(text: str, start: int, at: int) -> QueryError:
    if at >= len(text):
        return QueryError(start, 1, "This bracket is not closed.", None)
    if text[at] == '"':
        return QueryError(at, len(text) - at, "This quotation mark is not closed.", None)
    return QueryError(at, 1, "A list is written as [a,b]; quote values that hold spaces or signs.", None)


def _match_quoted(text: str, at: int) -> re.Match[str]:
    quoted = QUOTED.match(text, at)
    if quoted is None:
        fix = None if text.endswith("\\") else f'{text[at:]}"'
        raise QueryError(at, len(text) - at, "This quotation mark is not closed.", fix)
    return quoted
