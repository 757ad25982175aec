"""Loads a `State` from the tables: the records that some lines may touch, in a fixed number of queries.

First the records that `StateKeys` names, by the look-ups of `recorder.core.lookups`, and what belongs to a
loop or session; then those to which they refer, with their own columns. What these refer to in turn is not
read: such a record has its primary key alone, so that it can be saved as a reference and nothing more. Each
row becomes one object, whichever queries find it.

Cost: about 30 queries at most, whatever the number of lines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from itertools import chain
from typing import cast

from recorder.core.costs import billing
from recorder.core.costs.stated_costs import ROLE as UNLISTED
from recorder.core.handlers.model_configs import COMPARED_MAX
from recorder.core.lookups import LOOKUPS, Lookup, StateKeys
from recorder.core.money.prices import PriceKey
from recorder.core.records import (
    Approval,
    Compaction,
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
from recorder.database.row_mapper import Kind, table
from recorder.database.sql import Value, aware, in_list, list_param, read
from recorder.pricing import price_book
from recorder.projection import lookup_sql


class StateLoader:
    """Loads one State. `records` holds every record read so far by table and primary key."""

    def __init__(self, project: int, keys: StateKeys, producers: frozenset[int]) -> None:
        self.project = project
        self.keys = keys
        self.producers = producers
        self.records: dict[Kind, dict[int, Record]] = {}
        self.ancestors: dict[int, tuple[int | None, int]] = {}  # of a loop: its parent and its session

    def load(self) -> State:
        """Read the records and return them, indexed and linked to each other."""
        self._read_named_loops()
        self._read_loops_of_producers()
        self._read_loops_of_shrinking_sessions()
        for lookup in LOOKUPS:
            self._read_lookup(lookup)
        self._read_compared_configs()
        self._read_with_sessions()
        self._read_with_loops()
        roots = [sorted(records.values(), key=lambda record: record.id) for records in self.records.values()]
        self._read_references()
        self._link()
        state = State()
        for record in chain.from_iterable(roots):
            state.add(record)
        state.config_count = self._config_count()
        state.ends_elsewhere = self._ends_elsewhere(
            {loop.id for loops in state.runs.values() for loop in loops}
        )
        state.prices = price_book.prices(self.project, self._price_keys())
        return state

    def _read_named_loops(self) -> None:
        """Read of each loop id the run that started last, and the last runs in its and the named sessions."""
        keys = self.keys
        if not keys.loop_ids:
            return
        latest = lookup_sql.last_started(keys.loop_ids, self.producers, self.project)
        self._read(Loop, f"WHERE {in_list('r.id')}", list_param(latest))
        found, ids = list_param(self._values(Loop, "session")), list_param(keys.loop_ids)
        self._read(Loop, lookup_sql.last_runs(in_list("r.session_id")), found, ids)
        if keys.session_ids:
            named = f"SELECT id FROM recorder_session WHERE project_id = %s AND {in_list('session_id')}"
            where = lookup_sql.last_runs(f"r.session_id IN ({named})")
            self._read(Loop, where, self.project, list_param(keys.session_ids), ids)

    def _read_loops_of_producers(self) -> None:
        """Read the running loops and groups of the producers whose streams end."""
        if self.keys.ending_producers:
            producers = list_param(self.keys.ending_producers)
            self._read(Loop, f"WHERE r.status = 'running' AND {in_list('r.producer_id')}", producers)
            branches = f"recorder_looprecord l WHERE l.group_id = r.id AND {in_list('l.producer_id')}"
            self._read(Group, f"WHERE r.status = 'running' AND EXISTS (SELECT 1 FROM {branches})", producers)

    def _read_loops_of_shrinking_sessions(self) -> None:
        """Read of each session that loses a loop the first and the last loop that no line names."""
        for session_id in sorted(self.keys.shrinking_session_ids):
            others = f"""SELECT l.id FROM recorder_looprecord l JOIN recorder_session s ON s.id = l.session_id
                         WHERE s.project_id = %s AND s.session_id = %s AND l.role = 'normal'
                         AND l.started_at IS NOT NULL AND NOT {in_list("l.loop_id")}
                         ORDER BY l.started_at"""
            for order in ("", "DESC"):
                condition = f"WHERE r.id IN (SELECT id FROM ({others} {order} LIMIT 1) AS other)"
                self._read(Loop, condition, self.project, session_id, list_param(self.keys.loop_ids))

    def _read_lookup(self, lookup: Lookup) -> None:
        ids = lookup.ids(self.keys)
        if not ids or lookup.select in ("last runs", "last started"):  # loops are read by their ids at once
            return
        where = lookup_sql.where_first if lookup.select == "first" else lookup_sql.where
        condition, values = where(lookup, ids, self.project)
        self._read(lookup.record, condition, *values)

    def _read_compared_configs(self) -> None:
        """Read the configs that a new config is compared with to label it."""
        if self.keys.config_keys - self._names(ModelConfig, "key"):
            first = "SELECT id FROM recorder_modelconfig WHERE project_id = %s ORDER BY id LIMIT %s"
            self._read(ModelConfig, f"WHERE r.id IN ({first})", self.project, COMPARED_MAX)

    def _read_with_sessions(self) -> None:
        """Read the sessions of the loops, and what belongs to each session."""
        self._read_missing(Session, self._values(Loop, "session"))
        if self._of(Session):
            sessions = list_param(self._of(Session))
            self._read(Group, f"WHERE r.status = 'running' AND {in_list('r.session_id')}", sessions)
            self._read(Approval, f"WHERE r.resolved_at IS NULL AND {in_list('r.session_id')}", sessions)
        self._read_missing(Group, self._values(Loop, "group"))
        if self._of(Group):
            self._read(Loop, f"WHERE {in_list('r.group_id')}", list_param(self._of(Group)))

    def _read_with_loops(self) -> None:
        """Read the open parts of running loops."""
        loops = self._of(Loop).values()
        running = list_param(
            [loop.id for loop in loops if isinstance(loop, Loop) and loop.status == "running"]
        )
        last = "r.ordinal = (SELECT MAX(t.ordinal) FROM recorder_turn t WHERE t.loop_id = r.loop_id)"
        self._read(Turn, f"WHERE {in_list('r.loop_id')} AND {last}", running)
        self._read(ToolCall, f"WHERE r.state = 'running' AND {in_list('r.loop_id')}", running)
        self._read(Compaction, f"WHERE r.state = 'running' AND {in_list('r.loop_id')}", running)
        self._read(TextBlock, f"WHERE {in_list('r.loop_id')}", running)
        self._read_cut_parts(last)

    def _read_cut_parts(self, last_turn: str) -> None:
        """Read of loops that go on after their end the last turn, and the parts that were cut."""
        named = self.keys.reopening_loop_ids
        loops = self._of(Loop).values()
        reopening = [loop.id for loop in loops if isinstance(loop, Loop) and loop.loop_id in named]
        if not reopening:
            return
        cut, of_loops = list_param(reopening), in_list("r.loop_id")
        self._read(Turn, f"WHERE {of_loops} AND {last_turn}", cut)
        if self.keys.late_usage_loop_ids:
            empty = "r.state = 'done' AND r.input_tokens = 0 AND r.output_tokens = 0"
            self._read(Turn, f"WHERE {of_loops} AND {empty}", cut)
        for kind in (ToolCall, Compaction):
            self._read(kind, f"WHERE r.state = 'cut' AND {of_loops}", cut)
        self._read(Approval, f"WHERE r.decision = 'cancelled' AND r.inferred AND {of_loops}", cut)

    def _read_references(self) -> None:
        """Read the records to which those found refer; if lines may link, all ancestors of the loops."""
        for kind in (Loop, Session, Group, ModelConfig, Turn):
            self._read_missing(kind, self._references_to(kind))
        above = (self._values(Loop, "parent") | self._values(Session, "parent")) - set(self._of(Loop))
        if self.keys.may_link and above:
            self._read_ancestors(above)

    def _read_ancestors(self, above: Collection[int]) -> None:
        """Read of loops and all above them what a search for cycles needs: a session may have many."""
        up = f"""WITH RECURSIVE up(id, parent_id, session_id) AS (
            SELECT l.id, l.parent_id, l.session_id FROM recorder_looprecord l WHERE {in_list("l.id")}
            UNION SELECT p.id, p.parent_id, p.session_id
            FROM up JOIN recorder_session s ON s.id = up.session_id
            JOIN recorder_looprecord p ON p.id IN (up.parent_id, s.parent_id)
        ) SELECT id, parent_id, session_id FROM up"""
        self.ancestors = {pk: (parent, session) for pk, parent, session in read(up, list_param(above))}
        self._read_missing(Session, {session for _, session in self.ancestors.values()})

    def _linked_ancestors(self) -> dict[int, Loop]:
        """Return the ancestors that were not read whole, with their parents and sessions alone."""
        whole = cast("dict[int, Loop]", self._of(Loop))
        sessions = cast("dict[int, Session]", self._of(Session))
        missing = self.ancestors.keys() - whole.keys()
        found = cast("dict[int, Loop]", {pk: _with_key_alone(Loop, pk) for pk in missing})
        for pk, loop in found.items():
            parent, session = self.ancestors[pk]
            loop.parent = None if parent is None else whole.get(parent) or found[parent]
            loop.session = sessions[session]
        return found

    def _link(self) -> None:
        """Replace primary keys in link fields by records; one that was not read has its key alone."""
        ancestors = self._linked_ancestors()
        for kind, records in self.records.items():
            for name, target in table(kind).links.items():
                found = self._of(target) | ancestors if target is Loop else self._of(target)
                for record in records.values():
                    pk = getattr(record, name)
                    if pk is not None:
                        setattr(record, name, found.get(pk) or _with_key_alone(target, pk))

    def _price_keys(self) -> frozenset[PriceKey]:
        """Return the keys by which the lines, or the configs of loaded loops, may be priced."""
        configs = [config for config in self._of(ModelConfig).values() if isinstance(config, ModelConfig)]
        keys = (billing.price_key_of("", "", config) for config in configs)
        return self.keys.price_keys.union(key for key in keys if key is not None)

    def _ends_elsewhere(self, loops: Collection[int]) -> dict[Session, datetime]:
        """Return the latest end of the loops that are not among `loops`, of each session that has some.

        The loop of what is in no transcript has no end of its own: it is made of what is written. Reads an
        index from the latest end on: as many loops of a session as are among `loops`, and one more.
        """
        sessions = {pk: each for pk, each in self._of(Session).items() if isinstance(each, Session)}
        if not sessions:
            return {}
        latest = f"""SELECT r.ended_at FROM recorder_looprecord r
                     WHERE r.session_id = s.id AND r.ended_at IS NOT NULL
                     AND NOT {in_list("r.id")} AND r.role <> '{UNLISTED}'
                     ORDER BY r.ended_at DESC LIMIT 1"""
        ends = f"SELECT s.id, ({latest}) FROM recorder_session s WHERE {in_list('s.id')}"
        found = read(ends, list_param(loops), list_param(sessions))
        return {sessions[pk]: aware(end) for pk, end in found if end is not None}

    def _config_count(self) -> int:
        if not self.keys.config_keys:
            return 0
        found = read("SELECT COUNT(*) FROM recorder_modelconfig WHERE project_id = %s", self.project)
        return int(found[0][0])

    def _references_to(self, target: Kind) -> set[int]:
        return {
            pk
            for kind in self.records
            for name, linked in table(kind).links.items()
            if linked is target
            for pk in self._values(kind, name)
        }

    def _names(self, kind: Kind, name: str) -> set[str]:
        return {getattr(record, name) for record in self._of(kind).values()}

    def _values(self, kind: Kind, name: str) -> set[int]:
        return {pk for record in self._of(kind).values() if (pk := getattr(record, name)) is not None}

    def _read(self, kind: Kind, where: str, *values: Value) -> None:
        records = self.records.setdefault(kind, {})
        for record in table(kind).select(where, *values):
            records.setdefault(record.id, record)

    def _read_missing(self, kind: Kind, keys: Iterable[int]) -> None:
        missing = set(keys) - set(self._of(kind))
        if missing:
            self._read(kind, f"WHERE {in_list('r.id')}", list_param(missing))

    def _of(self, kind: Kind) -> dict[int, Record]:
        return self.records.get(kind, {})


def _with_key_alone(kind: Kind, pk: int) -> Record:
    record: Record = object.__new__(kind)
    record.id = pk
    return record
