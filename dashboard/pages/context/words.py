"""Words and colours of the verdicts that are misses."""

from __future__ import annotations

from recorder.core.ledger.verdicts import NO_MISS, VERDICTS

CAUSES = {  # verdict: its name, and the subject of a sentence about the main cause
    "system_changed": ("System prompt changed", "a system prompt that changes between turns"),
    "ttl_lapsed": ("Cache expired", "a pause longer than the provider keeps a prefix"),
    "tools_changed": ("Tool definitions changed", "tool definitions that change between turns"),
    "history_edited": ("History edited", "earlier messages that change, as by a compaction"),
    "model_changed": ("Model changed", "a change of the model within a session"),
    "settings_changed": ("Settings changed", "settings that change between turns"),
    "undecided": ("Undecided", "not decided: the request changed, and the cache had expired by then"),
    "provider_miss": ("Provider miss", "the provider: it read less than the same request allowed"),
    "unknown": ("Unknown", "not known: the requests are not recorded"),
}
LABELS: dict[str, str] = {verdict: CAUSES[verdict][0] for verdict in VERDICTS if verdict not in NO_MISS}


def css(verdict: str) -> str:
    """Return the class of a cause's colour: miss-system-changed."""
    return f"miss-{verdict.replace('_', '-')}"
