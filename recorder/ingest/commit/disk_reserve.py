"""A file that reserves disk space: deleted when the disk is full, so that pages and pruning can still write.

While it is deleted no event is accepted; it is created again as soon as there is room for it.
"""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path

log = logging.getLogger(__name__)

RESERVE_BYTES = 32 * 1024 * 1024
SHARE = 8  # at most one part in eight of a small disk
MARGIN_BYTES = 4 * 1024 * 1024


class Reserve:
    """The reserve of one folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "reserve"
        self.is_kept = False

    def keep(self) -> bool:
        """Create the file if it is missing; return whether it exists."""
        disk = shutil.disk_usage(self._path.parent)
        size = min(RESERVE_BYTES, disk.total // SHARE)
        if self._path.exists() and self._path.stat().st_size >= size:
            self.is_kept = True
        elif disk.free >= size + MARGIN_BYTES // (1 if size == RESERVE_BYTES else SHARE):
            self.is_kept = self._make(size)
        return self.is_kept

    def make_room(self) -> bool:
        """Delete the file if the disk is full; return whether there is room to open a database."""
        if shutil.disk_usage(self._path.parent).free < MARGIN_BYTES and self._path.exists():
            self.give_up()
        return shutil.disk_usage(self._path.parent).free >= MARGIN_BYTES // SHARE

    def give_up(self) -> None:
        """Delete the file, for writers that need little space."""
        self.is_kept = False
        self._path.unlink(missing_ok=True)
        log.warning("the disk of %s is full: no event is accepted until there is room", self._path.parent)

    def _make(self, size: int) -> bool:
        try:
            with self._path.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, size)
        except OSError as error:
            self._path.unlink(missing_ok=True)
            log.warning("no disk space can be reserved: %s", error.strerror)
            return False
        return True
