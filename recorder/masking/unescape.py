r"""Texts of a line with the escapes of JSON decoded, and the way back to the bytes of the line.

A string of JSON may hold JSON whose strings hold JSON again: a line feed is then `\n`, `\\n` or `\\\\n`, and
any character may be written as `\u0041`. The escapes are decoded over the whole line, once for each level,
until nothing changes: in one of these texts a secret stands as it is. Each text maps its offsets to those of
the line.

The line need not be valid JSON. Cost: linear in the line, a level at most as long as the one before it.
Decoding replaces bytes without a step of Python for each escape, except those with `u`; offsets are looked up
in portions of `PORTION` escapes, and only where something matched.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

LEVELS = 6  # a secret that is quoted more often stays; each level doubles its backslashes
PORTION = 256
_UNICODE = rb"u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}"
_ESCAPE = re.compile(rb"\\(?:" + _UNICODE + rb"|[\x00-\xff])")
_UNICODE_ESCAPE = re.compile(rb"\\(?:" + _UNICODE + rb")")
_PORTION = re.compile(rb"(?:\\(?:" + _UNICODE + rb"|[\x00-\xff]|\Z)|[^\\]{1,64}+){1,%d}+" % PORTION)
_CHARS = {
    rb"\"": b'"', rb"\\": b"\\", rb"\/": b"/",
    rb"\b": b"\b", rb"\f": b"\f", rb"\n": b"\n", rb"\r": b"\r", rb"\t": b"\t",
}  # fmt: skip


class Text:
    """One level of a line: its bytes, and the level from which it was decoded."""

    __slots__ = ("_portions", "_source", "_starts", "content")

    def __init__(self, content: bytes, source: Text | None = None) -> None:
        self.content = content
        self._source = source
        self._starts: list[int] = []  # of the portions, in this text
        self._portions: list[_Portion | tuple[int, int]] = []  # or the start and end of one in the source

    def line_span(self, start: int, end: int) -> tuple[int, int]:
        """Return start and end in the line of a stretch of this text that is not empty."""
        if self._source is None:
            return start, end
        source = self._source.content
        return self._source.line_span(
            self._source_span(source, start)[0], self._source_span(source, end - 1)[1]
        )

    def _source_span(self, source: bytes, at: int) -> tuple[int, int]:
        """Return the stretch of the source that became the byte at `at`."""
        if not self._starts:
            portions = [found.span() for found in _PORTION.finditer(source)]
            sizes = (len(unescape(source[start:end])) for start, end in portions)
            self._starts, self._portions = [*accumulate(sizes, initial=0)], [*portions]
        place = bisect_right(self._starts, at) - 1
        portion = self._portions[place]
        if not isinstance(portion, _Portion):
            portion = self._portions[place] = _located(source, *portion)
        return portion.source_span(at - self._starts[place])


class _Portion(NamedTuple):
    """The escapes of a stretch of a source: the positions of their characters once it is decoded."""

    start: int  # in the source
    starts: list[int]
    widths: list[int]
    escapes: list[tuple[int, int]]  # in the source

    def source_span(self, at: int) -> tuple[int, int]:
        place = bisect_right(self.starts, at) - 1
        if place < 0:
            return self.start + at, self.start + at + 1
        behind = at - self.starts[place] - self.widths[place]
        if behind < 0:
            return self.escapes[place]
        found = self.escapes[place][1] + behind
        return found, found + 1


def _located(source: bytes, start: int, end: int) -> _Portion:
    portion, shift = _Portion(start, [], [], []), start
    for escape in _ESCAPE.finditer(source, start, end):
        width = 1 if escape.group() in _CHARS else len(_char(escape))
        if width < escape.end() - escape.start():  # else it stays as it is
            portion.starts.append(escape.start() - shift)
            portion.widths.append(width)
            portion.escapes.append(escape.span())
            shift += escape.end() - escape.start() - width
    return portion


def texts_of(line: bytes) -> Iterator[Text]:
    """Yield the levels of a line: itself if it has no escapes, else those that have some decoded."""
    text = Text(line)
    for level in range(LEVELS):
        content = unescape(text.content) if b"\\" in text.content else text.content
        if len(content) == len(text.content):
            if level == 0:
                yield text
            return
        text = Text(content, text)
        yield text


def unescape(text: bytes) -> bytes:
    """Return a text with its escapes decoded once; what is no escape of JSON stays, as lone surrogates do."""
    if b"\x00" in text or b"\\u0000" in text:  # NUL replaces an escaped backslash below
        return _ESCAPE.sub(_char, text)
    text = text.replace(b"\\\\", b"\x00")
    for escape, char in _CHARS.items():
        if char != b"\\":
            text = text.replace(escape, char)
    if b"\\u" in text:
        text = _UNICODE_ESCAPE.sub(_char, text)
    return text.replace(b"\x00", b"\\")


def _char(escape: re.Match[bytes]) -> bytes:
    found = escape.group()
    char = _CHARS.get(found)
    if char is not None:
        return char
    if len(found) < 6:
        return found
    code = int(found[2:6], 16)
    if len(found) == 12:
        code = 0x10000 + (code - 0xD800) * 0x400 + int(found[8:12], 16) - 0xDC00
    return found if 0xD800 <= code < 0xE000 else chr(code).encode()
