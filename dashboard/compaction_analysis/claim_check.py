"""What was said of a pass, and whether what the model was sent agrees. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal

from dashboard.compaction_analysis.message_zones import Comparison
from dashboard.rendering.number_format import plural

Kind = Literal["running", "cut", "idle", "refuted", "differs", "agrees", "waiting", "gone", "unsent"]


@dataclass(frozen=True, slots=True)
class Claim:
    """What was said of a pass by whoever made it; None is unknown."""

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
        """Say whether it claims itself that nothing became smaller."""
        pairs = ((self.messages_before, self.messages_after), (self.tokens_before, self.tokens_after))
        known = [pair for pair in pairs if None not in pair]
        return bool(known) and all(before == after for before, after in known)

    @property
    def smaller(self) -> float | None:
        """Return by what share it claims that the context shrank."""
        if not self.tokens_before or self.tokens_after is None or self.tokens_after > self.tokens_before:
            return None
        return 1 - self.tokens_after / self.tokens_before


@dataclass(frozen=True, slots=True)
class Verdict:
    """What comes first of a pass, in words; `tone` is how loudly."""

    kind: Kind
    words: str
    tone: str = "muted"


RUNNING = Verdict("running", "The context is being compacted now.", "running")
CUT = Verdict(
    "cut", "The pass was cut off: what was recorded goes on, or ends, before it said that it was done."
)


def verdict(
    claim: Claim, sent: Comparison | None, state: str, *, has_next: bool, pruned: date | None = None
) -> Verdict:
    """Compare what was claimed with what was sent."""
    if state != "done":
        return RUNNING if state == "running" else CUT
    if sent is None:
        return _unsent(claim, has_next=has_next, pruned=pruned)
    return _held_whole(claim, sent) if sent.is_whole and claim.has_counts else _compared(claim, sent)


def _held_whole(claim: Claim, sent: Comparison) -> Verdict:
    held = f"all {plural(sent.before, 'message')}" if sent.before > 1 else "its message"
    if claim.is_without_effect:
        return Verdict(
            "idle", f"This pass had no effect: it says so, and the next request held {held} word for word."
        )
    return Verdict("refuted", f"{_said(claim)}, but the next request held {held} word for word.", "rejected")


def _compared(claim: Claim, sent: Comparison) -> Verdict:
    if not claim.has_messages:
        return Verdict("unsent", f"No message counts are recorded of this pass; {_held(sent)}.")
    if (claim.messages_before, claim.messages_after) == (sent.before, sent.after - sent.new):
        return Verdict("agrees", "The event and the next request agree on the messages.", "completed")
    return Verdict("differs", f"{_said(claim)}; {_held(sent)}.", "rejected")


def _unsent(claim: Claim, *, has_next: bool, pruned: date | None) -> Verdict:
    if claim.is_without_effect:
        return Verdict("idle", "This pass had no effect: it says so itself.")
    if pruned is not None:
        day = f"{pruned.day} {pruned:%b %Y}"
        return Verdict(
            "gone", f"The bodies of the requests around this pass were pruned on {day}: counts only."
        )
    if not has_next:
        return Verdict(
            "waiting", "No request was recorded after this pass, so nobody can say what the model was sent."
        )
    return Verdict("unsent", "What the model was sent was not recorded: counts only.")


def _said(claim: Claim) -> str:
    parts = []
    if claim.has_messages and (claim.messages_before != claim.messages_after or not claim.has_tokens):
        parts.append(f"{claim.messages_before:,} to {claim.messages_after:,} messages")
    if claim.has_tokens and (not parts or claim.tokens_before != claim.tokens_after):
        parts.append(f"{claim.tokens_before:,} to {claim.tokens_after:,} tokens")
    return f"The event claims {' and '.join(parts)}"


def _held(sent: Comparison) -> str:
    since = f", {sent.new:,} of them said since" if sent.new else ""
    return f"the requests held {sent.before:,} before and {sent.after:,} after{since}"
