"""Findings: what one loop adds to the insights of a project. They depend on that loop only."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

Kind = Literal["procedure", "solution", "fact"]


@dataclass(slots=True)
class Finding:
    """An insight as seen in one loop: occurrences, successes and durations."""

    kind: Kind
    agent_id: str
    steps: tuple[str, ...] = ()
    about: str = ""  # of a solution: the step that failed
    statement: str = ""  # of a solution: the error as `normalize_error` returns it; of a fact: the fact
    is_changed: bool = False  # of a solution: the retry had other arguments
    events: list[int] = field(default_factory=list)  # journal ids of the evidence
    text: str = ""  # of a solution: the error, verbatim
    times: int = 0
    worked: int = 0  # of `times`
    durations: Counter[int] = field(
        default_factory=Counter
    )  # by duration in milliseconds, as `rounded` returns it
    first_at: datetime | None = None
    last_at: datetime | None = None

    @property
    def key(self) -> str:
        return finding_key(
            self.kind, self.agent_id, self.steps, self.about, self.statement, is_changed=self.is_changed
        )

    def count(self, *, worked: bool, began_at: datetime | None, ended_at: datetime | None) -> None:
        """Add one occurrence; without both times it has no duration."""
        self.times += 1
        self.worked += worked
        if began_at is None or ended_at is None:
            return
        self.durations[rounded(max(0, round((ended_at - began_at).total_seconds() * 1000)))] += 1
        self.first_at = min(self.first_at or began_at, began_at)
        self.last_at = max(self.last_at or ended_at, ended_at)


def finding_key(
    kind: Kind,
    agent_id: str,
    steps: tuple[str, ...],
    about: str = "",
    statement: str = "",
    *,
    is_changed: bool = False,
) -> str:
    """Return the permanent key of an insight: a hash, 32 hexadecimal digits. It is stored."""
    parts = json.dumps([kind, agent_id, steps, about, statement, is_changed])
    return hashlib.sha256(parts.encode()).hexdigest()[:32]


def rounded(ms: int) -> int:
    """Round to two significant digits, so that counts by duration stay few and add up in any order."""
    unit = int("1" + "0" * (len(str(ms)) - 2)) if ms > 99 else 1
    return (ms + unit // 2) // unit * unit


def median(durations: Mapping[int, int]) -> int | None:
    """Return the lower median of durations in milliseconds, given their counts; None without any."""
    left = (sum(durations.values()) + 1) // 2
    for ms, number in sorted(durations.items()):
        left -= number
        if left <= 0:
            return ms
    return None
