"""A queue of waiting rows, taken round robin: projects in turn, and in a project its tokens in turn.

The rows of one token of one project are a flow, in the order of their arrival. A portion takes rows of the
flow whose turn it is, and of further flows only while it has room. A flow that was served goes to the end.

Invariant: a project with rows is served after at most one portion of each other project, a token after at
most one turn of each other token of its project, whatever these sent. Cost: a portion looks at each flow
once, not at their rows.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest


@dataclass(slots=True)
class WaitingRow:
    """A waiting row."""

    key: int
    project: int
    token: int
    size: int  # bytes of its lines
    since: float  # arrival on the monotonic clock
    begun: int = 0  # by how many processes reading it was begun and not finished
    is_noted: bool = False  # that this process began


class FairQueue:
    """Changed by the writer thread; `has` and `oldest_since` may be called by any thread."""

    def __init__(self) -> None:
        self._projects: dict[
            int, dict[int, deque[WaitingRow]]
        ] = {}  # by project and token, the next one first
        self._lock = threading.Lock()  # for other threads: a flow that goes to the end is not missing

    def __bool__(self) -> bool:
        return bool(self._projects)

    def __iter__(self) -> Iterator[WaitingRow]:
        """Yield all rows in turn by flow, those of a flow in order."""
        for flows in zip_longest(*(flows.values() for flows in self._projects.values())):
            yield from chain.from_iterable(flow for flow in flows if flow is not None)

    def append(self, row: WaitingRow) -> None:
        with self._lock:
            self._projects.setdefault(row.project, {}).setdefault(row.token, deque()).append(row)

    def portion(self, size: int) -> list[WaitingRow]:
        """Return the next rows, of at most `size` bytes but one at least; `remove` takes them out.

        A row that was begun and not finished is alone.
        """
        rows: list[WaitingRow] = []
        held = 0
        for row in self:
            if rows and (row.begun or held + row.size > size):
                break
            rows.append(row)
            held += row.size
            if row.begun:
                break
        return rows

    def remove(self, rows: Sequence[WaitingRow]) -> None:
        """Remove the rows of the last portion; their flows and projects go to the end."""
        with self._lock:
            for row in rows:
                flows = self._projects.pop(row.project)
                flow = flows.pop(row.token)
                flow.popleft()
                if flow:
                    flows[row.token] = flow
                if flows:
                    self._projects[row.project] = flows

    def has(self, project: int, until: int) -> bool:
        """Return whether a row of a project with a key up to `until` waits."""
        with self._lock:
            return any(flow[0].key <= until for flow in self._projects.get(project, {}).values())

    def oldest_since(self, project: int | None = None) -> float | None:
        """Return since when the oldest row of a project, or of all, waits; None if none does."""
        with self._lock:
            asked = self._projects.values() if project is None else [self._projects.get(project, {})]
            return min((flow[0].since for flows in asked for flow in flows.values()), default=None)
