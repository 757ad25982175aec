"""Finds the tail of a text that may become a definite secret when more text follows.

A tail begins where a rule's public part is complete (`prefixes.py`), so that text without one is not held
back. A few rules have a part of the key before their anchor: for them a tail is also a word of at least
`WORD_MIN` characters that is none of a language, as it has digits or capitals within.

Cost: one scan for the public parts, and one from the end of the text for each that occurs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from recorder.masking.regex import Regex, RegexSet
from recorder.masking.rule import Rule
from recorder.masking.unescape import texts_of
from recorder.masking.unfinished.prefixes import Prefix, prefixes_of

PUBLIC = 140  # characters of a pattern; longer ones are searched by their literals
WORD_MIN, WORD = 14, 60  # of a part of a key before its anchor, in characters
# Rules with a part of the key before their anchor.
LEADING = frozenset(("terraform-cloud-token", "azure-openai-key", "azure-client-secret", "mailchimp-key"))
_WORD_AT_END = f"[A-Za-z0-9]{{{WORD_MIN},{WORD}}}\\z"
_ODD = re.compile(rb"[0-9]|[a-z][A-Z]|[A-Z]{2}[a-z]|.{24}", re.DOTALL)
_CUT_ESCAPE = re.compile(rb"\\+(?:u[0-9a-fA-F]{0,3})?\Z")


class _Prefix(NamedTuple):
    """A compiled prefix; of a rule that ends at its first end, also the rule itself.

    One that may be a word alone has a counterpart that begins to count at the anchor.
    """

    regex: Regex
    group: int
    full: Regex | None
    may_be_word: bool
    is_counterpart: bool

    def start(self, text: bytes, at: int) -> int:
        if self.full is not None:  # nothing behind a whole match is a prefix of it
            at = max((end for _, end in self.full.spans(text, 0)), default=at)
        return self.regex.first(text, at, self.group)


class Tails:
    """The prefixes of some rules, compiled; `searched` are the patterns by which texts are selected."""

    def __init__(self, rules: Sequence[Rule], searched: Iterable[str]) -> None:
        self._prefixes: list[_Prefix] = []
        public: list[str] = []
        self._word: Regex | None = None
        for rule in rules:
            if rule.name in LEADING:
                self._word = Regex(_WORD_AT_END)
            for found in prefixes_of(rule.pattern, rule.group):
                self._add(rule, found, public)
                if found.may_be_word:
                    for anchored in prefixes_of(rule.pattern, rule.group, from_anchor=True):
                        self._add(rule, anchored, public, is_counterpart=True)
        self._public = RegexSet(public)
        self._anything = RegexSet([*public, *searched])

    def _add(self, rule: Rule, found: Prefix, public: list[str], *, is_counterpart: bool = False) -> None:
        full = Regex(rule.pattern) if "*?" in found.pattern and not found.is_group else None
        regex = Regex(f"{found.pattern}\\z")
        self._prefixes.append(_Prefix(regex, int(found.is_group), full, found.may_be_word, is_counterpart))
        public.append(found.public if len(found.public) <= PUBLIC else _literals(rule))

    def may_matter(self, text: bytes) -> bool:
        """Return whether a text may have a tail or a match of our rules: one scan."""
        if b"\\" in text or self._anything.match(text):
            return True
        return self._word is not None and text[-WORD_MIN:].isalnum() and len(text) >= WORD_MIN

    def start(self, text: bytes, at: int = 0, *, has_words: bool = True) -> int:
        """Return where the tail of a text begins, its size if there is none.

        No tail begins before `at`, unless in an escape: the text there is only read. Without `has_words` a
        word alone is no tail.
        """
        if b"\\" not in text:
            return self._start(text, at, has_words=has_words)
        cut = _CUT_ESCAPE.search(text)
        body = text if cut is None else text[: cut.start()]
        starts = [len(text)]
        for level in texts_of(body):
            content = level.content
            begin = self._start(content, min(at, 1), has_words=has_words)
            if begin < len(content):
                starts.append(level.line_span(begin, begin + 1)[0])
        return min(starts)

    def _start(self, text: bytes, at: int, *, has_words: bool) -> int:
        """Return where the tail of a text without escapes begins."""
        prefixes = (self._prefixes[number] for number in self._public.match(text))
        chosen = (each for each in prefixes if not (each.is_counterpart if has_words else each.may_be_word))
        found = min((each.start(text, at) for each in chosen), default=len(text))
        if self._word and has_words:
            begin = self._word.first(text, at)
            if begin < found and _ODD.search(text, begin):
                found = begin
        return found


def _literals(rule: Rule) -> str:
    """Return a pattern that occurs in each prefix of a rule: its anchors, in any case."""
    return f"(?i:{'|'.join(re.escape(anchor.rstrip('=')) for anchor in rule.anchors)})"
