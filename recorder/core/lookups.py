"""The look-ups: by which ids of a line the recorder finds records. Each is declared once, in `LOOKUPS`.

From this table are made: the indexes of `State` (`State.add`), the queries that load them
(`recorder.projection.load_state`), the query that asks whether the tables hold anything for new ids
(`holds_any`, there as well), and the check in tests that handlers ask for declared ids alone
(`tests/support/checked_state.py`).

Invariant: for every id in `StateKeys`, `State` holds the records of its look-ups that the tables hold. An id
that an index does not have is therefore in no table, and a handler may create its record.

To add a look-up: an entry in `LOOKUPS`, a field of its name in `State`, and in `recorder.core.state_keys` the
ids of the events that need it. A test fails when a handler asks for an id that is missing there.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from recorder.core.money.prices import PriceKey
from recorder.core.records import ChildRef, EventRecord, Loop, ModelConfig, Record, Session

LAST_RUNS = 3  # runs of a loop id in one session that are loaded: the latest ones


@dataclass(frozen=True, slots=True)
class StateKeys:
    """The ids, within one project, for which `State` has to be loaded before lines are fed.

    With every loop come its session, its config, its group with all loops of the group and, while it runs,
    its last turn, running tools, open compaction and text blocks. With every session come its head, its
    open approvals and its running groups with all their loops.
    """

    session_ids: frozenset[str] = frozenset()
    orphan_session_ids: frozenset[str] = frozenset()  # the session part of loop ids: orphans are shown there
    loop_ids: frozenset[str] = frozenset()
    starting_loop_ids: frozenset[str] = frozenset()
    starting_session_ids: frozenset[str] = frozenset()
    linked_loop_ids: frozenset[str] = frozenset()  # sub-agents whose call a line names
    config_keys: frozenset[str] = frozenset()
    price_keys: frozenset[PriceKey] = frozenset()  # prices of the loaded configs are loaded as well
    # Sessions that lose a loop: their first and last other loops are loaded, which describe them then.
    shrinking_session_ids: frozenset[str] = frozenset()
    # Loops that go on after their end: their last turn and what was cut at their end are loaded.
    reopening_loop_ids: frozenset[str] = frozenset()
    # Loops of which a turn gets its usage after its end: their turns without usage are loaded.
    late_usage_loop_ids: frozenset[str] = frozenset()
    ending_producers: frozenset[int] = frozenset()  # all their running loops and groups are loaded

    @property
    def may_link(self) -> bool:
        """Return whether a line may link loops: it names a session. Then all ancestors are loaded."""
        return bool(self.session_ids or self.starting_loop_ids or self.starting_session_ids)

    def union(self, other: StateKeys) -> StateKeys:
        """Return the keys of both."""
        return StateKeys(**{name: getattr(self, name) | getattr(other, name) for name in KEY_NAMES})

    def difference(self, other: StateKeys) -> StateKeys:
        """Return the keys that `other` does not have."""
        return StateKeys(**{name: getattr(self, name) - getattr(other, name) for name in KEY_NAMES})


KEY_NAMES = tuple(key.name for key in fields(StateKeys))

# "null": the field is None. "set": it is not. "filled": it is neither None nor "".
Test = Literal["null", "set", "filled"]
# The records of one id that an index holds; "last runs" and "last started" are of loops alone.
Select = Literal["all", "unique", "last runs", "last started", "first"]


@dataclass(frozen=True, slots=True)
class Lookup:
    """One way from an id on a line to records."""

    index: str  # the field of State that answers it
    record: type[Record]
    column: str  # the field of the record that is compared with the ids
    keys: tuple[str, ...]  # the fields of StateKeys that hold the ids
    select: Select = "all"
    where: tuple[tuple[str, Test], ...] = ()  # of the record's fields: all must hold
    differs_from: str = ""  # a field that must not equal the column
    scope: str = ""  # a field of the record that precedes the id in the index's key

    def ids(self, keys: StateKeys) -> frozenset[str]:
        """Return the ids that `keys` declares for this look-up."""
        return frozenset[str]().union(*(getattr(keys, name) for name in self.keys))

    def key(self, record: Record) -> object:
        """Return the key under which the index holds `record`."""
        value: object = getattr(record, self.column)
        return (getattr(record, self.scope), value) if self.scope else value

    def matches(self, record: Record) -> bool:
        """Return whether the index holds `record`, apart from what `select` leaves out."""
        if self.differs_from and getattr(record, self.differs_from) == getattr(record, self.column):
            return False
        return all(_holds(getattr(record, name), test) for name, test in self.where)


LOOKUPS = (
    Lookup("sessions", Session, "session_id", ("session_ids", "orphan_session_ids"), "unique"),
    Lookup("runs", Loop, "loop_id", ("loop_ids",), "last runs", scope="session"),
    Lookup("latest", Loop, "loop_id", ("loop_ids",), "last started", (("start_event", "set"),)),
    Lookup(
        "latest_of_producer",
        Loop,
        "loop_id",
        ("loop_ids",),
        "last started",
        (("start_event", "set"),),
        scope="producer",
    ),
    # A loop that starts is linked to what named it before: the loops, sessions, tool calls and events that
    # wait for its id, and the tool calls that wait for its session.
    Lookup(
        "loops_awaiting_parent",
        Loop,
        "parent_loop_id",
        ("starting_loop_ids",),
        where=(("parent", "null"), ("parent_loop_id", "set"), ("start_event", "set")),
        differs_from="loop_id",
        scope="session",
    ),
    Lookup(
        "sessions_awaiting_parent",
        Session,
        "parent_loop_id",
        ("starting_loop_ids",),
        where=(("parent", "null"), ("parent_loop_id", "filled")),
    ),
    Lookup("unlinked_refs", ChildRef, "child_loop_id", ("starting_loop_ids",), where=(("child", "null"),)),
    Lookup("refs_of_child", ChildRef, "child_loop_id", ("linked_loop_ids",)),
    Lookup(
        "unlinked_refs_of_session",
        ChildRef,
        "child_session_id",
        ("starting_session_ids",),
        where=(("child", "null"),),
    ),
    Lookup(
        "orphans",
        EventRecord,
        "loop_key",
        ("starting_loop_ids",),
        where=(("loop", "null"), ("loop_key", "filled")),
    ),
    # Of a loop that does not start the recorder only asks whether there is an orphan.
    Lookup(
        "orphans",
        EventRecord,
        "loop_key",
        ("loop_ids",),
        "first",
        where=(("loop", "null"), ("loop_key", "filled")),
    ),
    Lookup("configs", ModelConfig, "key", ("config_keys",), "unique"),
)

# By record: the look-ups whose indexes hold it, one an index.
LOOKUPS_OF: dict[type[Record], tuple[Lookup, ...]] = {
    kind: tuple({lookup.index: lookup for lookup in LOOKUPS if lookup.record is kind}.values())
    for kind in {lookup.record for lookup in LOOKUPS}
}


def _holds(value: object, test: Test) -> bool:
    return value is None if test == "null" else bool(value) if test == "filled" else value is not None
