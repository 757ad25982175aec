"""Masks lines: each secret becomes `[masked:RULE:TAG]`, TAG being 8 hex digits of a keyed hash of the secret.

The line is searched as the server does (`recorder/masking/masker.py`), not value by value: a key and its
value, or a private key in a list of lines, are recognised together and masked in each string. What is masked
is not masked again. Cost: linear in the line for each rule of which a literal anchor occurs.
"""

from __future__ import annotations

import hmac
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from secrets import token_bytes
from typing import NamedTuple

from loopscope_client.masking.checks import CHECKS
from loopscope_client.masking.rules import RULES
from loopscope_client.masking.strings import is_json, strings_of
from loopscope_client.masking.unescape import LEVELS, texts_of, unescape

TAG_BYTES = 4
PASSES = 4  # a mask may complete another match; one pass is the rule
MARKER = re.compile(rb"\[masked:[a-z0-9-]{1,40}:[0-9a-f]{8}\]")
_BLANK = re.compile(rb"\\[nrt]|\s")
_PROCESS_KEY = token_bytes(32)
_ANCHORS, _FOLDED_ANCHORS = (
    [
        (a.encode(), rank)
        for rank, rule in enumerate(RULES)
        if rule.ignores_case is folds
        for a in rule.anchors
    ]
    for folds in (False, True)
)


class MaskingError(Exception):
    """A line could not be masked. It has no text of the line, neither in its message nor as its cause."""


class Span(NamedTuple):
    """A masked part: start and end in bytes of the line, and the place of the rule in `RULES`."""

    start: int
    end: int
    rank: int


class Masker:
    """The rules and a key; without one, tags are equal within this process only. Any thread may use it.

    Raises ValueError when the key is empty.
    """

    def __init__(self, key: bytes | str | None = None) -> None:
        if key is not None and not key:
            raise ValueError("the key of masks is empty")
        self._key = key.encode(errors="surrogatepass") if isinstance(key, str) else key or _PROCESS_KEY
        compiled_rules()

    def line(self, line: bytes) -> bytes:
        """Return a line masked: the insides of its strings if it is JSON, else as text.

        Raises MaskingError.
        """
        return self._masked(line, self.spans)

    def text(self, text: str) -> str:
        """Return a text masked. Raises MaskingError."""
        found = text.encode(errors="surrogatepass")
        return self._masked(found, lambda each: joined(matches(each))).decode(errors="surrogatepass")

    def spans(self, line: bytes) -> list[Span]:
        """Return what one pass masks in a line, in order and without overlaps."""
        found = matches(line)
        if found and is_json(line):
            found = _in_strings(line, sorted(found))
        return joined(found)

    def _masked(self, line: bytes, spans_of: Callable[[bytes], list[Span]]) -> bytes:
        try:
            for _ in range(PASSES):
                spans = spans_of(line)
                if not spans:
                    break
                line = self._replaced(line, spans)
        except Exception as error:  # noqa: BLE001  whatever fails, the line is not sent
            raise MaskingError(f"masking failed ({type(error).__name__})") from None
        return line

    def _replaced(self, line: bytes, spans: Iterable[Span]) -> bytes:
        parts: list[bytes] = []
        at = 0
        for start, end, rank in spans:
            mark = b"[masked:%s:%s]" % (RULES[rank].name.encode(), self._tag(line[start:end]))
            parts += (line[at:start], mark)
            at = end
        return b"".join((*parts, line[at:]))

    def _tag(self, secret: bytes) -> bytes:
        """Return the tag of a secret, whatever escapes and line ends it was written with."""
        for _ in range(LEVELS):
            if b"\\" not in secret:
                break
            secret = unescape(secret)
        plain = _BLANK.sub(b"", secret)
        return hmac.digest(self._key, plain, "sha256")[:TAG_BYTES].hex().encode()


class CompiledRule(NamedTuple):
    """A rule for Python's `re`; `check` rejects matches that are no secrets."""

    pattern: re.Pattern[bytes]
    group: int
    check: Callable[[bytes], bool] | None

    def spans(self, text: bytes) -> Iterator[tuple[int, int]]:
        """Yield start and end of what the rule masks; the search goes on behind the secret, not the match."""
        at = 0
        while (found := self.pattern.search(text, at)) is not None:
            start, end = found.span(self.group)
            if start < end and (self.check is None or self.check(text[start:end])):
                yield start, end
            at = max(at + 1, end if start >= 0 else found.end())


@cache
def compiled_rules() -> tuple[CompiledRule, ...]:
    """Return the rules, in the order of `RULES`."""
    return tuple(
        CompiledRule(
            re.compile(rule.pattern.encode()),
            rule.group,
            CHECKS[rule.check] if rule.check else None,
        )
        for rule in RULES
    )


def matches(line: bytes) -> list[Span]:
    """Return all matches in a line and in what its escapes hide, in any order; they may overlap."""
    found = set()
    for text in texts_of(line):
        for rank in _possible(text.content):
            for span in compiled_rules()[rank].spans(text.content):
                found.add(Span(*_whole_characters(line, *text.line_span(*span)), rank))
    return _outside_masks(line, found)


def _possible(text: bytes) -> set[int]:
    """Return the rules of which an anchor occurs in a text."""
    folded = text.lower()
    return {rank for anchor, rank in _ANCHORS if anchor in text} | {
        rank for anchor, rank in _FOLDED_ANCHORS if anchor in folded
    }


def joined(spans: Iterable[Span]) -> list[Span]:
    """Return spans in order, those that overlap joined; the longest, then the first rule, names the mask."""
    result: list[Span] = []
    best = (0, 0)
    for span in sorted(spans):
        size = (span.end - span.start, -span.rank)
        if result and span.start < result[-1].end:
            last = result[-1]
            rank = span.rank if size > best else last.rank
            result[-1] = Span(last.start, max(last.end, span.end), rank)
            best = max(best, size)
        else:
            result.append(span)
            best = size
    return result


def _in_strings(line: bytes, spans: list[Span]) -> list[Span]:
    """Return the parts of sorted spans that are inside of strings which may be masked."""
    found: list[Span] = []
    open_spans: list[Span] = []
    at = 0
    for start, end, is_type in strings_of(line):
        while at < len(spans) and spans[at].start < end:
            open_spans.append(spans[at])
            at += 1
        open_spans = [span for span in open_spans if span.end > start]
        if not open_spans and at == len(spans):
            break
        if is_type:
            found += (span for span in open_spans if start <= span.start and span.end <= end)
            continue
        parts = (Span(max(span.start, start), min(span.end, end), span.rank) for span in open_spans)
        found += (part for part in parts if part.start < part.end)
    return found


def _whole_characters(line: bytes, start: int, end: int) -> tuple[int, int]:
    """Widen a stretch that begins or ends within a character of UTF-8."""
    while start > 0 and line[start] & 0xC0 == 0x80:
        start -= 1
    while end < len(line) and line[end] & 0xC0 == 0x80:
        end += 1
    return start, end


def _outside_masks(line: bytes, found: set[Span]) -> list[Span]:
    """Return the parts of spans that are not within masks."""
    masks = [mark.span() for mark in MARKER.finditer(line)] if found and b"[masked:" in line else []
    ends = [end for _, end in masks]
    parts = []
    for start, end, rank in found:
        at = start
        for place in range(bisect_right(ends, start), len(masks)):
            mask_start, mask_end = masks[place]
            if mask_start >= end:
                break
            if at < mask_start:
                parts.append(Span(at, mask_start, rank))
            at = mask_end
        if at < end:
            parts.append(Span(at, end, rank))
    return parts
