"""Matches the costs that telemetry reports with the turns that transcripts record.

A turn and a report that both have the id of their request are one call if these are equal. Otherwise they are
if session, model and tokens are equal and their times at most `WITHIN_NS` apart. Calls with the same figures
at the same time are given a cost only if all their reports have the same one and none is missing. Of more
than `MOST` calls with one id, or with the same figures at the same time, none is given a cost.

Invariant: which cost a turn has follows from the set of turns and reports, not from their order. Cost: two
statements for each turn or report and one for each request around it, which read at most `MOST + 1` rows on
either side of what they may touch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from recorder.core.formats.base import Fields, count_field, object_field, text_field
from recorder.core.formats.otlp.spans.attributes import first_text
from recorder.core.formats.otlp.spans.digest import Item
from recorder.core.formats.otlp.spans.usage.tokens import native
from recorder.core.handlers.lineage import session_id_of
from recorder.database import sql
from recorder.journal.identity import hashed

WITHIN_NS = 10_000_000_000  # a transcript has the time of an answer, a report that of the end of the request
MOST = 32  # calls that cannot be distinguished
_FIGURES = ("input", "output", "cache_read", "cache_write")
_COLUMNS = ("project_id", "figures", "request", "at_ns", "is_report", "loop_id", "turn_index", "cost_nano")


@dataclass(slots=True)
class Call:
    """One row: a turn, or a report of its cost."""

    figures: str
    request: str
    at_ns: int
    is_report: bool
    loop_id: str = ""
    turn_index: int = 0
    cost_nano: int | None = None
    pk: int = 0


class ReportedCalls:
    """The turns and the reports of one project."""

    def __init__(self, project: int) -> None:
        self._project = project

    def of_transcript(self, events: Iterable[Fields]) -> list[Fields]:
        """Add the turns that end among the events of a line; return the costs that are known now.

        The turns of loops that are withdrawn among them are removed first.
        """
        found = list(events)
        withdrawn = [text_field(event, "loop_id") for event in found if event["type"] == "LoopWithdrawn"]
        forget_turns(self._project, withdrawn)
        return self._add([call for event in found if (call := _turn(event)) is not None])

    def of_telemetry(self, items: Iterable[Item]) -> list[Fields]:
        """Add the log records that report a cost; return the costs of turns that are known now."""
        return self._add([call for item in items if (call := _report(item)) is not None])

    def _add(self, new: Sequence[Call]) -> list[Fields]:
        if not new:
            return []
        values: sql.Values = []
        for call in new:
            values += (call.figures, call.request, call.at_ns, call.is_report)
            values += (call.loop_id, call.turn_index, call.cost_nano)
        sql.insert_all("recorder_callfigures", {"project_id": self._project}, _COLUMNS[1:], values)
        changed: dict[int, Call] = {}
        for call in new:
            changed |= self._costs_around(call)
        return [_event(changed[pk]) for pk in sorted(changed)]

    def _costs_around(self, new: Call) -> dict[int, Call]:
        """Write the costs of the turns that a new call touches; return those that changed, by key."""
        around = self._around(new)
        if not any(call.is_report for call in around):
            return {}  # so none of these turns has a cost
        changed = {}
        for turn in around:
            if turn.is_report or not (_is_one(turn, new) or _is_near(turn, new)):
                continue
            nano = _cost(turn, around)
            if nano != turn.cost_nano:
                turn.cost_nano = nano
                changed[turn.pk] = turn
        sql.write(
            "UPDATE recorder_callfigures SET cost_nano = %s WHERE id = %s",
            [(turn.cost_nano, turn.pk) for turn in changed.values()],
        )
        return changed

    def _around(self, new: Call) -> list[Call]:
        """Return the calls that decide the costs of the turns which a call may touch.

        Calls with the same figures are read from its time on backwards and forwards. All of `WITHIN_NS` are
        near each other, so if there are too many to read all, those that were read have too many near them.
        """
        found: dict[int, Call] = {}
        most = 2 * (MOST + 1)
        for order, start, end in (
            ("DESC", new.at_ns - 2 * WITHIN_NS, new.at_ns),
            ("ASC", new.at_ns, new.at_ns + 2 * WITHIN_NS),
        ):
            found |= self._read(
                f"figures = %s AND at_ns BETWEEN %s AND %s ORDER BY at_ns {order} LIMIT %s",
                *(new.figures, start, end, most),
            )
        requests = {call.request for call in (new, *found.values()) if call.request}
        for request in sorted(
            requests
        ):  # with the condition of the index, without which SQLite does not use it
            found |= self._read("request = %s AND NOT (request = '') LIMIT %s", request, MOST + 1)
        return [found[pk] for pk in sorted(found)]

    def _read(self, condition: str, *values: sql.Value) -> dict[int, Call]:
        names = "id, figures, request, at_ns, is_report, loop_id, turn_index, cost_nano"
        rows = sql.read(
            f"SELECT {names} FROM recorder_callfigures WHERE project_id = %s AND {condition}",  # noqa: S608
            *(self._project, *values),
        )
        return {
            pk: Call(figures, request, at_ns, bool(is_report), loop_id, turn_index, cost_nano, pk)
            for pk, figures, request, at_ns, is_report, loop_id, turn_index, cost_nano in rows
        }


def forget_turns(project: int, loop_ids: Iterable[str]) -> None:
    """Remove the turns of some loops; reports, which have no loop, stay."""
    sql.write(
        "DELETE FROM recorder_callfigures WHERE project_id = %s AND loop_id = %s AND NOT is_report",
        [(project, loop_id) for loop_id in loop_ids],
    )


def _is_one(first: Call, second: Call) -> bool:
    return bool(first.request) and first.request == second.request


def _is_near(first: Call, second: Call) -> bool:
    return first.figures == second.figures and abs(first.at_ns - second.at_ns) <= WITHIN_NS


def _cost(turn: Call, calls: Sequence[Call]) -> int | None:
    """Return the reported cost of a turn; None if there is none, or not surely one."""
    same = [call for call in calls if _is_one(turn, call)]
    named = {call.cost_nano for call in same if call.is_report}
    if named or len(same) > MOST:
        return named.pop() if len(named) == 1 and len(same) <= MOST else None
    near = [call for call in calls if _is_near(turn, call)]
    if len(near) > MOST:
        return None
    reports = [call for call in near if call.is_report and not (call.request and turn.request)]
    costs = {call.cost_nano for call in reports}
    turns = sum(not call.is_report for call in near)
    return costs.pop() if len(costs) == 1 and len(reports) >= turns else None


def _turn(event: Fields) -> Call | None:
    """Return the call of a turn's end; None for another event, and for a turn without an answer."""
    message, at = object_field(event, "message"), 0
    if event["type"] == "TurnEnd" and "turn_index" in event:
        at = count_field(message, "timestamp")
    tokens = object_field(event, "usage")
    if not at or not any(count_field(tokens, name) for name in _FIGURES):
        return None
    loop_id = text_field(event, "loop_id")
    session = session_id_of(loop_id)
    figures = _figures(session, text_field(message, "model"), tokens)
    request = text_field(message, "requestId")
    return Call(
        figures,
        hashed(f"{session} {request}") if request else "",
        at * 1_000_000,
        is_report=False,
        loop_id=loop_id,
        turn_index=count_field(event, "turn_index"),
    )


def _report(item: Item) -> Call | None:
    """Return the call of a log record of Claude Code that has a cost; None for another line."""
    digest = item.digest
    if not digest.is_log or digest.runtime != "claude-code" or digest.cost_nano < 0 or digest.usage is None:
        return None
    request = first_text(item.attributes, ("request_id",))
    return Call(
        _figures(digest.session, digest.model, native(digest.usage)),
        hashed(f"{digest.session} {request}") if request else "",
        digest.start,
        is_report=True,
        cost_nano=digest.cost_nano,
    )


def _figures(session: str, model: str, tokens: Fields) -> str:
    """Return the hash of session, model and tokens. A suffix in brackets is a setting of the model."""
    counts = " ".join(str(count_field(tokens, name)) for name in _FIGURES)
    return hashed(f"{session} {model.partition('[')[0]} {counts}")


def _event(turn: Call) -> Fields:
    nano = turn.cost_nano
    return {
        "type": "CallReported",
        "loop_id": turn.loop_id,
        "session_id": session_id_of(turn.loop_id),
        "turn_index": turn.turn_index,
        "cost": None if nano is None else f"{nano // 10**9}.{nano % 10**9:09d}",
    }
