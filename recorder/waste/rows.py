"""Writes what the rules found: the waste of each loop and its calls, each call for one waste at most.

The part of a turn's cost that a call wastes is 1 / the number of tool calls that the turn asked for. It is
known when the turn has ended; until then the number of calls so far is used.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from recorder.core.content.text import clean
from recorder.core.waste.calls import Ref
from recorder.core.waste.loop import Found
from recorder.models import Waste, WastedCall
from recorder.models.waste import NAME
from recorder.waste.lines import TURN_END, End, EndedTurn, calls_of_turns, turns_by_key

MAX = 2**62  # a column holds 63 bits
PARAMETERS = 10_000  # of a statement: a loop that is run again has any number of turns
CHANGED = ("times", "last_line", "last_at", "alarm_line", "alarmed_at", "counted_nano")
Place = tuple[int, str, str]  # loop, rule and key of a waste


@dataclass(frozen=True, slots=True)
class Result:
    """The findings of the rules at a line, in the loop that it is about."""

    end: End
    loop: int
    agent_id: str
    found: Sequence[Found]


@dataclass(slots=True)
class Rows:
    """The rows that one step reads and writes. `amount_nano`: of a waste that is an alarm; 0 for none."""

    amount_nano: int
    wastes: dict[Place, Waste] = field(default_factory=dict)
    calls: dict[int, dict[int | None, WastedCall]] = field(default_factory=dict)  # by turn and tool call
    turns: Mapping[int, EndedTurn] = field(default_factory=dict)
    counts: Mapping[int, int] = field(default_factory=dict)  # tool calls of turns that go on
    _tool_calls: Mapping[int, list[Ref]] = field(default_factory=dict)
    _stored: set[Place] = field(default_factory=set)
    _changed: dict[Place, Waste] = field(default_factory=dict)
    _new_calls: list[WastedCall] = field(default_factory=list)
    _shared: list[WastedCall] = field(default_factory=list)  # stored ones whose share changed
    alarms: list[Waste] = field(default_factory=list)  # new ones

    def load(self, results: Sequence[Result]) -> None:
        """Read what is stored about these results. Five queries, one more for `PARAMETERS` turns."""
        found = [(result, each) for result in results for each in result.found]
        refs = [ref for _, each in found for ref in each.wasted]
        ended = {result.end.turn for result in results if result.end.type == TURN_END}
        turns = {ref.turn for ref in refs} | ended
        self.turns = turns_by_key(turns)
        for some in _parts(turns):
            for call in WastedCall.objects.filter(turn__in=some).select_related("waste"):
                self._keep(call.waste)
                call.waste = self.wastes[_place(call.waste)]
                self.calls.setdefault(call.turn, {})[call.tool_call] = call
        loops = {result.loop for result, _ in found}
        for waste in Waste.objects.filter(loop__in=loops, key__in={each.key for _, each in found}):
            self._keep(waste)
        whole = {ref.turn for ref in refs if ref.call is None} | (turns - self.turns.keys())
        self._tool_calls = calls_of_turns(whole)

    def apply(self, result: Result) -> None:
        """Note what was found at a line, and what it costs if a turn ended with it."""
        for found in result.found:
            waste = self._waste(result, found)
            waste.times += found.added
            waste.last_line, waste.last_at = result.end.line, result.end.at
            self._changed[_place(waste)] = waste
            for ref in found.wasted:
                self._claim(waste, ref, result.end)
            self._alarm(waste, result.end, is_due=found.is_alarm)
        turn = self.turns.get(result.end.turn) if result.end.type == TURN_END else None
        if turn is not None and turn.line == result.end.line:
            self._settle(turn, result.end)

    def write(self) -> None:
        """Write what was noted: at most four statements for some hundred rows."""
        new = [waste for place, waste in self._changed.items() if place not in self._stored]
        old = [waste for place, waste in self._changed.items() if place in self._stored]
        Waste.objects.bulk_create(new, batch_size=100)
        Waste.objects.bulk_update(old, CHANGED, batch_size=100)
        for call in self._new_calls:
            call.waste_id = call.waste.pk
        WastedCall.objects.bulk_update(self._shared, ("share",), batch_size=200)
        WastedCall.objects.bulk_create(self._new_calls, batch_size=200)

    def _keep(self, waste: Waste) -> None:
        self.wastes.setdefault(_place(waste), waste)
        self._stored.add(_place(waste))

    def _waste(self, result: Result, found: Found) -> Waste:
        place = (result.loop, found.rule, found.key)
        if place not in self.wastes:
            self.wastes[place] = Waste(
                project_id=result.end.project,
                session=result.end.session,
                loop=result.loop,
                agent_id=result.agent_id,
                rule=found.rule,
                name=clean(found.name, NAME),
                key=found.key,
                times=0,
                first_line=found.first_line,
                last_line=found.line,
                last_at=result.end.at,
            )
        return self.wastes[place]

    def _claim(self, waste: Waste, ref: Ref, end: End) -> None:
        """Count a call for a waste, unless it counts for another; of a whole turn those calls that do not."""
        claimed = self.calls.setdefault(ref.turn, {})
        if None in claimed or ref.call in claimed:
            return
        refs = self._tool_calls.get(ref.turn, []) if ref.call is None and claimed else [ref]
        for each in refs:
            if each.call in claimed:
                continue
            turn = self.turns.get(each.turn)
            call = WastedCall(
                waste=waste,
                session=waste.session,
                loop=waste.loop,
                turn=each.turn,
                tool_call=each.call,
                line=max(each.line, end.line),
                share=self._share(each),
            )
            claimed[each.call] = call
            self._new_calls.append(call)
            if turn is not None and turn.line < end.line:
                self._count(waste, turn, call.share)

    def _share(self, ref: Ref) -> int:
        if ref.call is None:
            return 1
        turn = self.turns.get(ref.turn)
        known = len(self._tool_calls.get(ref.turn, ())) if turn is None else turn.tool_calls
        return max(1, known)

    def _settle(self, turn: EndedTurn, end: End) -> None:
        """Give the calls of a turn that ended their shares, and count its cost."""
        for call in self.calls.get(turn.id, {}).values():
            share = 1 if call.tool_call is None else max(1, turn.tool_calls)
            if call.share != share:
                call.share = share
                if call.pk is not None:  # else it is written with this share
                    self._shared.append(call)
            self._count(call.waste, turn, share)
            self._alarm(call.waste, end, is_due=False)

    def _count(self, waste: Waste, turn: EndedTurn, share: int) -> None:
        waste.counted_nano = min(MAX, waste.counted_nano + turn.cost_nano // share)
        self._changed[_place(waste)] = waste

    def _alarm(self, waste: Waste, end: End, *, is_due: bool) -> None:
        """Note an alarm at its first line, if the loop of the waste goes on."""
        is_dear = 0 < self.amount_nano <= waste.counted_nano
        if waste.alarm_line is None and (is_due or is_dear) and end.loop == waste.loop:
            waste.alarm_line, waste.alarmed_at = end.line, end.received_at
            self.alarms.append(waste)


def _parts(keys: Collection[int]) -> Iterator[list[int]]:
    found = list(keys)
    for at in range(0, len(found), PARAMETERS):
        yield found[at : at + PARAMETERS]


def _place(waste: Waste) -> Place:
    return waste.loop, waste.rule, waste.key
