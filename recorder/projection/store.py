"""Reads and writes the records: `load_state` reads what some lines touch, `save` writes what they changed.

Records that a recorder changed are written here. Other modules change stored ones in place: masking their
texts, pricing their costs, withdrawals and removal their links. `load_state` runs a fixed number of queries.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date

from recorder.core.changes import (
    CallBilled,
    CallReopened,
    Change,
    CostReported,
    CostStated,
    LabelsChanged,
    LoopCleared,
    Removed,
    SegmentChanged,
    SessionMoved,
)
from recorder.core.content.labels import labels_of
from recorder.core.lookups import StateKeys
from recorder.core.records import (
    Anomaly,
    Approval,
    ChildRef,
    Compaction,
    EventRecord,
    Group,
    Loop,
    ModelConfig,
    Record,
    Session,
    TextBlock,
    ToolCall,
    Turn,
)
from recorder.core.state import State
from recorder.database import row_mapper, sql
from recorder.follower import redo
from recorder.masking.project_rules import masker_of
from recorder.pricing import price_book, rollups, stated_costs
from recorder.projection import reported_costs, withdrawals
from recorder.projection.load_state import StateLoader
from recorder.pubsub.invalidation import Invalidation, invalidation_of
from recorder.search import documents

# Rows are written in this order and deleted in reverse. Keys may point both ways: they are checked at commit.
ORDER: tuple[type[Record], ...] = (
    ModelConfig,
    Session,
    Group,
    Loop,
    Turn,
    ToolCall,
    ChildRef,
    Compaction,
    Approval,
    TextBlock,
    EventRecord,
    Anomaly,
)

_NO_RECORDS = (
    *(CallBilled, CallReopened, CostReported, CostStated, LabelsChanged, LoopCleared, SegmentChanged),
    SessionMoved,
)


@dataclass(frozen=True, slots=True)
class RetainedKeys:
    """Primary keys from before a rebuild by natural key: URLs contain them, so they must not change."""

    configs: dict[str, int] = field(default_factory=dict)
    sessions: dict[str, int] = field(default_factory=dict)
    groups: dict[tuple[str, int], int] = field(default_factory=dict)
    loops: dict[tuple[str, str, int], int] = field(default_factory=dict)
    made: dict[tuple[type[Record], int], int] = field(default_factory=dict)  # by the event that made it
    taken: dict[tuple[type[Record], int], int] = field(default_factory=dict)  # of these, since `settle`

    def key(self, record: Record) -> int:
        """Return the key that `record` had, 0 if it is new."""
        match record:
            case ModelConfig():
                key = self.configs.get(record.key, 0)
            case Session():
                key = self.sessions.get(record.session_id, 0)
            case Group():
                key = self.groups.get((record.session.session_id, record.ordinal), 0)
            case Loop():
                key = self.loops.get((record.session.session_id, record.loop_id, record.run), 0)
            case Turn() | ToolCall() | Compaction():
                key = self._made_by(record, record.start_event, record.end_event)
            case Approval():
                key = self._made_by(record, record.request_event, record.resolve_event)
            case _:
                key = 0
        return key

    def _made_by(self, record: Record, *events: int | None) -> int:
        """Return the key of the record that the first of these events created; each key is returned once."""
        known = [event for event in events if event is not None]
        name = (type(record), min(known, default=0))
        if name not in self.made:
            return 0
        self.taken[name] = self.made.pop(name)
        return self.taken[name]

    def settle(self) -> None:
        """Confirm that the records with the taken keys are written."""
        self.taken.clear()

    def take_back(self) -> None:
        """Make the taken keys available again, because their records were not written."""
        self.made.update(self.taken)
        self.taken.clear()


NO_RETAINED_KEYS = RetainedKeys()


def load_state(project: int, needs: StateKeys, producers: Iterable[int] = ()) -> State:
    """Return a State with the records that `needs` names; `producers` are those whose lines will be fed."""
    return StateLoader(project, needs, frozenset(producers)).load()


def save(project: int, changes: Iterable[Change], retained: RetainedKeys = NO_RETAINED_KEYS) -> Invalidation:
    """Write each changed record in its final state; return the invalidation to publish after the commit.

    New records get their primary keys here, those of `retained` if present. Saving twice is idempotent.
    """
    changes = withdrawals.apply(project, changes)
    redo.mark(_of_reopened(changes))
    sums = rollups.additions(changes)
    pending = stated_costs.pending(changes)
    last: dict[Record, bool] = {}
    for change in changes:
        if type(change) is Removed:
            last[change.record] = True
        elif type(change) not in _NO_RECORDS:
            last[change] = False  # type: ignore[index]  # no type check sees that it is a record
    written = [record for record, is_removed in last.items() if not is_removed]
    removed = [record for record, is_removed in last.items() if is_removed and record.id]
    new = [record for record in written if not record.id]
    _give_keys(new, retained)
    _mask_streamed(project, written)
    for kind, records in _by_kind(written):
        row_mapper.table(kind).put(records, project)
    write_labels(project, {change.session for change in changes if type(change) is LabelsChanged})
    sums.write(project)
    withdrawals.move_lines(changes)
    _delete(project, removed)
    smaller = withdrawals.smaller_sessions(changes)
    described = withdrawals.without_metadata(smaller)
    row_mapper.table(Session).put(described, project)
    write_labels(project, described)
    reported_costs.add_up_sessions(smaller)
    reported = reported_costs.apply(project, changes)
    rest = stated_costs.restate(project, pending, retained.key)
    touched = invalidation_of(
        project, [*written, *reported, *rest.written], [*removed, *rest.removed], [*new, *rest.created]
    )
    touched.moved.update(withdrawals.moved_sessions(changes))
    return touched


def _of_reopened(changes: Iterable[Change]) -> set[int]:
    """Return the stored sessions of turns that go on: what was derived from their ends is made again."""
    turns = (change.record for change in changes if type(change) is CallReopened)
    return {turn.loop.session.id for turn in turns if isinstance(turn, Turn) and turn.id}


def _mask_streamed(project: int, written: Sequence[Record]) -> None:
    """Mask streaming text, which joins what several lines have in parts. One query if there is any."""
    blocks = [record for record in written if type(record) is TextBlock]
    if blocks:
        masker = masker_of(project)
        for block in blocks:
            block.text = masker.mask_text(block.text)


def _delete(project: int, removed: Sequence[Record]) -> None:
    sessions = [record.id for record in removed if isinstance(record, Session)]
    stated_costs.forget(project, sessions)
    documents.hide_sessions(sessions)
    if sessions:
        redo.mark(sessions)
    for kind, records in reversed(_by_kind(removed)):
        name = row_mapper.table(kind).name
        sql.write(f"DELETE FROM {name} WHERE id = %s", [[record.id] for record in records])


def write_labels(project: int, sessions: Iterable[Session]) -> None:
    """Write the index of labels of sessions anew. Two statements."""
    ordered = sorted(sessions, key=lambda session: session.id)
    sql.write("DELETE FROM recorder_sessionlabel WHERE session_id = %s", [[each.id] for each in ordered])
    sql.write(
        "INSERT INTO recorder_sessionlabel (project_id, session_id, name, value) VALUES (%s, %s, %s, %s)",
        [(project, each.id, name, value) for each in ordered for name, value in labels_of(each)],
    )


def note_pruned(sessions: Iterable[int], day: date) -> None:
    """Mark sessions whose line bodies were pruned on `day`."""
    sql.write("UPDATE recorder_session SET pruned_on = %s WHERE id = %s", [(day, pk) for pk in sessions])


def forget(project: int) -> RetainedKeys:
    """Delete all records of a project, but not its journal; return the keys they had, for `save`."""
    retained = _retained_keys(project)
    rollups.delete(project)
    sql.write("DELETE FROM recorder_sessionlabel WHERE project_id = %s", [[project]])
    for kind in reversed(ORDER):
        table = row_mapper.table(kind)
        sql.write(f"DELETE FROM {table.name} WHERE {_OF_PROJECT[kind]}", [[project]])
    return retained


def _by_kind(records: Iterable[Record]) -> list[tuple[type[Record], list[Record]]]:
    found: dict[type[Record], list[Record]] = defaultdict(list)
    for record in records:
        found[type(record)].append(record)
    return [(kind, found[kind]) for kind in ORDER if kind in found]


def forget_demo(project: int) -> Invalidation:
    """Delete the records of the demo, and unused configs; the invalidation names its sessions."""
    gone = {pk for (pk,) in sql.read(_DEMO, project)}
    redo.mark(gone)
    rollups.subtract(project, f"r.session_id IN ({_DEMO})", project)
    sql.write(f"DELETE FROM recorder_sessionlabel WHERE session_id IN ({_DEMO})", [[project]])
    for kind in reversed(ORDER):
        sql.write(f"DELETE FROM {row_mapper.table(kind).name} WHERE {_OF_DEMO[kind]}", [[project]])
    price_book.forget_unused(project)
    return Invalidation(project, sessions=gone)


def _give_keys(new: list[Record], retained: RetainedKeys) -> None:
    """Give each new record its primary key, in the order of their creation."""
    if retained is not NO_RETAINED_KEYS:
        for record in new:
            record.id = retained.key(record)
    keyless = _by_kind(record for record in new if not record.id)
    ids = sql.next_ids({row_mapper.table(kind).name: len(records) for kind, records in keyless})
    for kind, records in keyless:
        for record, key in zip(
            records, ids[row_mapper.table(kind).name], strict=False
        ):  # SQLite's do not end
            record.id = key


def _retained_keys(project: int) -> RetainedKeys:
    sessions = "JOIN recorder_session s ON s.id = r.session_id WHERE s.project_id = %s"
    groups = f"SELECT s.session_id, r.ordinal, r.id FROM recorder_parallelgrouprecord r {sessions}"
    loops = f"SELECT s.session_id, r.loop_id, r.run, r.id FROM recorder_looprecord r {sessions}"
    return RetainedKeys(
        configs=dict(_pairs("SELECT key, id FROM recorder_modelconfig WHERE project_id = %s", project)),
        sessions=dict(_pairs("SELECT session_id, id FROM recorder_session WHERE project_id = %s", project)),
        groups={(row[0], row[1]): row[2] for row in sql.read(groups, project)},
        loops={(row[0], row[1], row[2]): row[3] for row in sql.read(loops, project)},
        made={key: pk for kind in _EVENTS_OF for key, pk in _made(kind, project)},
    )


def _made(kind: type[Record], project: int) -> Iterator[tuple[tuple[type[Record], int], int]]:
    """Give the key of each record of a kind by the event that made it: the first of those it knows."""
    statement = f"SELECT id, {_EVENTS_OF[kind]} FROM {row_mapper.table(kind).name} WHERE {_OF_PROJECT[kind]}"
    for pk, *events in sql.read(statement, project):
        if known := [event for event in events if event is not None]:
            yield (kind, min(known)), pk


def _pairs(statement: str, project: int) -> list[tuple[str, int]]:
    return [(row[0], row[1]) for row in sql.read(statement, project)]


_SESSIONS = "(SELECT id FROM recorder_session WHERE project_id = %s)"
_LOOPS = f"(SELECT id FROM recorder_looprecord WHERE session_id IN {_SESSIONS})"
_OF_PROJECT: dict[type[Record], str] = {
    **dict.fromkeys((ModelConfig, Session, Anomaly), "project_id = %s"),
    **dict.fromkeys((Group, Loop, Approval), f"session_id IN {_SESSIONS}"),
    **dict.fromkeys((Turn, ToolCall, ChildRef, Compaction, TextBlock), f"loop_id IN {_LOOPS}"),
    EventRecord: "id IN (SELECT id FROM recorder_journalevent WHERE project_id = %s)",
}
_EVENTS_OF: dict[type[Record], str] = {
    **dict.fromkeys((Turn, ToolCall, Compaction), "start_event, end_event"),
    Approval: "request_event, resolve_event",
}

_DEMO = "SELECT id FROM recorder_session WHERE is_demo AND project_id = %s"
_DEMO_LOOPS = f"SELECT id FROM recorder_looprecord WHERE session_id IN ({_DEMO})"
_DEMO_LINES = """SELECT j.id FROM recorder_journalevent j JOIN recorder_producer p ON p.id = j.producer_id
                 WHERE p.is_demo AND p.project_id = %s"""
_OF_DEMO: dict[type[Record], str] = {
    **dict.fromkeys((Group, Loop, Approval), f"session_id IN ({_DEMO})"),
    **dict.fromkeys((Turn, ToolCall, ChildRef, Compaction, TextBlock), f"loop_id IN ({_DEMO_LOOPS})"),
    Session: f"id IN ({_DEMO})",
    EventRecord: f"id IN ({_DEMO_LINES})",
    Anomaly: f"event IN ({_DEMO_LINES})",
    ModelConfig: "project_id = %s AND id NOT IN (SELECT config_id FROM recorder_looprecord "
    "WHERE config_id IS NOT NULL)",
}
