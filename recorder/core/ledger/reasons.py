"""The provider's own reason for a missed cache, where it was recorded, beside the ledger's verdict. Pure.

Anthropic's cache diagnostics compare a request with the one before it and name where they differ first. They
are in the answer: `diagnostics.cache_miss_reason`, an object with a `type`, or its name alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from recorder.core.content.text import clean
from recorder.core.ledger.verdicts import Verdict
from recorder.core.records import Json

Reason = Literal[
    "model_changed",
    "system_changed",
    "tools_changed",
    "messages_changed",
    "previous_message_not_found",
    "unavailable",
]
REASON_MAX = 60  # characters; reasons that providers add later are kept as they are
FIELD = "cache_miss_reason"
_SAME: Mapping[str, tuple[Verdict, ...]] = {
    "model_changed": ("model_changed",),
    "system_changed": ("system_changed",),
    "tools_changed": ("tools_changed",),
    "messages_changed": ("history_edited", "settings_changed"),  # thinking and images are part of messages
}


def reason_of(event: Mapping[str, Json]) -> str:
    """Return the reason in the end of a turn, "" if none was recorded."""
    message = event.get("message")
    inside = message if isinstance(message, dict) else {}
    for holder in (event, inside, event.get("usage"), inside.get("usage")):
        if not isinstance(holder, dict):
            continue
        for fields in (holder.get("diagnostics"), holder):
            found = fields.get(FIELD) if isinstance(fields, dict) else None
            name = found.get("type") if isinstance(found, dict) else found
            if isinstance(name, str) and name:
                return clean(name, REASON_MAX)
    return ""


def agrees(verdict: str, reason: str) -> bool | None:
    """Return whether a provider's reason says what the verdict does; None if it says nothing about it.

    A provider that names a difference disagrees with a verdict of equal requests, and the reverse. Nothing
    follows from a request that the provider could not compare.
    """
    if reason not in _SAME or verdict in ("unknown", "first_call", "undecided"):
        return None
    return verdict in _SAME[reason]
