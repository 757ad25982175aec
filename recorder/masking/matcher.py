"""The rules of a project, compiled: which lines they may match, and where.

A line is first searched by one set of RE2: the anchors of all rules, and escapes that may hide one. A line in
which none occurs costs this one scan. Otherwise the rules whose anchors occur search each text of the line
(`unescape.py`). Rules of a project's own have no anchors, so they search every text of every line.

Cost: linear in the line for each rule of ours, as none has an optional end without limit. An own pattern that
has one, like `a(.*b)?`, may cost a scan for each match.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from recorder.masking.catalogue import BY_NAME, CANDIDATES, DEFINITE
from recorder.masking.regex import BadPattern, Regex, RegexSet
from recorder.masking.rule import NAME, Kind, Rule
from recorder.masking.unescape import texts_of
from recorder.masking.unfinished.tails import Tails

PATTERN_CHARS = 1_000
# Characters of anchors that JSON may write as escapes; < > & ' and the quote occur in none of them.
_HIDDEN = r"\\u00(?:2[013-59a-fA-F]|3[0-9abdfABDF]|[4-7][0-9a-fA-F])"
MARKER = re.compile(rb"\[masked:[a-z0-9-]{1,40}:[0-9a-f]{8}\]")


@dataclass(frozen=True, slots=True)
class OwnPattern:
    """A pattern of a project, in RE2's syntax. Its first group is masked, or all of the match without one."""

    name: str
    pattern: str
    is_on: bool = True


@dataclass(frozen=True, slots=True)
class RuleSettings:
    """The changes of a project: candidates that are on, definite rules that are off, patterns of its own."""

    on: frozenset[str] = frozenset()
    off: frozenset[str] = frozenset()
    patterns: tuple[OwnPattern, ...] = ()


class Span(NamedTuple):
    """A match: start and end in bytes of the text, and the name of its rule."""

    start: int
    end: int
    rule: str


@dataclass(frozen=True, slots=True)
class CompiledRule:
    rule: Rule
    regex: Regex
    rank: int  # of rules that match the same, the lowest names the mask

    def spans(self, text: bytes) -> Sequence[tuple[int, int]]:
        """Return start and end, in bytes, of what the rule masks in a text."""
        check, spans = self.rule.check, self.regex.spans(text, self.rule.group)
        return spans if check is None else [(start, end) for start, end in spans if check(text[start:end])]


class Rules:
    """Compiled rules. They hold no key and no text, and may be used by any thread."""

    def __init__(self, rules: Mapping[str, Rule]) -> None:
        self.rules = [CompiledRule(rule, _regex(rule), rank) for rank, rule in enumerate(rules.values())]
        self._ranks = {compiled.rule.name: compiled.rank for compiled in self.rules}
        self._of_ours = [compiled for compiled in self.rules if compiled.rule.kind != "own"]
        self._own = [compiled for compiled in self.rules if compiled.rule.kind == "own"]
        self._anchors = RegexSet([*(compiled.rule.searched for compiled in self._of_ours), _HIDDEN])

    @cached_property
    def tails(self) -> Tails:
        """The pattern of what may match a definite rule; compiling takes a tenth of a second, once."""
        definite = [compiled.rule for compiled in self._of_ours if compiled.rule.kind == "definite"]
        own = ["(?s)." for _ in self._own]  # patterns without anchors: each text is searched
        return Tails(definite, [*(compiled.rule.searched for compiled in self._of_ours), *own])

    def has(self, name: str) -> bool:
        """Return whether a rule is one of these."""
        return name in self._ranks

    def kind(self, name: str) -> Kind:
        """Return the kind of a rule of these."""
        return self.rules[self._ranks[name]].rule.kind

    def may_match(self, line: bytes) -> bool:
        """Return whether a line has to be searched: one scan."""
        return bool(self._own or self._anchors.match(line))

    def matches(self, line: bytes) -> list[Span]:
        """Return all matches in a line and in what its escapes hide, in any order; they may overlap.

        Parts of masks are not matched again.
        """
        found: dict[Span, None] = {}  # in the order of their rules, which are nearly sorted
        is_ascii = line.isascii()
        for text in texts_of(line):
            for compiled in self._of_text(text.content):
                name, spans = compiled.rule.name, compiled.spans(text.content)
                if text.content is not line:
                    spans = [text.line_span(*span) for span in spans]
                if not is_ascii:
                    spans = [_whole_characters(line, *span) for span in spans]
                for start, end in spans:
                    found[Span(start, end, name)] = None
        return _outside_masks(line, found)

    def joined(self, spans: list[Span]) -> list[Span]:
        """Return spans in order, of which those that overlap are joined.

        The longest one names the rule, of equally long ones the first in the catalogue.
        """
        joined: list[Span] = []
        last_end = 0
        for span in sorted(spans):
            if span.start >= last_end:
                joined.append(span)
                longest, last_end = span, span.end
                continue
            longest = max(longest, span, key=self._size)
            last_end = max(last_end, span.end)
            joined[-1] = Span(joined[-1].start, last_end, longest.rule)
        return joined

    def _size(self, span: Span) -> tuple[int, int]:
        return span.end - span.start, -self._ranks[span.rule]

    def _of_text(self, text: bytes) -> Iterator[CompiledRule]:
        number = len(self._of_ours)
        for index in self._anchors.match(text):
            if index < number:
                yield self._of_ours[index]
        yield from self._own


