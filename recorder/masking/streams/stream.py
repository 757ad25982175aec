"""Masks a text that comes in parts: what may be the start of a secret waits for the next part.

Invariant: what `push` returned so far is the text so far, masked as a whole, without its tail. A tail is at
most `HELD_MAX` bytes; a longer one is masked at once, and what continues it is dropped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from recorder.masking.counts import UNFINISHED
from recorder.masking.masker import Masker
from recorder.masking.matcher import Span

CONTEXT = 320  # bytes before the tail that are kept: a rule looks at no more of them, as a rule
HELD_MAX = 8 * 1024
# Patterns that continue a secret which is masked before its end: of a token, and of a key block.
_DROPPED = {
    "token": re.compile(rb"\A[A-Za-z0-9_.+/=~%@:!#$*^-]*"),
    "block": re.compile(rb"""\A(?:[A-Za-z0-9+/=\s\\"',>|:]|\xe2\x86\x92|-----END[ A-Z0-9]{0,40}-----)*"""),
    "all": re.compile(rb".*", re.DOTALL),
}


@dataclass(slots=True)
class Stream:
    """A text so far: the bytes before its tail, its tail, and what is dropped of the text that follows."""

    context: bytes = b""
    held: bytes = b""
    dropped: str = ""  # a key of `_DROPPED`

    def push(self, masker: Masker, text: str) -> str:
        """Add a part; return what may be shown of the text since the last one."""
        added = text.encode(errors="surrogatepass")
        if self.dropped:
            added = _DROPPED[self.dropped].sub(b"", added, count=1)
            if not added:
                return ""
            self.dropped = ""
        begin = len(self.context)
        whole, spans = self._extended(masker, added, has_words=True)
        return _text(_masked(masker, whole[: len(whole) - len(self.held)], begin, spans))

    def push_whole(self, masker: Masker, added: bytes, *, hides_words: bool) -> bytes:
        """Add a part of a text whose parts may overlap; return it masked, also what may become a secret.

        A secret is looked for in the part alone, and where the part continues the one before. With
        `hides_words` the start of a secret is also a word that may be the part of a key before its anchor.
        """
        lost = b""
        if self.dropped:
            rest = _DROPPED[self.dropped].sub(b"", added, count=1)
            if len(rest) < len(added):
                lost = masker.mark(added[: len(added) - len(rest)], UNFINISHED)
            if not rest:
                return lost
            self.dropped, added = "", rest
        before = len(self.context) + len(self.held)
        whole, spans = self._extended(masker, added, has_words=hides_words)
        tail = len(whole) - len(self.held)
        if before and masker.rules.tails.may_matter(added):
            spans += [Span(before + start, before + end, rule) for start, end, rule in masker.find(added)]
            tail = min(tail, before + masker.rules.tails.start(added, has_words=hides_words))
        spans = masker.rules.joined([span for span in spans if span.end > before])
        return lost + _masked(masker, whole, before, _with_tail(spans, tail, len(whole)))

    def _extended(self, masker: Masker, added: bytes, *, has_words: bool) -> tuple[bytes, list[Span]]:
        """Add a part; return context, last tail and part, and what is masked of that beyond the context."""
        whole = self.context + self.held + added
        if not self.held and not masker.rules.tails.may_matter(whole):
            self.context = whole[-CONTEXT:]
            return whole, []
        begin = len(self.context)
        end = max(begin, masker.rules.tails.start(whole, min(1, begin), has_words=has_words))
        spans = [span for span in masker.find(whole) if span.end > begin]
        for span in reversed(spans):
            if span.start < end < span.end:
                end = max(begin, span.start)
        if len(whole) - end > HELD_MAX:
            spans, end = self._overflow(whole, end, spans), len(whole)
        self.context, self.held = whole[:end][-CONTEXT:], whole[end:]
        return whole, spans

    def rest(self, masker: Masker) -> str:
        """Return the tail, masked: the text has ended, so it is no start of anything."""
        whole, begin = self.context + self.held, len(self.context)
        spans = [span for span in masker.find(whole) if span.end > begin]
        self.context, self.held = whole[-CONTEXT:], b""
        return _text(_masked(masker, whole, begin, spans))

    def _overflow(self, whole: bytes, start: int, spans: list[Span]) -> list[Span]:
        """Return what is masked of a text whose tail is too long; what follows of a secret is dropped."""
        if re.search(rb"\s", whole[start:]) is None:
            self.dropped = "token"
            return [
                *(span for span in spans if span.end <= start),
                Span(start, len(whole), UNFINISHED),
            ]
        if spans and spans[-1].end >= len(whole) - 80:  # a key block may have a last line that is short
            self.dropped = "block"
            return [*spans[:-1], Span(spans[-1].start, len(whole), spans[-1].rule)]
        return spans


def _with_tail(spans: list[Span], tail: int, end: int) -> list[Span]:
    """Return spans with one for all of a tail; it has the rule of the span that ends where the text ends."""
    for span in reversed(spans):
        if span.start < tail < span.end:
            tail = span.start
    if tail == end:
        return spans
    rule = spans[-1].rule if spans and spans[-1].end == end else UNFINISHED
    return [*(span for span in spans if span.end <= tail), Span(tail, end, rule)]


def _masked(masker: Masker, whole: bytes, begin: int, spans: list[Span]) -> bytes:
    """Return a text from `begin` on with its spans masked; a span may begin before."""
    parts: list[bytes] = []
    at = begin
    for start, end, rule in spans:
        if end <= len(whole):
            parts += (whole[at : max(at, start)], masker.mark(whole[start:end], rule))
            at = end
    return b"".join((*parts, whole[at:]))


def _text(content: bytes) -> str:
    return content.decode(errors="surrogatepass")
