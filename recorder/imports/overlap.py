"""Filters out the loops and groups of an event file that are recorded already."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime

from django.db.models import QuerySet

from recorder.core.events.fields import parse_timestamp
from recorder.models import LoopRecord, Project

Numbered = tuple[int, bytes]


class OverlapFilter:
    """Selects the lines of a file whose loop is not recorded from another source."""

    def __init__(self, project: Project, producer: str) -> None:
        self.left_out = 0  # loops
        self._recorded: QuerySet[LoopRecord] = LoopRecord.objects.filter(session__project=project).exclude(
            producer__name=producer
        )
        self._out: set[str] = set()  # loop ids left out now, and those of groups left out
        self._announced: dict[str, Numbered] = {}  # group starts that wait for their first branch, by loop id

    def lines_to_import(self, lines: Iterable[Numbered]) -> Iterator[Numbered]:
        """Yield the lines to import, in file order except for group starts (see `_group`)."""
        for number, line in lines:
            if b'"AgentStart"' in line:
                yield from self._start(number, line)
            elif b'"ParallelLoop' in line:
                yield from self._group(number, line)
            elif not self._out or _text(_object(line), "loop_id") not in self._out:
                yield number, line
        yield from dict.fromkeys(self._announced.values())

    def _start(self, number: int, line: bytes) -> Iterator[Numbered]:
        event = _object(line)
        loop_id = event.get("loop_id")
        if event.get("type") != "AgentStart" or not isinstance(loop_id, str):
            yield number, line
            return
        is_known = self._is_recorded(event, loop_id)
        announced = self._announced.get(loop_id)
        if announced:
            branches = [each for each, start in self._announced.items() if start == announced]
            for branch in branches:
                del self._announced[branch]
            (self._out.update if is_known else self._out.difference_update)(branches)
            if not is_known:
                yield announced
        if is_known:
            self.left_out += 1
            self._out.add(loop_id)
        else:
            self._out.discard(loop_id)
            yield number, line

    def _group(self, number: int, line: bytes) -> Iterator[Numbered]:
        """Hold a group start back while its branches may be recorded: the first branch to start decides."""
        event = _object(line)
        if event.get("type") == "ParallelLoopEnd" and _text(event, "selected_loop_id") in self._out:
            return
        ids = event.get("loop_ids")
        branches = [each for each in ids if isinstance(each, str)] if isinstance(ids, list) else []
        if event.get("type") == "ParallelLoopStart" and self._recorded.filter(loop_id__in=branches).exists():
            self._announced |= dict.fromkeys(branches, (number, line))
            return
        yield number, line

    def _is_recorded(self, event: dict[str, object], loop_id: str) -> bool:
        at = event.get("timestamp")
        started_at: datetime | None = parse_timestamp(at) if isinstance(at, str) else None
        session_id = str(event.get("session_id"))
        runs = self._recorded.filter(session__session_id=session_id, loop_id=loop_id)
        return started_at is not None and runs.filter(started_at=started_at).exists()


def _text(event: dict[str, object], name: str) -> str:
    """Return a field that is text; "" for any other value."""
    value = event.get(name)
    return value if isinstance(value, str) else ""


def _object(line: bytes) -> dict[str, object]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
