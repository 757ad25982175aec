"""Masks lines: each secret becomes `[masked:RULE:TAG]`, TAG being 8 hex digits of a keyed hash of the secret.

Equal secrets of a project have equal tags, so one can still see that two lines have the same one. The key is
derived from the installation's secret key and the project, so tags cannot be guessed from outside.

Rules:
- A line in which nothing matches is returned as it is, the same object.
- In a line that is JSON only the inside of strings is replaced: it stays valid JSON, and no number changes.
  Ids and times of the envelope stay if they look like ones (`json_strings.py`). What matches over several
  strings is masked in each.
- A line that is not JSON is masked as text; it goes to quarantine. So is every line that is rejected.
- What is masked is not masked again: masking twice equals masking once.

Limit: a line is masked alone here. The texts that a model streams in deltas are masked across their lines by
`streams/`; the state of a reader and the events derived from several lines are masked when they are stored.
"""

from __future__ import annotations

import hmac
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from types import MappingProxyType

from recorder.masking.json_strings import is_json, strings_of
from recorder.masking.matcher import Rules, Span
from recorder.masking.unescape import LEVELS, unescape

PASSES = 4  # a mask may complete another match of an own pattern; rules of ours need one pass
TAG_BYTES = 4
ORIGINAL_BYTES = 16
_BLANK = re.compile(rb"\\[nrt]|\s")
_NO_COUNTS: Mapping[str, int] = MappingProxyType({})
_WORD = re.compile(rb"[A-Za-z_]{1,32}")


@dataclass(frozen=True, slots=True)
class Masked:
    """A masked line or text, and how many masks were made, by rule."""

    line: bytes
    counts: Mapping[str, int]


class Masker:
    """The rules and the key of a project."""

    def __init__(self, rules: Rules, key: bytes) -> None:
        self.rules = rules
        self._key = key
        self.sealing_key = hmac.digest(key, b"streams", "sha256")  # of what is kept of open streams
        self._tags = hmac.new(key, digestmod="sha256")

    def mask(self, line: bytes) -> Masked:
        """Mask one line, as it was received."""
        if not self.rules.may_match(line):
            return Masked(line, _NO_COUNTS)
        counts: Counter[str] = Counter()
        for _ in range(PASSES):
            spans = self.spans(line) if self.rules.may_match(line) else []
            if not spans:
                break
            line = self._replaced(line, spans)
            counts.update(span.rule for span in spans)
        return Masked(line, counts)

    def mask_text(self, text: str) -> str:
        """Mask a text that is not JSON."""
        return self.mask_bytes(text.encode(errors="surrogatepass")).decode(errors="surrogatepass")

    def mask_bytes(self, text: bytes) -> bytes:
        """Mask a text in UTF-8, or a line that is rejected: also the ids and times of its envelope."""
        for _ in range(PASSES):
            spans = self.find(text)
            if not spans:
                break
            text = self._replaced(text, spans)
        return text

    def find(self, text: bytes) -> list[Span]:
        """Return what would be masked in a text, in order and without overlaps; offsets are in bytes."""
        return self.rules.joined(self.rules.matches(text)) if self.rules.may_match(text) else []

    def spans(self, line: bytes) -> list[Span]:
        """Return what one pass masks in a line, in order and without overlaps."""
        spans = self.rules.matches(line)
        if spans and is_json(line):
            spans = self._in_strings(line, sorted(spans))
        return self.rules.joined(spans)

    def mark(self, secret: bytes, rule: str) -> bytes:
        """Return the replacement of a secret."""
        return b"[masked:%s:%s]" % (rule.encode(), self._tag(secret))

    def secrets(self, line: bytes) -> dict[str, str]:
        """Return the values that one pass masks in a line, as a text in one line, and the mask of each."""
        found = {}
        for start, end, rule in self.spans(line):
            secret = line[start:end]
            for _ in range(LEVELS):
                secret = unescape(secret) if b"\\" in secret else secret
            text = " ".join(secret.decode(errors="replace").split())
            found[text] = self.mark(line[start:end], rule).decode()
        return found

    def original(self, line: bytes) -> bytes:
        """Return the keyed hash by which a line is recognised that was changed when it was stored."""
        return blake2b(line, key=self._key, digest_size=ORIGINAL_BYTES).digest()

    def _in_strings(self, line: bytes, spans: Iterable[Span]) -> list[Span]:
        """Return the parts of sorted spans that are inside of strings which may be masked."""
        found: list[Span] = []
        open_spans: list[Span] = []
        waiting = iter(spans)
        following = next(waiting, None)
        for start, end, kind in strings_of(line):
            while following is not None and following.start < end:
                open_spans.append(following)
                following = next(waiting, None)
            if not open_spans:
                if following is None:
                    break
                continue
            open_spans = [span for span in open_spans if span.end > start]
            if kind == "envelope":
                continue
            is_type = kind == "type"
            is_word = kind == "key" and _WORD.fullmatch(line, start, end) is not None
            for span in open_spans:
                is_inside = start <= span.start and span.end <= end
                if is_type and not (is_inside and self.rules.kind(span.rule) == "definite"):
                    continue
                part = span if is_inside else Span(max(span.start, start), min(span.end, end), span.rule)
                if part.start < part.end and not (is_word and self.rules.kind(span.rule) == "own"):
                    found.append(part)
        return found

    def _replaced(self, line: bytes, spans: Iterable[Span]) -> bytes:
        parts: list[bytes] = []
        at = 0
        for start, end, rule in spans:
            parts.append(line[at:start])
            parts.append(self.mark(line[start:end], rule))
            at = end
        return b"".join((*parts, line[at:]))

    def _tag(self, secret: bytes) -> bytes:
        """Return the tag of a secret, whatever escapes and line ends it was written with."""
        if not secret.isalnum():
            for _ in range(LEVELS):
                if b"\\" not in secret:
                    break
                secret = unescape(secret)
            secret = _BLANK.sub(b"", secret)
        tag = self._tags.copy()  # the key is prepared once
        tag.update(secret)
        return tag.hexdigest()[: 2 * TAG_BYTES].encode()
