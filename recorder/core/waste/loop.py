"""The rules: they take the ended calls of one loop in order and return what each shows to be waste.

What is remembered of a loop is bounded: the last `MOST` different calls, errors and files, and the last three
calls. A call that may change something lets calls and errors before it count no longer; a compaction does so
for everything, because results before it are no longer in the context.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from recorder.core.waste.calls import Call, Ref, Turn, encoded

MOST = 100  # different calls, errors and files that are remembered
ALARM = 4  # occurrences that make an alarm, the first included
SAME_CALL, ALTERNATING, SAME_ERROR = "same_call", "alternating", "same_error"
REREAD, CUT_OUTPUT, THROWN_AWAY = "reread", "cut_output", "thrown_away"
LEAST = {SAME_CALL: 3, SAME_ERROR: 3, REREAD: 2}  # occurrences that are waste, the first included
PERIOD = 2  # calls of an alternation


class Found(NamedTuple):
    """The finding at a call or turn. `added` are the occurrences since the last time, `wasted` the calls."""

    rule: str
    key: str  # of the call, error or file; 32 hexadecimal digits, or a word
    name: str
    added: int
    first_line: int
    line: int
    is_alarm: bool
    wasted: tuple[Ref, ...]


@dataclass(slots=True)
class Repetition:
    """A call, error or file that occurred. `waiting` are repetitions that are not yet waste."""

    rule: str
    key: str
    times: int
    first_line: int
    turn: int  # of the last occurrence
    result: str = ""
    file: str = ""
    waiting: list[Ref] = field(default_factory=list)


class Recent(NamedTuple):
    """One of the last calls: its identity and where it is."""

    key: str
    is_file: bool
    tool: str
    ref: Ref


@dataclass(slots=True)
class LoopWaste:
    """The state of one loop."""

    repetitions: dict[tuple[str, str], Repetition] = field(default_factory=dict)  # least recently used first
    recent: list[Recent] = field(default_factory=list)  # the last calls, at most three
    run: int = 0  # calls of the alternation that goes on
    cut: int = 0  # turns in a row that were cut
    lost: Ref | None = None  # the last turn, if it failed

    def add_call(self, call: Call) -> list[Found]:
        """Take an ended tool call. Waiting calls count for no rule and reset none."""
        if call.kind == "wait":
            return []
        if call.kind == "act":
            self._forget_calls("")
            self.recent, self.run = [], 0
            return []
        found = self._alternate(call) or self._repeat(call)
        if call.kind == "change" and not call.has_failed:
            self._forget_calls(call.key)
            self._forget_files(call.text)
        return [found] if found else []

    def add_turn(self, turn: Turn) -> list[Found]:
        """Take an ended turn, behind its tool calls."""
        found = []
        if self.lost is not None:
            lost = self.lost
            found.append(_of_turn(THROWN_AWAY, "failed_turn", lost))
        self.lost = turn.ref if turn.is_lost else None
        self.cut = self.cut + 1 if turn.is_cut else 0
        if turn.is_cut:
            found.append(_of_turn(CUT_OUTPUT, "cut", turn.ref, is_alarm=self.cut >= ALARM))
        return found

    def compacted(self) -> None:
        """Forget all calls: their results left the context."""
        self.repetitions, self.recent, self.run = {}, [], 0

    def _alternate(self, call: Call) -> Found | None:
        """Return what A-B-A-B shows: calls and results are equal, and only the two alternate."""
        key = call.key and call.result and f"{call.key}{call.result}"[: 2 * len(call.key)]
        if not key:
            self.recent, self.run = [], 0
            return None
        last = Recent(key, bool(call.file), call.tool, call.ref)
        before, self.recent = self.recent, [*self.recent, last][-PERIOD - 1 :]
        if len(before) <= PERIOD or not _alternates([*before, last]):
            self.run = 0
            return None
        self.run = max(self.run, PERIOD + 1) + 1
        is_new = self.run == 2 * PERIOD
        wasted = (before[-1].ref, call.ref) if is_new else (call.ref,)
        pair = sorted({key, before[-1].key})
        return Found(
            ALTERNATING,
            _pair_key(pair),
            " · ".join(sorted({call.tool, before[-1].tool})),
            2 if is_new else int(self.run % PERIOD == 0),
            before[0].ref.line,
            call.ref.line,
            self.run >= PERIOD * ALARM,
            wasted,
        )

    def _repeat(self, call: Call) -> Found | None:
        """Return what the same call, error or read of a file shows, the third time or the second."""
        rule, key = _rule_of(call)
        if not key:
            return None
        entry = self.repetitions.pop((rule, key), None)
        if entry is None or (rule != SAME_ERROR and entry.result != call.result):
            entry = Repetition(rule, key, 0, call.ref.line, 0, call.result, call.file)
        self.repetitions[rule, key] = entry
        while len(self.repetitions) > MOST:
            del self.repetitions[next(iter(self.repetitions))]
        if rule != REREAD and entry.turn == call.ref.turn:
            return None  # calls side by side know nothing of each other's results
        entry.times, entry.turn = entry.times + 1, call.ref.turn
        if entry.times == 1:
            return None
        if entry.times < LEAST[rule]:
            entry.waiting.append(call.ref)
            return None
        wasted, entry.waiting = (*entry.waiting, call.ref), []
        added = entry.times if entry.times == LEAST[rule] else 1
        is_alarm = entry.times >= ALARM
        return Found(
            rule, key, call.file or call.tool, added, entry.first_line, call.ref.line, is_alarm, wasted
        )

    def _forget_calls(self, but: str) -> None:
        """Forget calls and errors after something changed, but not the call that changed it."""
        for rule, key in list(self.repetitions):
            if rule != REREAD and key != but:
                del self.repetitions[rule, key]

    def _forget_files(self, text: str) -> None:
        """Forget the reads of files that a call names which may have changed them."""
        for place, entry in list(self.repetitions.items()):
            if entry.file and encoded(re.split(r"[/\\]", entry.file.rstrip("/\\"))[-1]) in text:
                del self.repetitions[place]

    def dump(self) -> dict[str, Any]:
        """Return the state as JSON has it."""
        return {
            "repetitions": [_row_of(entry) for entry in self.repetitions.values()],
            "recent": [[each.key, each.is_file, each.tool, list(each.ref)] for each in self.recent],
            "run": self.run,
            "cut": self.cut,
            "lost": self.lost and list(self.lost),
        }

    @classmethod
    def load(cls, state: Any) -> LoopWaste:
        """Return the state that `dump` returned; an empty one for None."""
        if not state:
            return cls()
        entry = [_repetition(row) for row in state["repetitions"]]
        return cls(
            {(each.rule, each.key): each for each in entry},
            [Recent(key, is_file, tool, Ref(*ref)) for key, is_file, tool, ref in state["recent"]],
            state["run"],
            state["cut"],
            state["lost"] and Ref(*state["lost"]),
        )


def _of_turn(rule: str, key: str, ref: Ref, *, is_alarm: bool = False) -> Found:
    return Found(rule, key, "", 1, ref.line, ref.line, is_alarm, (ref,))


def reruns(turns: Sequence[Ref], line: int) -> Found:
    """Return what the line that begins a rerun shows of the loop that is run again: its turns are waste."""
    return Found(THROWN_AWAY, "rerun", "", 1, turns[0].line, line, is_alarm=False, wasted=tuple(turns))


def _rule_of(call: Call) -> tuple[str, str]:
    """Return the one rule of repetition that a call counts for, and its key; "" for none."""
    if call.has_failed:
        return SAME_ERROR, call.error
    key = call.key if call.result else ""
    return (REREAD if call.file else SAME_CALL), key


def _alternates(calls: Sequence[Recent]) -> bool:
    one, two, three, four = calls
    if one.is_file and two.is_file:
        return False  # reads of files have a rule of their own
    if len({each.ref.turn for each in calls}) < len(calls):
        return False  # calls side by side do not follow one another
    return one.key == three.key and two.key == four.key and one.key != two.key


def _pair_key(pair: Sequence[str]) -> str:
    half = len(pair[0]) // 4
    return "".join(key[:half] for key in pair)


def _row_of(entry: Repetition) -> list[Any]:
    waiting = [list(ref) for ref in entry.waiting]
    row = [
        entry.rule,
        entry.key,
        entry.times,
        entry.first_line,
        entry.turn,
        entry.result,
        entry.file,
    ]
    return [*row, waiting]


def _repetition(row: Sequence[Any]) -> Repetition:
    *values, waiting = row
    return replace(Repetition(*values), waiting=[Ref(*ref) for ref in waiting])
