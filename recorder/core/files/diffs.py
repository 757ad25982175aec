"""The lines that an edit removed and added, as text that reads as a unified diff, within bounds. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import unified_diff

from recorder.core.content.text import clean

COMPARED = 2_000  # lines of all texts of a call; those beyond are not compared line by line
SHOWN = 80  # lines of a diff
WIDEST = 400  # characters of a line


@dataclass(frozen=True, slots=True)
class Diff:
    """A diff: its first lines, how many it added and removed, and how many are not in the text."""

    text: str
    added: int
    removed: int
    more: int

    @classmethod
    def of_lines(cls, lines: Sequence[str]) -> Diff:
        """Return the diff that has these lines, each with its sign."""
        shown = [line if len(line) <= WIDEST else f"{line[:WIDEST]}…" for line in lines[:SHOWN]]
        return cls(
            clean("\n".join(shown)),
            sum(line.startswith("+") for line in lines),
            sum(line.startswith("-") for line in lines),
            max(0, len(lines) - SHOWN),
        )


def difference(pairs: Sequence[tuple[str, str]]) -> Diff:
    """Return the diff of texts before and after, one after the other."""
    lines: list[str] = []
    left = COMPARED
    for before, after in pairs:
        old, new = before.splitlines(), after.splitlines()
        left -= len(old) + len(new)
        lines += _compared(old, new) if old and new and left >= 0 else _replaced(old, new)
    return Diff.of_lines(lines)


def _compared(old: Sequence[str], new: Sequence[str]) -> list[str]:
    return list(unified_diff(old, new, lineterm="", n=2))[2:]  # without the names of the files


def _replaced(old: Sequence[str], new: Sequence[str]) -> list[str]:
    count = f"@@ -1,{len(old)} +1,{len(new)} @@"
    return [count, *(f"-{line}" for line in old), *(f"+{line}" for line in new)]
