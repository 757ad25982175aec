"""Reported counts of a compaction, checked against the requests that the model was sent. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal

from dashboard.compaction_analysis.message_zones import Comparison
from dashboard.rendering.number_format import plural

Kind = Literal["running", "stale", "cut", "idle", "refuted", "differs", "agrees", "waiting", "gone", "unsent"]


@dataclass(frozen=True, slots=True)
class Claim:
    """Counts that a compaction reports of itself; None is unknown."""

    messages_before: int | None
    messages_after: int | None
    tokens_before: int | None
    tokens_after: int | None
    loops: int | None

    @property
    def has_messages(self) -> bool:
        return self.messages_before is not None and self.messages_after is not None

    @property
    def has_tokens(self) -> bool:
        return self.tokens_before is not None and self.tokens_after is not None

    @property
    def has_counts(self) -> bool:
        return self.has_messages or self.has_tokens

    @property
    def is_without_effect(self) -> bool:
        """Whether it reports the same counts before and after."""
        pairs = ((self.messages_before, self.messages_after), (self.tokens_before, self.tokens_after))
        reported = [pair for pair in pairs if None not in pair]
        return bool(reported) and all(before == after for before, after in reported)

    @property
    def smaller(self) -> float | None:
        """Return the reported reduction in tokens as a share."""
        if not self.tokens_before or self.tokens_after is None or self.tokens_after > self.tokens_before:
            return None
        return 1 - self.tokens_after / self.tokens_before


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of the check as a sentence; `tone` is its severity."""

    kind: Kind
    words: str
    tone: str = "muted"


RUNNING = Verdict("running", "The context is being compacted now.", "running")
STALE = Verdict("stale", "The compaction has not ended, and the session has no recent events.")
CUT = Verdict("cut", "The compaction was interrupted: the recording continues or ends without its end event.")


def verdict(
    claim: Claim, sent: Comparison | None, state: str, *, has_next: bool, pruned: date | None = None
) -> Verdict:
    """Compare the reported counts with the requests."""
    if state != "done":
        return {"running": RUNNING, "stale": STALE}.get(state, CUT)
    if sent is None:
        return _unsent(claim, has_next=has_next, pruned=pruned)
    return _whole(claim, sent) if sent.is_whole and claim.has_counts else _by_size(claim, sent)


def _whole(claim: Claim, sent: Comparison) -> Verdict:
    held = f"all {plural(sent.before, 'message')}" if sent.before > 1 else "its message"
    if claim.is_without_effect:
        return Verdict("idle", f"No effect, as reported: the next request held {held} unchanged.")
    return Verdict(
        "refuted", f"{_claim_text(claim)}, but the next request held {held} unchanged.", "rejected"
    )


def _by_size(claim: Claim, sent: Comparison) -> Verdict:
    if not claim.has_messages:
        return Verdict("unsent", f"No message counts were reported; {_sent_text(sent)}.")
    if (claim.messages_before, claim.messages_after) == (sent.before, sent.after - sent.new):
        return Verdict("agrees", "The next request has the reported number of messages.", "completed")
    return Verdict("differs", f"{_claim_text(claim)}; {_sent_text(sent)}.", "rejected")


def _unsent(claim: Claim, *, has_next: bool, pruned: date | None) -> Verdict:
    if claim.is_without_effect:
        return Verdict("idle", "No effect, as reported.")
    if pruned is not None:
        day = f"{pruned.day} {pruned:%b %Y}"
        return Verdict(
            "gone", f"The requests around this compaction were pruned on {day}; only the counts remain."
        )
    if not has_next:
        return Verdict("waiting", "No request was recorded after this compaction, so its effect is unknown.")
    return Verdict("unsent", "The requests were not recorded; only the counts are known.")


def _claim_text(claim: Claim) -> str:
    parts = []
    if claim.has_messages and (claim.messages_before != claim.messages_after or not claim.has_tokens):
        parts.append(f"{claim.messages_before:,} to {claim.messages_after:,} messages")
    if claim.has_tokens and (not parts or claim.tokens_before != claim.tokens_after):
        parts.append(f"{claim.tokens_before:,} to {claim.tokens_after:,} tokens")
    return f"The event reports {' and '.join(parts)}"


def _sent_text(sent: Comparison) -> str:
    new = f", {sent.new:,} of them new" if sent.new else ""
    return f"the requests held {sent.before:,} before and {sent.after:,} after{new}"
