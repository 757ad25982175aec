"""Progress of a command: a bar on a terminal, one line every five seconds elsewhere."""

from __future__ import annotations

import time
from typing import TextIO

WIDTH = 30


class Progress:
    """Shows `done` of `total` on `out`, at most ten times a second."""

    def __init__(self, out: TextIO, total: int, unit: str) -> None:
        self.out, self.total, self.unit = out, max(total, 1), unit
        self.done = 0
        self._is_terminal = out.isatty()
        self._shown_at = time.monotonic()

    def advance(self, size: int, label: str = "") -> None:
        """Count `size` more as done."""
        self.done += size
        now = time.monotonic()
        if now - self._shown_at < (0.1 if self._is_terminal else 5):
            return
        self._shown_at = now
        self._show(label)

    def close(self) -> None:
        """Clear the bar."""
        if self._is_terminal:
            self.out.write("\r\x1b[2K")
            self.out.flush()

    def _show(self, label: str) -> None:
        share = min(self.done / self.total, 1)
        if self._is_terminal:
            bar = "#" * int(WIDTH * share)
            self.out.write(f"\r\x1b[2K[{bar:<{WIDTH}}] {share:4.0%}  {label[:60]}")
        else:
            self.out.write(f"{share:4.0%}  {self.done:,} of {self.total:,} {self.unit}  {label}\n")
        self.out.flush()