def _whole_characters(line: bytes, start: int, end: int) -> tuple[int, int]:
    """Widen a stretch that begins or ends within a character of UTF-8."""
    while start > 0 and line[start] & 0xC0 == 0x80:
        start -= 1
    while end < len(line) and line[end] & 0xC0 == 0x80:
        end += 1
    return start, end


def _outside_masks(line: bytes, found: Iterable[Span]) -> list[Span]:
    """Return the parts of spans that are not within masks."""
    masks = [mark.span() for mark in MARKER.finditer(line)] if b"[masked:" in line else []
    if not masks:
        return list(found)
    ends = [end for _, end in masks]
    spans = []
    for start, end, rule in found:
        at = start
        for place in range(bisect_right(ends, start), len(masks)):
            mask_start, mask_end = masks[place]
            if mask_start >= end:
                break
            if at < mask_start:
                spans.append(Span(at, mask_start, rule))
            at = mask_end
        if at < end:
            spans.append(Span(at, end, rule))
    return spans


def compile_rules(settings: RuleSettings) -> Rules:
    """Return the rules of a project, compiled. Unknown names count for nothing: a release may remove a rule.

    Raises: BadPattern if a pattern of its own is not valid.
    """
    return _compiled(settings)


@lru_cache(maxsize=64)
def _compiled(settings: RuleSettings) -> Rules:
    rules = {rule.name: rule for rule in DEFINITE if rule.name not in settings.off}
    rules |= {rule.name: rule for rule in CANDIDATES if rule.name in settings.on}
    rules |= {own.name: own_rule(own) for own in settings.patterns if own.is_on}
    return Rules(rules)


def own_rule(own: OwnPattern) -> Rule:
    """Return a project's pattern as a rule.

    Raises: BadPattern if RE2 does not read it, it matches the empty text, is too long, or has no proper name.
    """
    if not NAME.fullmatch(own.name) or own.name in BY_NAME:
        raise BadPattern("a name has 1 to 40 characters a-z, 0-9 and -, and is not one of ours")
    if len(own.pattern) > PATTERN_CHARS:
        raise BadPattern(f"a pattern has at most {PATTERN_CHARS} characters")
    regex = Regex(own.pattern, is_text=True)
    if regex.matches_empty():
        raise BadPattern("the pattern matches the empty text")
    return Rule(own.name, "own", own.name, (), own.pattern, min(1, regex.groups))


@lru_cache(maxsize=1024)
def _regex(rule: Rule) -> Regex:
    return Regex(rule.pattern, is_text=rule.kind == "own")
