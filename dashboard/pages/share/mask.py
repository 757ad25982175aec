"""The masking of shared pages: `mask_of` is called once for each response and frame of a link that masks.

A rule does not recognise a part of a value. So the end of a text that is still arriving is held back, and of
a text with an ellipsis the word before it goes, with the numbers before that, as of a card.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dashboard.rendering.shared_page import Masks
from recorder.masking.counts import marks_in
from recorder.masking.masker import Masker
from recorder.masking.project_rules import strict_masker_of
from recorder.models import Project, ShareLink

HELD = 256  # bytes of a text that is still arriving
CUT = 400  # characters before an ellipsis that are looked at
_BLANKS = re.compile(r"(\s+)")
Mask = Callable[[str], str]


def as_recorded(text: str) -> str:
    """Return the text as it is."""
    return text


def all_rules(project: Project) -> Mask:
    """Return the function that masks text with all rules of a project, the candidate rules included."""
    return strict_masker_of(project.pk).mask_text


@dataclass(slots=True)
class CountingMask:
    """Masks texts, and collects the different masks that it made: values stored masked are not among them."""

    mask: Mask
    marks: set[str] = field(default_factory=set)

    def __call__(self, text: str) -> str:
        """Return the text masked."""
        masked = self.mask(text)
        if masked != text:
            self.marks |= marks_in(masked) - marks_in(text)
        return masked


def mask_of(link: ShareLink) -> Mask:
    """Return the function through which all text of a link goes."""
    return all_rules(link.project) if link.is_masked else as_recorded


def masks_of(link: ShareLink, mask: Mask) -> Masks:
    """Return the masking of what a page is drawn from; `mask` is that of its texts."""

    def masked_line(line: bytes) -> bytes:
        return strict_masker_of(link.project_id).mask(line).line if link.is_masked else line

    def masked_stream(parts: Sequence[str]) -> Sequence[str]:
        return stream_parts(strict_masker_of(link.project_id), parts) if link.is_masked else parts

    return Masks(mask, masked_line, masked_stream)


def stream_parts(masker: Masker, parts: Sequence[str]) -> list[str]:
    """Return the parts of a text that is still arriving, masked as one text, without its last `HELD` bytes.

    Each part ends that far before its end, at the end of a word, and the next one begins there: so a part
    that is complete is shown the same when others follow. A value is masked in the part in which it begins.
    """
    raws = [part.encode() for part in parts]
    whole = b"".join(raws)
    spans = masker.find(whole)
    shown, at, size = [], 0, 0
    for raw in raws:
        size += len(raw)
        end = max(at, _word_end(whole, size - HELD))
        made = []
        for span in spans:
            if span.end > at and span.start < end:
                made.append(whole[at : max(at, span.start)])
                made += [masker.mark(whole[span.start : span.end], span.rule)] if span.start >= at else []
                at = min(span.end, end)
        made.append(whole[at:end])
        shown.append(b"".join(made).decode(errors="replace"))
        at = end
    return shown


def _word_end(text: bytes, limit: int) -> int:
    """Return the offset behind the last blank before a limit, 0 without one."""
    return 1 + max(text.rfind(blank, 0, max(0, limit)) for blank in (b" ", b"\n", b"\t"))


def without_cut_word(text: str) -> str:
    """Return a text without the word before each ellipsis in it, and without the numbers before that."""
    *cut, rest = text.split("…")
    return "…".join([*map(_without_last_word, cut), rest])


def _without_last_word(text: str) -> str:
    words = _BLANKS.split(text[-CUT:])
    words.pop()
    while words and (not words[-1].strip() or any(char.isdigit() for char in words[-1])):
        words.pop()
    return text[:-CUT] + "".join(words)
