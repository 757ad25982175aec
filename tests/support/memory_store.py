"""A store for tests: keeps the records of changes and loads State for `StateKeys` as the real one does."""

import copy
from dataclasses import fields, is_dataclass

from recorder.core.changes import CallBilled, LabelsChanged, Removed, SegmentChanged
from recorder.core.formats.native import parse
from recorder.core.handlers.model_configs import COMPARED_MAX
from recorder.core.lookups import LAST_RUNS, LOOKUPS, StateKeys
from recorder.core.recorder import JournalLine, Recorder, state_keys_of
from recorder.core.records import (
    Anomaly,
    Approval,
    Compaction,
    Group,
    Loop,
    ModelConfig,
    Session,
    TextBlock,
    ToolCall,
    Turn,
)
from recorder.core.state import State
from tests.support.build import NINE, line
from tests.support.checked_state import declared

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
            elif isinstance(change, CallBilled | LabelsChanged | SegmentChanged):
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
        """Return a State of all of them."""
        state = State()
        for record in self.all:
            state.add(record)
        return state

    def load(self, keys: StateKeys) -> State:
        """Return a State of exactly what `keys` names."""
        state = State()
        wanted = _Loader(self, keys).wanted
        for record in self.all:
            if record in wanted:
                state.add(record)
        state.config_count = len(self.of(ModelConfig))
        for loop in self.of(Loop):
            if loop not in wanted and loop.ended_at is not None:
                latest = state.ends_elsewhere.get(loop.session, loop.ended_at)
                state.ends_elsewhere[loop.session] = max(latest, loop.ended_at)
        return state


class _Loader:
    def __init__(self, records, keys):
        self.records, self.keys = records, keys
        self.wanted = set()
        for lookup in LOOKUPS:
            self.wanted.update(self._found(lookup))
        self._compared_configs()
        self._of_producers()
        self._with_sessions()
        self._with_loops()

    def _found(self, lookup):
        ids = lookup.ids(self.keys)
        groups = {}
        for record in self.records.of(lookup.record):
            if getattr(record, lookup.column) in ids and lookup.matches(record):
                groups.setdefault(lookup.key(record), []).append(record)
        for group in groups.values():
            match lookup.select:
                case "last runs":
                    yield from group[-LAST_RUNS:]
                case "last started":
                    yield max(group, key=lambda loop: loop.start_event)
                case "first":
                    yield group[0]
                case _:
                    yield from group

    def _compared_configs(self):
        configs = self.records.of(ModelConfig)
        if self.keys.config_keys - {config.key for config in configs}:
            self.wanted.update(configs[:COMPARED_MAX])

    def _of_producers(self):
        of_producers = [loop for loop in self.records.of(Loop) if loop.producer in self.keys.ending_producers]
        self.wanted |= {loop for loop in of_producers if loop.status == "running"}
        groups = (loop.group for loop in of_producers)
        self.wanted |= {group for group in groups if group is not None and group.status == "running"}

    def _with_sessions(self):
        self.wanted |= {loop.session for loop in self._of(Loop)}
        self.wanted |= {loop.group for loop in self._of(Loop) if loop.group is not None}
        for group in self.records.of(Group):
            if group.status == "running" and group.session in self.wanted:
                self.wanted.add(group)
        self.wanted |= {loop for loop in self.records.of(Loop) if loop.group in self.wanted}
        self.wanted |= {a for a in self.records.of(Approval) if a.session in self.wanted}

    def _with_loops(self):
        running = {loop for loop in self._of(Loop) if loop.status == "running"}
        last = {turn.loop: turn for turn in self.records.of(Turn)}
        self.wanted |= {turn for loop, turn in last.items() if loop in running}
        for kind in (ToolCall, Compaction, TextBlock):
            self.wanted |= {part for part in self.records.of(kind) if part.loop in running}

    def _of(self, kind):
        return [record for record in self.wanted if isinstance(record, kind)]


class Play:
    """Feeds events one by one to a recorder; a handler that asks for an id that is not declared raises."""

    def __init__(self, *events, producer=1):
        self.records = Records()
        self.state = State()
        self.count = 0
        self.feed(*events, producer=producer)

    def feed(self, *events, producer=1):
        for event in events:
            self.count += 1
            if event == FLUSH:
                with declared(self.state, StateKeys(ending_producers=frozenset((producer,)))):
                    changes = Recorder(self.state).end_of_stream(producer, NINE, self.count)
            else:
                line = self.line(event, producer)
                with declared(self.state, state_keys_of([line])):
                    changes = Recorder(self.state).feed(line)
            self.records.keep(changes)
        return self

    def line(self, event, producer=1, number=None):
        return JournalLine(number or self.count, producer, NINE, "phi-core", parse(line(event)))

    def restart(self, following=None, producer=1):
        """Continue with copies of the records: all of them, or those that a store loads for what follows."""
        self.records = self.records.restarted()
        if following is None:
            self.state = self.records.everything()
        elif following == FLUSH:
            self.state = self.records.load(StateKeys(ending_producers=frozenset((producer,))))
        else:
            self.state = self.records.load(state_keys_of([self.line(following, producer)]))

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
