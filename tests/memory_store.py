"""A store for tests: keeps the records that changes make, recalls what `Needs` asks for, as ours does."""

import copy
from dataclasses import fields, is_dataclass

from recorder.core.formats.native import parse
from recorder.core.recorder import Line, Recorder, state_keys_of
from recorder.core.records import (
    Anomaly,
    Approval,
    CallBilled,
    ChildRef,
    Compaction,
    EventRecord,
    Group,
    Loop,
    ModelConfig,
    Removed,
    SegmentChanged,
    Session,
    TextBlock,
    ToolCall,
    Turn,
)
from recorder.core.state import State, StateKeys
from tests.build import NINE, line

FLUSH = "flush"


class Records:
    """Every record so far, in the order in which they were made."""

    def __init__(self):
        self.all = []
        self.counted = []

    def keep(self, changes):
        known = set(map(id, self.all))
        for change in changes:
            if isinstance(change, Removed):
                self.all.remove(change.record)
            elif isinstance(change, CallBilled | SegmentChanged):
                self.counted.append(change)
            elif id(change) not in known:
                known.add(id(change))
                self.all.append(change)

    def of(self, kind):
        return [record for record in self.all if isinstance(record, kind)]

    def one(self, kind, **having):
        (found,) = [
            r for r in self.of(kind) if all(getattr(r, name) == value for name, value in having.items())
        ]
        return found

    def restarted(self):
        """Return copies, as a new process reads them."""
        again = Records()
        again.all = copy.deepcopy(self.all)
        return again

    def plain(self):
        """Return the records with their places in the list for references, to compare them."""
        number = {id(record): n for n, record in enumerate(self.all)}
        return [
            (
                type(record).__name__,
                {
                    f.name: f"-> {number[id(value)]}" if is_dataclass(value) else value
                    for f in fields(record)
                    if (value := getattr(record, f.name)) is not ...
                },
            )
            for record in self.all
        ]

    def everything(self):
        """Return a Memory of all of them."""
        state = State()
        for record in self.all:
            state.add(record)
        return state

    def recall(self, asked: StateKeys) -> State:
        """Return a Memory of exactly what `asked` names."""
        state = State()
        wanted = _Recall(self, asked).wanted
        for record in self.all:
            if record in wanted:
                state.add(record)
        state.config_count = len(self.of(ModelConfig))
        return state


class _Recall:
    def __init__(self, records, asked):
        self.records, self.asked = records, asked
        self.wanted = set()
        self._loops()
        self._sessions()
        self._groups()
        self._parts()
        self._others()

    def _loops(self):
        loops, asked = self.records.of(Loop), self.asked
        by_session, last, own = {}, {}, {}
        for loop in loops:
            if loop.loop_id in asked.loop_ids:
                by_session.setdefault((loop.session, loop.loop_id), []).append(loop)
                if loop.start_event is not None:
                    last[loop.loop_id] = max(last.get(loop.loop_id, loop), loop, key=lambda x: x.start_event)
                    key = loop.producer, loop.loop_id
                    own[key] = max(own.get(key, loop), loop, key=lambda x: x.start_event)
        for runs in by_session.values():
            self.wanted.update(runs[-3:])
        self.wanted.update(last.values(), own.values())
        self.wanted.update(x for x in loops if x.status == "running" and x.producer in asked.ending_producers)
        self.wanted.update(
            x for x in loops if x.parent is None and x.parent_loop_id in asked.starting_loop_ids
        )

    def _sessions(self):
        asked = self.asked
        self.wanted |= {loop.session for loop in self._of(Loop)}
        for session in self.records.of(Session):
            spawned = session.parent is None and session.parent_loop_id in asked.starting_loop_ids
            if session.session_id in asked.session_ids | asked.orphan_session_ids or spawned:
                self.wanted.add(session)

    def _groups(self):
        self.wanted |= {loop.group for loop in self._of(Loop) if loop.group is not None}
        flushed = (
            loop.group for loop in self.records.of(Loop) if loop.producer in self.asked.ending_producers
        )
        self.wanted |= {group for group in flushed if group is not None and group.status == "running"}
        for group in self.records.of(Group):
            if group.status == "running" and group.session in self.wanted:
                self.wanted.add(group)
        self.wanted |= {loop for loop in self.records.of(Loop) if loop.group in self.wanted}

    def _parts(self):
        running = {loop for loop in self._of(Loop) if loop.status == "running"}
        last = {turn.loop: turn for turn in self.records.of(Turn)}
        self.wanted |= {turn for loop, turn in last.items() if loop in running}
        for kind in (ToolCall, Compaction, TextBlock):
            self.wanted |= {part for part in self.records.of(kind) if part.loop in running}
        self.wanted |= {a for a in self.records.of(Approval) if a.session in self.wanted}

    def _others(self):
        asked = self.asked
        for ref in self.records.of(ChildRef):
            if (
                ref.child_loop_id in asked.starting_loop_ids
                or ref.child_session_id in asked.starting_session_ids
            ):
                self.wanted.add(ref)
        self.wanted |= {c for c in self.records.of(ModelConfig) if c.key in asked.config_keys}
        for record in self.records.of(EventRecord):
            if record.loop is None and record.loop_key in asked.starting_loop_ids | asked.loop_ids:
                self.wanted.add(record)

    def _of(self, kind):
        return [record for record in self.wanted if isinstance(record, kind)]


class Play:
    """Events one after the other through a recorder, at one second each."""

    def __init__(self, *events, producer=1):
        self.records = Records()
        self.state = State()
        self.count = 0
        self.feed(*events, producer=producer)

    def feed(self, *events, producer=1):
        for event in events:
            self.count += 1
            if event == FLUSH:
                changes = Recorder(self.state).end_of_stream(producer, NINE, self.count)
            else:
                changes = Recorder(self.state).feed(self.line(event, producer))
            self.records.keep(changes)
        return self

    def line(self, event, producer=1, number=None):
        return Line(number or self.count, producer, NINE, "phi-core", parse(line(event)))

    def restart(self, following=None, producer=1):
        """Go on with copies of the records: all of them, or those that a store recalls for what follows."""
        self.records = self.records.restarted()
        if following is None:
            self.state = self.records.everything()
        elif following == FLUSH:
            self.state = self.records.recall(StateKeys(ending_producers=frozenset((producer,))))
        else:
            self.state = self.records.recall(state_keys_of([self.line(following, producer)]))

    def one(self, kind, **having):
        return self.records.one(kind, **having)

    def of(self, kind):
        return self.records.of(kind)

    def loop(self, loop_id="s.a.1", run=1):
        return self.one(Loop, loop_id=loop_id, run=run)

    def session(self, session_id="s"):
        return self.one(Session, session_id=session_id)

    def anomalies(self):
        return [anomaly.kind for anomaly in self.of(Anomaly)]
