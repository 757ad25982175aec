"""Reading a Memory from the tables: exactly what some lines may touch, in a fixed number of queries.

First the records that `Needs` names, then those they point at, with their own columns. What these point at in
turn is not read: it is known by its key alone, so that it can be saved again unharmed.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from recorder.core.money import billing
from recorder.core.money.prices import PriceKey
from recorder.core.records import (
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
from recorder.core.state import State, StateKeys
from recorder.database.row_mapper import Kind, table
from recorder.database.sql import Value, in_list, list_param, list_table, read
from recorder.pricing import price_book

RUNS = 3  # of a loop id in one session, the latest
OF_PROJECT = "r.session_id IN (SELECT id FROM recorder_session WHERE project_id = %s)"


class StateLoader:
    """One reading. `known` holds every record read so far, so that each exists once."""

    def __init__(self, project: int, needs: StateKeys, producers: frozenset[int]) -> None:
        self.project = project
        self.needs = needs
        self.producers = producers
        self.known: dict[Kind, dict[int, Record]] = {}

    def state(self) -> State:
        """Return what was asked for."""
        self._read_loops()
        self._read_sessions()
        self._read_open_parts()
        self._read_configs()
        self._read_orphans()
        roots = [sorted(records.values(), key=lambda record: record.id) for records in self.known.values()]
        self._reach()
        self._link()
        state = State()
        for record in chain.from_iterable(roots):
            state.add(record)
        state.config_count = self._config_count()
        state.prices = price_book.prices(self.project, self._pairs())
        return state

    def _read_loops(self) -> None:
        needs, project = self.needs, self.project
        if needs.loop_ids:
            self._read(Loop, f"WHERE {in_list('r.id')}", list_param(self._latest()))
            self._read_runs(in_list("r.session_id"), list_param(self._keys(Loop, "session")))
        if needs.loop_ids and needs.session_ids:
            named = f"SELECT id FROM recorder_session WHERE project_id = %s AND {in_list('session_id')}"
            self._read_runs(f"r.session_id IN ({named})", project, list_param(needs.session_ids))
        if needs.ending_producers:
            running = f"r.status = 'running' AND {in_list('r.producer_id')}"
            self._read(Loop, f"WHERE {running}", list_param(needs.ending_producers))
            branches = f"recorder_looprecord l WHERE l.group_id = r.id AND {in_list('l.producer_id')}"
            where = f"WHERE r.status = 'running' AND EXISTS (SELECT 1 FROM {branches})"
            self._read(Group, where, list_param(needs.ending_producers))
        if needs.starting_loop_ids:
            waits = f"r.parent_id IS NULL AND {in_list('r.parent_loop_id')} AND r.start_event IS NOT NULL"
            self._read(Loop, f"WHERE {waits} AND {OF_PROJECT}", list_param(needs.starting_loop_ids), project)

    def _read_runs(self, within: str, *values: Value) -> None:
        last = f"""r.run > (SELECT MAX(o.run) - {RUNS} FROM recorder_looprecord o
                   WHERE o.session_id = r.session_id AND o.loop_id = r.loop_id)"""
        where = f"WHERE {within} AND {in_list('r.loop_id')} AND {last}"
        self._read(Loop, where, *values, list_param(self.needs.loop_ids))

    def _latest(self) -> list[int]:
        """Return of each loop id the run that started last, in the project and from each producer."""
        one = """(SELECT l.id FROM recorder_looprecord l JOIN recorder_session s ON s.id = l.session_id
                  WHERE l.loop_id = named.value AND l.start_event IS NOT NULL AND s.project_id = %s {own}
                  ORDER BY l.start_event DESC LIMIT 1)"""
        named, producers = list_table("named"), list_table("producers", "bigint")
        sql = f"""SELECT {one.format(own="")} FROM {named} UNION
                  SELECT {one.format(own="AND l.producer_id = producers.value")} FROM {named}, {producers}"""
        ids = list_param(self.needs.loop_ids)
        found = read(sql, self.project, ids, self.project, ids, list_param(self.producers))
        return [pk for (pk,) in found if pk is not None]

    def _read_sessions(self) -> None:
        needs, project = self.needs, self.project
        if named := needs.session_ids | needs.orphan_session_ids:
            where = f"WHERE r.project_id = %s AND {in_list('r.session_id')}"
            self._read(Session, where, project, list_param(named))
        if needs.starting_loop_ids:
            waits = f"r.parent_id IS NULL AND r.parent_loop_id > '' AND {in_list('r.parent_loop_id')}"
            self._read(
                Session, f"WHERE r.project_id = %s AND {waits}", project, list_param(needs.starting_loop_ids)
            )
        self._read_missing(Session, self._keys(Loop, "session"))
        if self._of(Session):
            sessions = list_param(self._of(Session))
            self._read(Group, f"WHERE r.status = 'running' AND {in_list('r.session_id')}", sessions)
            self._read(Approval, f"WHERE r.resolved_at IS NULL AND {in_list('r.session_id')}", sessions)
        self._read_missing(Group, self._keys(Loop, "group"))
        if self._of(Group):
            self._read(Loop, f"WHERE {in_list('r.group_id')}", list_param(self._of(Group)))

    def _read_open_parts(self) -> None:
        """Read the open parts of running loops, and the links that wait for a loop or a session."""
        loops = self._of(Loop).values()
        running = list_param(
            [loop.id for loop in loops if isinstance(loop, Loop) and loop.status == "running"]
        )
        last = "r.ordinal = (SELECT MAX(t.ordinal) FROM recorder_turn t WHERE t.loop_id = r.loop_id)"
        self._read(Turn, f"WHERE {in_list('r.loop_id')} AND {last}", running)
        self._read(ToolCall, f"WHERE r.state = 'running' AND {in_list('r.loop_id')}", running)
        self._read(Compaction, f"WHERE r.state = 'running' AND {in_list('r.loop_id')}", running)
        self._read(TextBlock, f"WHERE {in_list('r.loop_id')}", running)
        self._read_refs("r.child_loop_id", self.needs.starting_loop_ids)
        self._read_refs("r.child_session_id", self.needs.starting_session_ids)

    def _read_refs(self, column: str, ids: frozenset[str]) -> None:
        if ids:
            within = f"r.loop_id IN (SELECT r.id FROM recorder_looprecord r WHERE {OF_PROJECT})"
            where = f"WHERE r.child_id IS NULL AND {in_list(column)} AND {within}"
            self._read(ChildRef, where, list_param(ids), self.project)

    def _read_configs(self) -> None:
        if self.needs.config_keys:
            keys = list_param(self.needs.config_keys)
            self._read(ModelConfig, f"WHERE r.project_id = %s AND {in_list('r.key')}", self.project, keys)

    def _read_orphans(self) -> None:
        """Read all orphans of loops that start, and one of each other loop: it tells that there are some."""
        orphans = "JOIN recorder_journalevent j ON j.id = r.id WHERE r.loop_id IS NULL AND j.project_id = %s"
        if self.needs.starting_loop_ids:
            self._read(
                EventRecord,
                f"{orphans} AND {in_list('r.loop_key')}",
                self.project,
                list_param(self.needs.starting_loop_ids),
            )
        if self.needs.loop_ids:
            first = f"""r.id IN (SELECT (SELECT MIN(e.id) FROM recorder_eventrecord e
                        JOIN recorder_journalevent k ON k.id = e.id
                        WHERE e.loop_key = named.value AND e.loop_id IS NULL AND k.project_id = %s)
                        FROM {list_table("named")})"""
            ids = list_param(self.needs.loop_ids)
            self._read(EventRecord, f"{orphans} AND {first}", self.project, self.project, ids)

    def _reach(self) -> None:
        """Read what the records point at, and all loops above theirs: parents and those that spawned."""
        up = f"""WITH RECURSIVE up(id) AS (
            SELECT l.id FROM recorder_looprecord l WHERE {in_list("l.id")}
            UNION SELECT p.id FROM up JOIN recorder_looprecord l ON l.id = up.id
            JOIN recorder_session s ON s.id = l.session_id
            JOIN recorder_looprecord p ON p.id IN (l.parent_id, s.parent_id)
        ) SELECT id FROM up"""
        if self.needs.may_link:
            self._read(
                Loop, f"WHERE r.id IN ({up})", list_param(self._pointed_at(Loop) | set(self._of(Loop)))
            )
        self._read_missing(Loop, self._pointed_at(Loop))
        for kind in (Session, Group, ModelConfig, Turn):
            self._read_missing(kind, self._pointed_at(kind))

    def _link(self) -> None:
        """Put records in the place of keys; of a record that was not read there is only its key."""
        for kind, records in self.known.items():
            for name, target in table(kind).links.items():
                known = self._of(target)
                for record in records.values():
                    pk = getattr(record, name)
                    if pk is not None:
                        setattr(record, name, known.get(pk) or _known_by_key(target, pk))

    def _pairs(self) -> frozenset[PriceKey]:
        """Return by which models and providers the lines to be fed may be priced."""
        configs = [config for config in self._of(ModelConfig).values() if isinstance(config, ModelConfig)]
        known = (billing.price_key_of("", "", config) for config in configs)
        return self.needs.price_keys.union(pair for pair in known if pair is not None)

    def _config_count(self) -> int:
        if not self.needs.config_keys:
            return 0
        found = read("SELECT COUNT(*) FROM recorder_modelconfig WHERE project_id = %s", self.project)
        return int(found[0][0])

    def _pointed_at(self, target: Kind) -> set[int]:
        return {
            pk
            for kind in self.known
            for name, linked in table(kind).links.items()
            if linked is target
            for pk in self._keys(kind, name)
        }

    def _keys(self, kind: Kind, name: str) -> set[int]:
        return {pk for record in self._of(kind).values() if (pk := getattr(record, name)) is not None}

    def _read(self, kind: Kind, where: str, *values: Value) -> None:
        known = self.known.setdefault(kind, {})
        for record in table(kind).select(where, *values):
            known.setdefault(record.id, record)

    def _read_missing(self, kind: Kind, keys: Iterable[int]) -> None:
        missing = set(keys) - set(self._of(kind))
        if missing:
            self._read(kind, f"WHERE {in_list('r.id')}", list_param(missing))

    def _of(self, kind: Kind) -> dict[int, Record]:
        return self.known.get(kind, {})


def holds_any(project: int, needs: StateKeys, producers: frozenset[int], loop_ids: frozenset[str]) -> bool:
    """Say whether a Reading of `needs` may find anything, or one for `producers` a run of `loop_ids`.

    One query. Configs, prices and what a flush needs are not looked for. Loops and what names them are
    looked for in all projects: that another has the same ids costs a reading and nothing else.
    """
    looked_for: tuple[tuple[str, str, tuple[Value, ...], str, frozenset[str]], ...] = (
        (
            "session",
            "project_id = %s AND",
            (project,),
            "session_id",
            needs.session_ids | needs.orphan_session_ids,
        ),
        ("looprecord", "", (), "loop_id", needs.loop_ids),
        ("looprecord", f"{in_list('producer_id')} AND", (list_param(producers),), "loop_id", loop_ids),
        ("eventrecord", "loop_id IS NULL AND", (), "loop_key", needs.loop_ids | needs.starting_loop_ids),
        ("looprecord", "parent_id IS NULL AND", (), "parent_loop_id", needs.starting_loop_ids),
        (
            "session",
            "parent_id IS NULL AND parent_loop_id > '' AND",
            (),
            "parent_loop_id",
            needs.starting_loop_ids,
        ),
        ("childloopref", "child_id IS NULL AND", (), "child_loop_id", needs.starting_loop_ids),
        ("childloopref", "child_id IS NULL AND", (), "child_session_id", needs.starting_session_ids),
    )
    asked: list[str] = []
    values: list[Value] = []
    for name, where, given, column, ids in looked_for:
        if ids:  # mostly one, which is found in a tenth of the time
            is_it, value = (f"{column} = %s", *ids) if len(ids) == 1 else (in_list(column), list_param(ids))
            asked.append(f"EXISTS (SELECT 1 FROM recorder_{name} WHERE {where} {is_it})")
            values += (*given, value)
    return bool(asked and read(f"SELECT {' OR '.join(asked)}", *values)[0][0])


def _known_by_key(kind: Kind, pk: int) -> Record:
    record: Record = object.__new__(kind)
    record.id = pk
    return record
