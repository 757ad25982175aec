"""The only module that imports RE2: regular expressions in linear time, on bytes.

Rules of ours are Latin-1, in which a byte is a character. Patterns of a project are UTF-8.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, cast

import re2

_UNANCHORED = re2._Anchor.UNANCHORED  # noqa: SLF001  its own wrapper makes an object of each match
_NONE = (-1, -1)
MEMORY = 32 * 1024 * 1024  # bytes, of a compiled pattern with the states of its automaton at most


class BadPattern(ValueError):
    """A pattern that RE2 does not read, with RE2's reason."""


class _Compiled(Protocol):
    def Match(self, anchor: object, text: bytes, pos: int, end: int) -> list[tuple[int, int]]: ...  # noqa: N802

    def NumberOfCapturingGroups(self) -> int: ...  # noqa: N802


class Regex:
    """A compiled pattern. Raises BadPattern."""

    def __init__(self, pattern: str, *, is_text: bool = False) -> None:
        try:
            compiled = re2.compile(pattern.encode(), _options(is_text=is_text))
        except (re2.error, UnicodeEncodeError) as error:
            raise BadPattern(_reason(error)) from None
        self._regexp = cast("_Compiled", compiled._regexp)  # noqa: SLF001  as above

    @property
    def groups(self) -> int:
        """Number of capturing groups."""
        return self._regexp.NumberOfCapturingGroups()

    def matches_empty(self) -> bool:
        """Return whether the empty text matches."""
        return self._regexp.Match(_UNANCHORED, b"", 0, 0)[0] != _NONE

    def first(self, text: bytes, at: int, group: int = 0) -> int:
        """Return where a group of the first match from `at` on begins, the size of the text without one."""
        found = self._regexp.Match(_UNANCHORED, text, at, len(text))
        return len(text) if found[0] == _NONE else found[group][0]

    def spans(self, text: bytes, group: int) -> list[tuple[int, int]]:
        """Return start and end of a group, in bytes, of all matches from left to right that are not empty.

        The search goes on behind the group and not behind the match, so that the text beside one secret
        may be beside the next one, too.
        """
        spans: list[tuple[int, int]] = []
        match, at, end = self._regexp.Match, 0, len(text)
        while at < end:
            found = match(_UNANCHORED, text, at, end)
            if found[0] == _NONE:
                break
            span = found[group]
            if span[0] < span[1]:
                spans.append(span)
            at = max(at + 1, span[1] if span != _NONE else found[0][1])
        return spans


class RegexSet:
    """Several patterns that are searched in one scan."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._set = re2.Set.SearchSet(_options(is_text=False))
        for pattern in patterns:
            self._set.Add(pattern.encode())
        self._set.Compile()

    def match(self, text: bytes) -> Sequence[int]:
        """Return the numbers of the patterns that occur in a text, in any order."""
        return cast("Sequence[int]", self._set.Match(text) or ())


def _options(*, is_text: bool) -> re2.Options:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.UTF8 if is_text else re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = MEMORY
    return options


def _reason(error: Exception) -> str:
    first = error.args[0] if error.args else ""
    return first.decode(errors="replace") if isinstance(first, bytes) else str(first)
