"""Takes what ended through the rules and writes what they found, with what they remember of each loop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from django.conf import settings

from recorder.core.waste.calls import Call
from recorder.core.waste.loop import Found, LoopWaste, reruns
from recorder.follower import skipping
from recorder.models import LoopRecord, Waste, WasteLoop
from recorder.waste import lines, state
from recorder.waste.lines import AGENT_END, SHORTENED, TOOL_END, TURN_END, End, EndedTurn
from recorder.waste.rows import Result, Rows

AT_ONCE = 100  # lines, read and written together
NANO = 1_000_000_000  # nano-dollars of a dollar


def add(ends: Sequence[End]) -> list[Waste]:
    """Take what ended, in order; return the waste that became an alarm. The caller holds the lock.

    Cost: about fifteen queries, and one for twenty lines. Raises Busy and StoreError if the store is at
    fault; a line that breaks the rules otherwise is skipped.
    """
    parts = skipping.add_each("search for waste", ends, _add, lambda _end, _error: None) if ends else []
    return [waste for alarms in parts for waste in alarms]


def again(session: int, upto: int) -> list[Waste]:
    """Find the waste of a session again, up to a line; return the alarms that it did not have."""
    had = {_place(waste) for waste in Waste.objects.filter(session=session, alarm_line__isnull=False)}
    state.forget_session(session)
    ends = lines.ends_of_session(session, upto)
    found = [waste for at in range(0, len(ends), AT_ONCE) for waste in add(ends[at : at + AT_ONCE])]
    return [waste for waste in found if _place(waste) not in had]


def _add(ends: Sequence[End]) -> list[Waste]:
    loops = {end.loop for end in ends}
    states = {row.loop: LoopWaste.load(row.state) for row in WasteLoop.objects.filter(loop__in=loops)}
    results = _results(ends, states)
    rows = Rows(int(settings.LOOPSCOPE_WASTE_USD * NANO))
    rows.load(results)
    for result in results:
        rows.apply(result)
    rows.write()
    _save(ends, states)
    return rows.alarms


def _place(waste: Waste) -> tuple[int, str, str]:
    return waste.loop, waste.rule, waste.key


def _results(ends: Sequence[End], known: dict[int, LoopWaste]) -> list[Result]:
    calls = dict(lines.calls_of(ends))
    turns = lines.turns_by_key({end.turn for end in ends if end.type == TURN_END and end.turn})
    results = []
    begun = _reruns(ends)
    for end in ends:
        loop = known.setdefault(end.loop, LoopWaste())
        found = _found(end, loop, calls, turns)
        if found or end.type == TURN_END:
            results.append(Result(end, end.loop, end.agent_id, found))
        results += begun.get(end.line, ())
    return results


def _found(
    end: End, loop: LoopWaste, calls: Mapping[int, Call], turns: Mapping[int, EndedTurn]
) -> list[Found]:
    if end.type == TOOL_END and end.line in calls:
        return loop.add_call(calls[end.line])
    turn = turns.get(end.turn)
    if end.type == TURN_END and turn is not None and turn.line == end.line:
        return loop.add_turn(lines.rule_turn(turn))
    if end.type in SHORTENED:
        loop.compacted()
    return []


def _reruns(ends: Iterable[End]) -> dict[int, list[Result]]:
    """Return the loops that are run again, by the lines that begin their reruns. At most two queries."""
    begun = {end.line: end for end in ends if end.type == lines.AGENT_START and end.rerun_of is not None}
    parents = {end.rerun_of for end in begun.values() if end.rerun_of is not None}
    turns = lines.turns_of_loops(parents)
    agents = dict(LoopRecord.objects.filter(pk__in=parents).values_list("pk", "agent_id")) if parents else {}
    found = {}
    for line, end in begun.items():
        parent = end.rerun_of or 0
        refs = [ref for ref in turns.get(parent, ()) if ref.line < line]
        if refs:
            found[line] = [Result(end, parent, agents.get(parent, ""), [reruns(refs, line)])]
    return found


def _save(ends: Sequence[End], known: Mapping[int, LoopWaste]) -> None:
    """Write what is remembered of the loops that go on, and forget those that ended."""
    ended = {end.loop for end in ends if end.type == AGENT_END and end.line == end.loop_end}
    WasteLoop.objects.filter(loop__in=ended).delete()
    last = {end.loop: end for end in ends if end.loop not in ended}
    rows = [
        WasteLoop(  # type: ignore[misc]  # a column holds JSON
            loop=loop, project_id=end.project, session=end.session, state=known[loop].dump()
        )
        for loop, end in last.items()
    ]
    WasteLoop.objects.bulk_create(
        rows, update_conflicts=True, update_fields=("state",), unique_fields=("loop",), batch_size=50
    )
