"""The SQL of look-ups, made from `recorder.core.lookups.LOOKUPS`: each key is declared there alone."""

from __future__ import annotations

from recorder.core.lookups import LAST_RUNS, LOOKUPS, Lookup, StateKeys, Test
from recorder.core.records import ChildRef, EventRecord, Loop, ModelConfig, Session
from recorder.database.row_mapper import Kind, table
from recorder.database.sql import Value, in_list, list_param, list_table, read

LOOP_IN_PROJECT = "r.session_id IN (SELECT id FROM recorder_session WHERE project_id = %s)"
# Restricts a table's rows, alias `r`, to one project.
IN_PROJECT: dict[Kind, str] = {
    Session: "r.project_id = %s",
    ModelConfig: "r.project_id = %s",
    Loop: LOOP_IN_PROJECT,
    ChildRef: f"r.loop_id IN (SELECT r.id FROM recorder_looprecord r WHERE {LOOP_IN_PROJECT})",
    EventRecord: "j.project_id = %s",
}
_JOIN: dict[Kind, str] = {EventRecord: "JOIN recorder_journalevent j ON j.id = r.id "}
_TEST: dict[Test, str] = {"null": "IS NULL", "set": "IS NOT NULL", "filled": "> ''"}
# The run of each loop id that started last: in the project, and of each producer.
_LAST_STARTED = """(SELECT l.id FROM recorder_looprecord l JOIN recorder_session s ON s.id = l.session_id
                    WHERE l.loop_id = named.value AND l.start_event IS NOT NULL
                    AND s.project_id = %s {producer}
                    ORDER BY l.start_event DESC LIMIT 1)"""


def column(lookup: Lookup, alias: str = "") -> str:
    """Return the column that is compared with the ids."""
    return alias + table(lookup.record).columns[lookup.column]


def conditions(lookup: Lookup, alias: str = "") -> str:
    """Return what a row must fulfil beside having one of the ids: SQL that ends with AND, or "".

    "set" and "filled" of the compared column itself are left out where the comparison implies them; SQLite
    and PostgreSQL need "filled" in words to use a partial index with that condition.
    """
    columns = table(lookup.record).columns
    tests = [
        f"{alias}{columns[name]} {_TEST[test]}"
        for name, test in lookup.where
        if (name, test) != (lookup.column, "set")
    ]
    if lookup.differs_from:
        tests.append(f"{alias}{columns[lookup.differs_from]} <> {column(lookup, alias)}")
    return "".join(f"{test} AND " for test in tests)


def where(lookup: Lookup, ids: frozenset[str], project: int) -> tuple[str, list[Value]]:
    """Return the end of a SELECT, alias `r`, of all rows of a look-up with these ids in a project."""
    sql = f"{_JOIN.get(lookup.record, '')}WHERE {conditions(lookup, 'r.')}"
    return f"{sql}{in_list(column(lookup, 'r.'))} AND {IN_PROJECT[lookup.record]}", [list_param(ids), project]


def where_first(lookup: Lookup, ids: frozenset[str], project: int) -> tuple[str, list[Value]]:
    """Return the same of the first row of each id: the one with the lowest primary key."""
    name, join = table(lookup.record).name, _JOIN.get(lookup.record, "")
    first = f"""SELECT MIN(r.id) FROM {name} r {join}
                WHERE {conditions(lookup, "r.")}{column(lookup, "r.")} = named.value
                AND {IN_PROJECT[lookup.record]}"""
    return f"WHERE r.id IN (SELECT ({first}) FROM {list_table('named')})", [project, list_param(ids)]


def last_started(ids: frozenset[str], producers: frozenset[int], project: int) -> list[int]:
    """Return the primary keys of the runs of each loop id that started last, overall and by producer."""
    named, senders = list_table("named"), list_table("producers", "bigint")
    of_producer = _LAST_STARTED.format(producer="AND l.producer_id = producers.value")
    sql = f"""SELECT {_LAST_STARTED.format(producer="")} FROM {named} UNION
              SELECT {of_producer} FROM {named}, {senders}"""
    values = list_param(ids)
    return [key for (key,) in read(sql, project, values, project, values, list_param(producers)) if key]


def last_runs(sessions: str) -> str:
    """Return the end of a SELECT of the last runs of loop ids; `sessions` is a condition on `r`."""
    return f"""WHERE {sessions} AND {in_list("r.loop_id")} AND r.run > (
               SELECT MAX(o.run) - {LAST_RUNS} FROM recorder_looprecord o
               WHERE o.session_id = r.session_id AND o.loop_id = r.loop_id)"""


def holds_any(project: int, keys: StateKeys, producers: frozenset[int], loop_ids: frozenset[str]) -> bool:
    """Return whether the tables may hold a record of `keys`, or a run of `loop_ids` of one of `producers`.

    One query. Configs, prices and the loops of ending producers are not looked for. Loops and what waits for
    them are looked for in all projects, which is faster; the same id elsewhere costs one needless load.
    """
    ids: dict[str, tuple[Lookup, frozenset[str]]] = {}
    for lookup in LOOKUPS:
        if lookup.record is not ModelConfig and lookup.select != "last started":  # these are `runs`
            _, known = ids.get(lookup.index, (lookup, frozenset[str]()))
            ids[lookup.index] = lookup, known | lookup.ids(keys)
    tests: list[str] = []
    values: list[Value] = []
    for lookup, wanted in ids.values():
        if wanted:
            is_own = lookup.record is Session and lookup.select == "unique"  # an index of both columns
            values += (project,) if is_own else ()
            tests.append(_exists(lookup, "project_id = %s AND " if is_own else "", wanted, values))
    if producers and loop_ids:
        values.append(list_param(producers))
        tests.append(_exists(ids["runs"][0], f"{in_list('producer_id')} AND ", loop_ids, values))
    return bool(tests and read(f"SELECT {' OR '.join(tests)}", *values)[0][0])


def _exists(lookup: Lookup, before: str, ids: frozenset[str], values: list[Value]) -> str:
    """Return whether a table has a row of a look-up, as SQL; add the ids to `values`."""
    name = column(lookup)
    if len(ids) == 1:  # mostly: a tenth of the time of a list
        values.extend(ids)
        test = f"{name} = %s"
    else:
        values.append(list_param(ids))
        test = in_list(name)
    return f"EXISTS (SELECT 1 FROM {table(lookup.record).name} WHERE {before}{conditions(lookup)}{test})"
