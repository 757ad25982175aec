"""Numbers in what the commands print."""

from __future__ import annotations


def number(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
