"""What one loop adds to what a project has learned; it depends on nothing but the loop."""

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
    """One insight as one loop shows it: how often, how often it worked, how long it took."""

    kind: Kind
    agent_id: str
    steps: tuple[str, ...] = ()
    about: str = ""  # of a solution: the step that failed
    said: str = ""  # of a solution: the error, without what changes each time; of a fact: the fact
    is_changed: bool = False  # of a solution: other arguments were given
    events: list[int] = field(default_factory=list)  # where to look
    text: str = ""  # of a solution: the error as it was said
    times: int = 0
    worked: int = 0
    durations: Counter[int] = field(default_factory=Counter)  # rounded milliseconds
    first_at: datetime | None = None
    last_at: datetime | None = None

    @property
    def key(self) -> str:
        return finding_key(
            self.kind, self.agent_id, self.steps, self.about, self.said, is_changed=self.is_changed
        )

    def count(self, *, worked: bool, began_at: datetime | None, ended_at: datetime | None) -> None:
        """Add one occurrence."""
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
    said: str = "",
    *,
    is_changed: bool = False,
) -> str:
    """Return what names an insight for good."""
    told = json.dumps([kind, agent_id, steps, about, said, is_changed])
    return hashlib.sha256(told.encode()).hexdigest()[:32]


def rounded(ms: int) -> int:
    """Return two significant digits: so that times can be counted, and counts be added up in any order."""
    unit = int("1" + "0" * (len(str(ms)) - 2)) if ms > 99 else 1
    return (ms + unit // 2) // unit * unit


def median(durations: Mapping[int, int]) -> int | None:
    """Return the time that half of all took at most."""
    left = (sum(durations.values()) + 1) // 2
    for ms, number in sorted(durations.items()):
        left -= number
        if left <= 0:
            return ms
    return None
