"""Masks what a running tool reports: each report may continue the one before, or repeat it and go on.

Senders do both, also with a part of what they reported before, and no report says which. So a secret is
looked for in each report alone and behind the one before, unless it begins with all of that. What may be the
start of a secret is masked as `unfinished-secret`, as no later report is sure to contain it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from recorder.masking.masker import Masker
from recorder.masking.streams.stream import Stream

REPEATED_MIN = 16  # bytes of a report by which the next one is recognised as a longer one
EDGE = 64  # bytes of its beginning and of its end that are compared


@dataclass(slots=True)
class Partial:
    """The text of one kind of a call so far, and what recognises that a report goes on from the last one."""

    stream: Stream = field(default_factory=Stream)
    size: int = 0  # bytes
    edges: bytes = b""
    is_plain: bool = False  # nothing of the last report was masked

    def push(self, masker: Masker, text: str, *, hides_words: bool) -> str:
        """Add a report; return it masked.

        With `hides_words` also a word at its end that may be a key's part before the anchor is masked. Most
        are hashes and names, so this is for output that the next report or the result repeats.

        Cost: a scan of what was added to the report before, or of all if something is masked.
        """
        report = text.encode(errors="surrogatepass")
        known = 0
        if self.size >= REPEATED_MIN and _edges(report, self.size) == self.edges:
            if self.is_plain and not self.stream.held:
                known = self.size
            else:
                self.stream = Stream()
        self.size, self.edges = len(report), _edges(report, len(report))
        shown = self.stream.push_whole(masker, report[known:], hides_words=hides_words)
        self.is_plain = shown == report[known:]
        return (report[:known] + shown).decode(errors="surrogatepass")


def _edges(report: bytes, size: int) -> bytes:
    """Return the beginning and the end of the first bytes of a report; complete secrets are masked anyway."""
    return report[: min(size, EDGE)] + report[max(0, size - EDGE) : size]
