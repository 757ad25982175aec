"""The state of the recorder: the records that handlers may read or change, indexed by their look-ups.

The recorder has no other state. Invariant: a State that is loaded from the stored records between any two
lines leads to the same changes as one that every earlier line was applied to. `StateKeys` declares what must
be loaded for given lines; more does no harm. A record that is only reached through another one (a parent, a
group's judge) needs only its own fields. Cost: one dict operation a look-up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import assert_never

from recorder.core.lookups import LOOKUPS_OF, Lookup
from recorder.core.money import token_counts
from recorder.core.money.prices import PriceBook
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

# Look-ups that hold a loop once it has started.
_OF_STARTED_LOOPS = tuple(lookup for lookup in LOOKUPS_OF[Loop] if ("start_event", "set") in lookup.where)
_OF_ALL_LOOPS = tuple(lookup for lookup in LOOKUPS_OF[Loop] if lookup not in _OF_STARTED_LOOPS)


@dataclass(slots=True)
class State:
    """Indexes over records: first those of `LOOKUPS`, by ids of lines, then those by records."""

    sessions: dict[str, Session] = field(default_factory=dict)  # by session_id
    runs: dict[tuple[Session, str], list[Loop]] = field(default_factory=dict)  # by loop_id; ascending runs
    latest: dict[str, Loop] = field(default_factory=dict)  # the run that started last, by loop_id
    latest_of_producer: dict[tuple[int, str], Loop] = field(default_factory=dict)
    loops_awaiting_parent: dict[tuple[Session, str], list[Loop]] = field(default_factory=dict)
    sessions_awaiting_parent: dict[str, list[Session]] = field(default_factory=dict)  # by parent_loop_id
    unlinked_refs: dict[str, list[ChildRef]] = field(default_factory=dict)  # by child_loop_id
    refs_of_child: dict[str, list[ChildRef]] = field(default_factory=dict)  # by child_loop_id
    unlinked_refs_of_session: dict[str, list[ChildRef]] = field(default_factory=dict)  # by child_session_id
    orphans: dict[str, list[EventRecord]] = field(default_factory=dict)  # by loop_key
    configs: dict[str, ModelConfig] = field(default_factory=dict)
    prices: PriceBook = field(default_factory=dict)
    config_count: int = 0  # of the project: it gives the next colour

    loops: dict[Session, dict[Loop, None]] = field(default_factory=dict)
    children: dict[Loop, list[Loop]] = field(default_factory=dict)  # some may have another parent since
    sessions_below: dict[Loop, list[Session]] = field(default_factory=dict)  # as above
    refs_of_loop: dict[Loop, list[ChildRef]] = field(default_factory=dict)
    running_loops: dict[int, dict[Loop, None]] = field(default_factory=dict)  # by producer
    last_turns: dict[Loop, Turn] = field(default_factory=dict)
    turns_without_usage: dict[Loop, dict[int, Turn]] = field(default_factory=dict)  # ended; by turn_index
    running_tools: dict[Loop, dict[str, ToolCall]] = field(default_factory=dict)  # by tool_call_id
    running_compactions: dict[Loop, Compaction] = field(default_factory=dict)
    text_blocks: dict[Loop, list[TextBlock]] = field(default_factory=dict)  # of the message being streamed
    open_approvals: dict[Session, list[Approval]] = field(default_factory=dict)
    approvals_by_tool: dict[tuple[Loop, str], Approval] = field(default_factory=dict)  # by tool_call_id
    running_groups: dict[Session, dict[Group, None]] = field(default_factory=dict)
    branches: dict[Group, list[Loop]] = field(default_factory=dict)
    # What was cut when its loop ended: of loops that go on, or that ended since the State was loaded.
    cut_parts: dict[Loop, dict[ToolCall | Compaction | Approval, None]] = field(default_factory=dict)
    ends_elsewhere: dict[Session, datetime] = field(default_factory=dict)  # the latest of loops not loaded
    # The latest end of the loops of a session, and the sessions whose latest one was taken back.
    _latest_ends: dict[Session, datetime] = field(default_factory=dict)
    _ends_taken_back: set[Session] = field(default_factory=set)
    # The result of the last `find_loop`: consecutive lines mostly name the same loop.
    _last_found: tuple[int, str, Loop | None] = 0, "", None

    def add(self, record: Record) -> None:  # noqa: C901, PLR0912  one arm a table
        """Index a record. Records of one table must be added in the order of their ids."""
        match record:
            case Turn():
                self.last_turns[record.loop] = record
                self.note_ended_turn(record)
            case ToolCall():
                if record.state == "running":
                    self.running_tools.setdefault(record.loop, {})[record.tool_call_id] = record
                elif record.state == "cut":
                    self.cut_parts.setdefault(record.loop, {})[record] = None
            case TextBlock():
                self.text_blocks.setdefault(record.loop, []).append(record)
            case Loop():
                self._add_loop(record)
            case Session() | ChildRef() | EventRecord() | ModelConfig():
                self._index(record, LOOKUPS_OF[type(record)])
                self._index_references(record)
            case Compaction():
                if record.state == "running":
                    self.running_compactions[record.loop] = record
                elif record.state == "cut":
                    self.cut_parts.setdefault(record.loop, {})[record] = None
            case Approval():
                if record.resolved_at is None:
                    self._add_approval(record)
                elif record.loop is not None and record.decision == "cancelled" and record.inferred:
                    self.cut_parts.setdefault(record.loop, {})[record] = None
            case Group():
                if record.status == "running":
                    self.running_groups.setdefault(record.session, {})[record] = None
            case Anomaly():
                pass
            case _:
                assert_never(record)

    def put_below(self, parent: Loop, child: Loop | Session) -> None:
        """Make a loop the parent of another one of its session, or of a session that it spawned."""
        if child.parent is not parent:
            child.parent = parent
            self._index_child(child)

    def find_loop(self, producer: int, loop_id: str) -> Loop | None:
        """Return the run of a loop id that this producer started last, else the one that started last."""
        last_producer, last_loop_id, loop = self._last_found
        if loop_id != last_loop_id or producer != last_producer:
            loop = self.latest_of_producer.get((producer, loop_id)) or self.latest.get(loop_id)
            self._last_found = producer, loop_id, loop
        return loop

    def note_ended_turn(self, turn: Turn) -> None:
        """Note a turn that ended without usage, which may come later."""
        if turn.state == "done" and not token_counts.has_tokens(turn):
            self.turns_without_usage.setdefault(turn.loop, {})[turn.turn_index] = turn

    def forget_found(self) -> None:
        """Forget the result of the last `find_loop`, because a loop was removed or reset."""
        self._last_found = 0, "", None

    def note_end(self, session: Session, at: datetime) -> None:
        """Note the end of a loop."""
        self._latest_ends[session] = max(at, self._latest_ends.get(session, at))

    def take_back_end(self, loop: Loop) -> None:
        """Note that a loop goes on or is withdrawn; call it before its end is removed."""
        if loop.ended_at is not None and self._latest_ends.get(loop.session) == loop.ended_at:
            self._ends_taken_back.add(loop.session)

    def latest_end(self, session: Session) -> datetime | None:
        """Return the latest end of the loops of a session, loaded or not."""
        if self._ends_taken_back:
            self._find_latest_ends()
        ends = (self._latest_ends.get(session), self.ends_elsewhere.get(session))
        return max((end for end in ends if end is not None), default=None)

    def _find_latest_ends(self) -> None:
        """Find the latest ends anew of all sessions that lost one, in one pass."""
        for session in self._ends_taken_back:
            self._latest_ends.pop(session, None)
            for ended_at in (loop.ended_at for loop in self.loops.get(session, ())):
                if ended_at is not None:
                    self.note_end(session, ended_at)
        self._ends_taken_back.clear()

    def index_started(self, loop: Loop) -> None:
        """Index a loop that has started: by its id, as waiting for its parent, and among the running ones."""
        self._last_found = 0, "", None
        self._index(loop, _OF_STARTED_LOOPS)
        if loop.status == "running":
            self.running_loops.setdefault(loop.producer, {})[loop] = None

    def _add_loop(self, loop: Loop) -> None:
        self._index(loop, _OF_ALL_LOOPS)
        self.loops.setdefault(loop.session, {})[loop] = None
        self._index_child(loop)
        if loop.ended_at is not None:
            self.note_end(loop.session, loop.ended_at)
        if loop.group is not None:
            self.branches.setdefault(loop.group, []).append(loop)
        if loop.status != "pending":
            self.index_started(loop)

    def _index_references(self, record: Session | ChildRef | EventRecord | ModelConfig) -> None:
        if isinstance(record, Session):
            self._index_child(record)
        elif isinstance(record, ChildRef):
            self.refs_of_loop.setdefault(record.loop, []).append(record)
        elif isinstance(record, ModelConfig):
            self.config_count += 1

    def _index_child(self, child: Loop | Session) -> None:
        if child.parent is None:
            return
        if isinstance(child, Loop):
            self.children.setdefault(child.parent, []).append(child)
        else:
            self.sessions_below.setdefault(child.parent, []).append(child)

    def _add_approval(self, approval: Approval) -> None:
        self.open_approvals.setdefault(approval.session, []).append(approval)
        if approval.loop is not None and approval.tool_call_id:
            self.approvals_by_tool[approval.loop, approval.tool_call_id] = approval

    def _index(self, record: Record, lookups: tuple[Lookup, ...]) -> None:
        for lookup in lookups:
            if not lookup.matches(record):
                continue
            key = lookup.key(record)
            if lookup.select == "unique":
                single: dict[object, Record] = getattr(self, lookup.index)
                single[key] = record
            elif lookup.select == "last started":
                latest: dict[object, Record] = getattr(self, lookup.index)
                latest[key] = _later(latest.get(key), record)
            else:
                many: dict[object, list[Record]] = getattr(self, lookup.index)
                many.setdefault(key, []).append(record)


def _later(first: Record | None, second: Record) -> Record:
    """Return the loop of two that started last."""
    if not isinstance(first, Loop) or not isinstance(second, Loop):
        return second
    return second if (first.start_event or 0) <= (second.start_event or 0) else first
