"""Tries rules without storing anything: on a text, and as a dry run of one rule over recorded lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from recorder.masking.masker import Masker
from recorder.masking.matcher import MARKER, Rules, Span
from recorder.masking.rule import Rule

MATCHES_MAX = 1_000  # a dry run ends when it has found so many
SNIPPETS_MAX = 8
AROUND = 60  # bytes before and after a match in a snippet


class Part(NamedTuple):
    """A stretch of a text; of a masked secret it is the mask."""

    text: str
    is_mask: bool = False


@dataclass(frozen=True, slots=True)
class StoredText:
    """A text as it would be stored, and how many values of it would be masked."""

    parts: Sequence[Part]
    masked: int


@dataclass(frozen=True, slots=True)
class DryRun:
    """The matches of a rule in recorded lines. `is_cut`: the search ended at `MATCHES_MAX`."""

    lines: int  # searched ones
    matches: int
    matching_lines: int
    snippets: Sequence[Sequence[Part]]
    is_cut: bool


def stored_text(masker: Masker, text: str) -> StoredText:
    """Return how a text would be stored, with all masks marked."""
    masked = masker.mask(text.encode(errors="replace"))
    return StoredText([*_marked(masked.line)], sum(masked.counts.values()))


def dry_run(rule: Rule, key: bytes, lines: Iterable[bytes]) -> DryRun:
    """Search recorded lines for what one rule would mask; snippets show each secret once, masked.

    Cost: that of the rule on the lines. An own pattern whose end is optional may cost a scan of the line for
    each match, so the search ends after the line with match `MATCHES_MAX`.
    """
    masker = Masker(Rules({rule.name: rule}), key)
    searched = matches = matching = 0
    snippets: dict[bytes, Sequence[Part]] = {}
    for line in lines:
        searched += 1
        spans = masker.spans(line) if masker.rules.may_match(line) else []
        if not spans:
            continue
        matches, matching = matches + len(spans), matching + 1
        mark = masker.mark(line[spans[0].start : spans[0].end], rule.name)
        if len(snippets) < SNIPPETS_MAX and mark not in snippets:
            snippets[mark] = [*_snippet(masker, line, spans)]
        if matches >= MATCHES_MAX:
            break
    return DryRun(searched, matches, matching, [*snippets.values()], matches >= MATCHES_MAX)


def _marked(line: bytes) -> Iterator[Part]:
    at = 0
    for mark in MARKER.finditer(line):
        yield from _text(line[at : mark.start()])
        yield Part(mark.group().decode(), is_mask=True)
        at = mark.end()
    yield from _text(line[at:])


def _snippet(masker: Masker, line: bytes, spans: Sequence[Span]) -> Iterator[Part]:
    """Yield the first match with the text around it, in which all other matches are masked, too."""
    at, end = max(0, spans[0].start - AROUND), spans[0].end + AROUND
    if at:
        yield Part("…")
    for span in spans:
        if span.start >= end:
            break
        yield from _marked(line[at : span.start])
        yield Part(masker.mark(line[span.start : span.end], span.rule).decode(), is_mask=True)
        at = span.end
    yield from _marked(line[at:end])
    if end < len(line):
        yield Part("…")


def _text(stretch: bytes) -> Iterator[Part]:
    """Yield a stretch without the parts of a character at its ends."""
    if text := stretch.decode(errors="ignore"):
        yield Part(text)
