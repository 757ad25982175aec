"""Context size before and after as two bars on one scale, with a colour per zone. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.compaction_analysis.claim_check import Claim
from dashboard.compaction_analysis.message_zones import Comparison
from dashboard.rendering.number_format import size, tokens


@dataclass(frozen=True, slots=True)
class Segment:
    """One coloured part, in percent of the width."""

    css: str
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Bar:
    """One context."""

    name: str
    text: str
    segments: Sequence[Segment]


def bars(claim: Claim, sent: Comparison | None) -> Sequence[Bar]:
    """Return both bars, measured when the messages are known, else as reported; none without either."""
    before, after = (sent.size_before, sent.size_after) if sent else (None, None)
    if sent is not None and before is not None and after is not None:
        scale = 100 / max(before, after, 1)
        parts = [[(f"zone-{zone.kind}", zone.size_before or 0) for zone in sent.zones]]
        parts.append([(f"zone-{zone.kind}", zone.size_after or 0) for zone in sent.zones])
        texts = size(before), size(after)
    elif claim.tokens_before is not None and claim.tokens_after is not None:
        scale = 100 / max(claim.tokens_before, claim.tokens_after, 1)
        parts = [[("zone-claim", claim.tokens_before)], [("zone-claim", claim.tokens_after)]]
        texts = tokens(claim.tokens_before), tokens(claim.tokens_after)
    else:
        return ()
    named = zip(("Before", "After"), texts, parts, strict=True)
    return [Bar(name, text, _laid(segments, scale)) for name, text, segments in named]


def _laid(parts: Sequence[tuple[str, int]], scale: float) -> list[Segment]:
    laid, x = [], 0.0
    for css, amount in parts:
        if amount:
            laid.append(Segment(css, round(x, 2), round(amount * scale, 2)))
            x += amount * scale
    return laid
