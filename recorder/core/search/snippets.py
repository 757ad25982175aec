"""Finds searched words in a text, and cuts the piece around the best place.

Texts are compared folded, but people see the text as it was written; so the folded text keeps, for each of
its characters, the place that it comes from. That mapping is made in Python, character by character, only of
the piece that is shown: the rest is folded at once, in pieces that overlap.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from recorder.core.search.fold import PICTOGRAPHS, UNSPACED, fold
from recorder.core.search.tokens import LETTER, TOKEN_CHARACTERS, query_runs

WIDTH = 240  # characters of a snippet
BEFORE = 60  # of them before the first match
_EDGE = 64  # read on both sides of a snippet, to distinguish whole words from parts
_PIECE, _OVERLAP = 400, 120
_COMPARED = 50  # matches of a piece
_ASCII_PIECE = 8_000  # is folded by one call, without a change of length
_BETWEEN = rf"(?:(?!{LETTER}|[{UNSPACED}{PICTOGRAPHS}]).)*"
_ESCAPE = re.compile(r"\\[nrtbf](?=[^\W_])")
_BLANK = re.compile(r"[\s\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of a text on one line, and the matches in it as pairs of first and last + 1 character."""

    text: str
    ranges: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Searched:
    """The form of a searched text: an expression for folded text, and a word that may be a part of a name."""

    expression: re.Pattern[str]
    part: str = ""
    is_prefix: bool = False


def pattern(text: str, *, is_prefix: bool = False) -> Searched | None:
    """Return what finds a searched text, None if it has no token."""
    runs = list(query_runs(text))
    parts: list[str] = []
    for place, run in enumerate(runs):
        if run.is_unspaced:
            parts.append(re.escape(run.text))
            continue
        is_open = len(run.text) > TOKEN_CHARACTERS or (is_prefix and place == len(runs) - 1)
        end = f"{LETTER}*" if is_open else f"(?!{LETTER})"
        word = re.escape(run.text[:TOKEN_CHARACTERS])
        # The text comes first, so that `re` searches for it instead of trying each position.
        parts.append(f"{word}(?<!{LETTER}{word}){end}")
    if not parts:
        return None
    part = runs[0].text if len(runs) == 1 and runs[0].text.isascii() else ""
    return Searched(re.compile(_BETWEEN.join(parts), re.DOTALL), part, is_prefix)


def snippet(text: str, patterns: Sequence[Searched]) -> Snippet:
    """Return the piece of a text with the most of the patterns, its first match near its beginning."""
    begin = _best_part(text, patterns)
    size = _ASCII_PIECE if text.isascii() else _PIECE
    first = _densest(_matches(text, begin, begin + size, patterns), begin)
    begin = _word_begin(text, max(0, first - BEFORE), first)
    end = begin + WIDTH
    shown = _BLANK.sub(" ", text[begin:end])
    found = _merged(_matches(text, max(0, begin - _EDGE), end + _EDGE, patterns))
    inside = ((max(a, begin) - begin, min(b, begin + len(shown)) - begin) for a, b in found)
    return Snippet(shown, tuple((a, b) for a, b in inside if a < b))


def _best_part(text: str, patterns: Sequence[Searched]) -> int:
    """Return where the first piece with the most patterns begins."""
    best, most = 0, 0
    size = _ASCII_PIECE if text.isascii() else _PIECE
    for begin in range(0, max(1, len(text)), size - _OVERLAP):
        piece = text[begin : begin + size]
        folded = fold(piece)
        versions = {_cut(folded), folded}
        found = sum(
            any(map(each.expression.search, versions)) or _has_part(piece, folded, each) for each in patterns
        )
        if found > most:
            best, most = begin, found
        if most == len(patterns):
            break
    return best


class _Match(NamedTuple):
    begin: int
    end: int
    pattern: int


def _densest(matches: Sequence[_Match], otherwise: int) -> int:
    """Return the first place that has the most patterns within a snippet."""
    best, most = otherwise, 0
    for each in matches[:_COMPARED]:
        near = {m.pattern for m in matches if each.begin <= m.begin < each.begin + WIDTH - BEFORE}
        if len(near) > most:
            best, most = each.begin, len(near)
    return best


def _matches(text: str, begin: int, end: int, patterns: Sequence[Searched]) -> list[_Match]:
    """Return the places of all patterns in a part of a text, in order."""
    folded, begins, ends = _mapped(text[begin:end])
    found: set[_Match] = set()
    for number, each in enumerate(patterns):
        for version in {_cut(folded), folded}:
            for match in each.expression.finditer(version):
                if match.end() > match.start():
                    first, last = begins[match.start()], ends[match.end() - 1]
                    found.add(_Match(begin + first, begin + last, number))
        parts = _parts(text[begin:end], folded, begins, ends, each)
        found |= {_Match(begin + first, begin + last, number) for first, last in parts}
    return sorted(found)


def _has_part(piece: str, folded: str, searched: Searched) -> bool:
    if not searched.part or searched.part not in folded:
        return False
    return any(True for _ in _parts(piece, *_mapped(piece), searched))


def _parts(
    text: str, folded: str, begins: Sequence[int], ends: Sequence[int], searched: Searched
) -> Iterator[tuple[int, int]]:
    """Yield where a searched word is a part of an identifier, as `User` in `getUserName`."""
    for match in re.finditer(re.escape(searched.part), folded) if searched.part else ():
        first, last = begins[match.start()], ends[match.end() - 1]
        if _is_edge(text, first) and (searched.is_prefix or _is_edge(text, last)):
            yield first, last


def _is_edge(text: str, at: int) -> bool:
    """Return whether a word or a part of an identifier begins or ends at a place."""
    before, after = text[max(0, at - 1) : at], text[at : at + 1]
    if not (_is_ascii_word(before) and _is_ascii_word(after)):
        return not (before.isalnum() and after.isalnum())
    return after.isupper() and (not before.isupper() or text[at + 1 : at + 2].islower())


def _is_ascii_word(character: str) -> bool:
    return character.isascii() and character.isalnum()


def _merged(matches: Sequence[_Match]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for begin, end, _ in matches:
        if merged and begin < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((begin, end))
    return merged


def _cut(folded: str) -> str:
    r"""Blank `\n` and the like before a letter, as the tokeniser does."""
    return _ESCAPE.sub("  ", folded) if "\\" in folded else folded


def _mapped(text: str) -> tuple[str, Sequence[int], Sequence[int]]:
    """Return a text folded, and for each of its characters where it begins and ends in the text."""
    if text.isascii():
        return text.lower(), range(len(text)), range(1, len(text) + 1)
    folded: list[str] = []
    begins: list[int] = []
    ends: list[int] = []
    for begin, end in _clusters(text):
        part = fold(text[begin:end])
        folded.append(part)
        begins += [begin] * len(part)
        ends += [end] * len(part)
    return "".join(folded), begins, ends


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    """Yield the characters of a text, each with the marks that may combine with it."""
    begin = 0
    for at in range(1, len(text) + 1):
        if at == len(text) or not _combines(text[at]):
            yield begin, at
            begin = at


def _combines(character: str) -> bool:
    if character < "\u0300":
        return False
    is_jamo_or_voicing = "\u1160" <= character <= "\u11ff" or character in "\uff9e\uff9f"
    return is_jamo_or_voicing or unicodedata.category(character)[0] == "M"


def _word_begin(text: str, begin: int, end: int) -> int:
    """Move the begin of a snippet behind the first blank, if one is near."""
    blank = _BLANK.search(text, begin, min(end, begin + 20)) if begin else None
    return blank.end() if blank else begin
