"""Marks sessions whose derived tables are to be made again."""

from collections.abc import Collection

from recorder.models import LedgerRedo, WasteRedo


def mark(sessions: Collection[int]) -> None:
    """Mark sessions: a loop was withdrawn or recorded in another way, or a session is gone."""
    LedgerRedo.mark(sessions)
    WasteRedo.mark(sessions)
