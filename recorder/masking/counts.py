"""Counts of masked values, by project, rule and day: raised when lines are stored, and never lowered.

Counted are the masks in stored lines, made here or by the sender, of the rules that the project has; a line
that is sent again is not stored, so it is not counted. Deleting lines leaves the counts, as a rebuild does.

Cost: nothing for lines without masks; one statement a transaction, with a row for each rule that occurs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, datetime

from recorder.database import sql
from recorder.masking.catalogue import BY_NAME
from recorder.masking.matcher import Rules

UNFINISHED = "unfinished-secret"  # of a stream whose secret does not end
TABLE = "recorder_maskcount"
_MARK = re.compile(rb"\[masked:([a-z0-9-]{1,40}):[0-9a-f]{8}\]")
_NONE: Sequence[bytes] = ()


def rules_in(line: bytes) -> Sequence[bytes]:
    """Return the name of the rule of each mask in a line, made here or by the sender."""
    return _MARK.findall(line) if b"[masked:" in line else _NONE


def marks_in(text: str) -> set[str]:
    """Return the different masks of a text, each with its rule and tag: equal values have equal masks."""
    return {found.group().decode() for found in _MARK.finditer(text.encode(errors="surrogatepass"))}


def masks_in(line: bytes) -> int:
    """Return how many masks a line has, made here or by the sender."""
    return len(rules_in(line))


class MaskCounts:
    """The masks in the lines of one transaction."""

    def __init__(self, project: int, rules: Rules) -> None:
        self._project = project
        self._rules = rules
        self._found: Counter[tuple[date, bytes]] = Counter()

    def add(self, names: Sequence[bytes], at: datetime) -> None:
        """Count the masks of a line that is stored now."""
        day = at.date()
        for name in names:
            self._found[day, name] += 1

    def write(self) -> None:
        """Add the counts to those of their days (UTC)."""
        days: dict[date, Counter[str]] = {}
        for (day, name), count in self._found.items():
            days.setdefault(day, Counter())[name.decode()] += count
        for day, counts in days.items():
            # A line may hold what only looks like a mask: names that are no rules make no rows.
            add(self._project, day, {name: counts[name] for name in counts if self._has_rule(name)})
        self._found.clear()

    def _has_rule(self, name: str) -> bool:
        return name in BY_NAME or name == UNFINISHED or self._rules.has(name)


def add(project: int, day: date, counts: Mapping[str, int]) -> None:
    """Add to the counts of a project and day, by rule; call it under the project's lock."""
    sql.write(
        f"""INSERT INTO {TABLE} (project_id, rule, day, masked) VALUES (%s, %s, %s, %s)
            ON CONFLICT (project_id, rule, day) DO UPDATE SET masked = {TABLE}.masked + excluded.masked""",  # noqa: S608  name
        [(project, rule, day.isoformat(), count) for rule, count in sorted(counts.items()) if count],
    )
