"""The records that the recorder knows, found the way its rules ask for them. Nothing else is remembered.

A Memory built from the store's records between any two lines goes on as the one that saw all of them. What
has to be in it for some lines is `Needs`; more does no harm. A record that is only reached from another (a
parent, a group's judge) needs no more than its own columns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from recorder.core.money.prices import PriceBook, PriceKey
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


@dataclass(frozen=True, slots=True)
class StateKeys:
    """What a store loads, within one project, before lines are fed.

    With every loop come its session, its config, its group with all loops of it, and while it runs: its last
    turn, running tools, open compaction and text blocks. With every session come its head, its open approvals
    and its running groups with all their loops.
    """

    # Sessions by session_id; `homes` are those that loop ids begin with, where orphans are shown.
    session_ids: frozenset[str] = frozenset()
    orphan_session_ids: frozenset[str] = frozenset()
    # Of each loop id the last three runs in each session and the last of each producer.
    loop_ids: frozenset[str] = frozenset()
    # Of loops that start: their orphans, loops and sessions that wait for this parent (then its own parents
    # all the way up as well), and the ChildRefs that name it and have no child.
    starting_loop_ids: frozenset[str] = frozenset()
    # ChildRefs without a child by child_session_id.
    starting_session_ids: frozenset[str] = frozenset()
    config_keys: frozenset[str] = frozenset()
    # Prices by model and provider; those of the configs that loops have are needed as well.
    price_keys: frozenset[PriceKey] = frozenset()
    # Flushed: all their running loops, and the running groups that they have a branch of.
    ending_producers: frozenset[int] = frozenset()

    @property
    def may_link(self) -> bool:
        """Whether a line may link loops, so that what is above them has to be known: it names a session."""
        return bool(self.session_ids or self.starting_loop_ids or self.starting_session_ids)


@dataclass(slots=True)
class State:
    """Indexes over records. For a loop id without a loop one orphan is enough, unless the loop starts."""

    config_count: int = 0  # of the project: it gives the next colour
    sessions: dict[str, Session] = field(default_factory=dict)
    runs: dict[tuple[Session, str], list[Loop]] = field(default_factory=dict)  # by loop_id; ascending runs
    latest: dict[str, Loop] = field(default_factory=dict)  # the run that started last, by loop_id
    latest_of_producer: dict[tuple[int, str], Loop] = field(
        default_factory=dict
    )  # the same, by producer and loop_id
    running_loops: dict[int, dict[Loop, None]] = field(default_factory=dict)  # running loops, by producer
    last_turns: dict[Loop, Turn] = field(default_factory=dict)  # the last one of each loop
    running_tools: dict[Loop, dict[str, ToolCall]] = field(
        default_factory=dict
    )  # running ones, by tool_call_id
    running_compactions: dict[Loop, Compaction] = field(default_factory=dict)  # running ones
    text_blocks: dict[Loop, list[TextBlock]] = field(default_factory=dict)  # of the message being streamed
    open_approvals: dict[Session, list[Approval]] = field(default_factory=dict)  # open ones
    approvals_by_tool: dict[tuple[Loop, str], Approval] = field(default_factory=dict)  # by tool_call_id
    running_groups: dict[Session, dict[Group, None]] = field(default_factory=dict)  # running ones
    branches: dict[Group, list[Loop]] = field(default_factory=dict)
    unlinked_refs: dict[str, list[ChildRef]] = field(
        default_factory=dict
    )  # without a child, by child_loop_id
    unlinked_refs_of_session: dict[str, list[ChildRef]] = field(
        default_factory=dict
    )  # the same, by child_session_id
    loops_awaiting_parent: dict[tuple[Session, str], list[Loop]] = field(
        default_factory=dict
    )  # for this parent_loop_id
    sessions_awaiting_parent: dict[str, list[Session]] = field(
        default_factory=dict
    )  # sessions without it, by parent_loop_id
    prices: PriceBook = field(default_factory=dict)
    configs: dict[str, ModelConfig] = field(default_factory=dict)
    orphans: dict[str, list[EventRecord]] = field(default_factory=dict)  # by loop_key
    # Which loop a producer meant when it was asked for last: lines of a loop mostly follow each other.
    _named: tuple[int, str, Loop | None] = 0, "", None

    def add(self, record: Record) -> None:  # noqa: C901, PLR0912  one arm a table
        """Take in a record. Those of one table come in the order in which they were made (their ids')."""
        match record:
            case Turn():
                self.last_turns[record.loop] = record
            case ToolCall():
                if record.state == "running":
                    self.running_tools.setdefault(record.loop, {})[record.tool_call_id] = record
            case TextBlock():
                self.text_blocks.setdefault(record.loop, []).append(record)
            case EventRecord():
                if record.loop is None and record.loop_key:
                    self.orphans.setdefault(record.loop_key, []).append(record)
            case ModelConfig():
                self.configs[record.key] = record
                self.config_count += 1
            case Session():
                self.sessions[record.session_id] = record
                if record.parent is None and record.parent_loop_id:
                    self.sessions_awaiting_parent.setdefault(record.parent_loop_id, []).append(record)
            case Loop():
                self._add_loop(record)
            case Compaction():
                if record.state == "running":
                    self.running_compactions[record.loop] = record
            case Approval():
                if record.resolved_at is None:
                    self._add_approval(record)
            case Group():
                if record.status == "running":
                    self.running_groups.setdefault(record.session, {})[record] = None
            case ChildRef():
                if record.child is None:
                    self.unlinked_refs.setdefault(record.child_loop_id, []).append(record)
                    self.unlinked_refs_of_session.setdefault(record.child_session_id, []).append(record)
            case Anomaly():
                pass
            case _:
                assert_never(record)

    def find_loop(self, producer: int, loop_id: str) -> Loop | None:
        """Return the loop that a producer means."""
        asker, known, loop = self._named
        if loop_id != known or producer != asker:
            loop = self.latest_of_producer.get((producer, loop_id)) or self.latest.get(loop_id)
            self._named = producer, loop_id, loop
        return loop

    def index_started(self, loop: Loop) -> None:
        """Find `loop` by its id from now on, and among the running ones of its producer."""
        self._named = 0, "", None
        key = loop.producer, loop.loop_id
        self.latest[loop.loop_id] = _later(self.latest.get(loop.loop_id), loop)
        self.latest_of_producer[key] = _later(self.latest_of_producer.get(key), loop)
        if loop.status == "running":
            self.running_loops.setdefault(loop.producer, {})[loop] = None

    def _add_loop(self, loop: Loop) -> None:
        self.runs.setdefault((loop.session, loop.loop_id), []).append(loop)
        if loop.group is not None:
            self.branches.setdefault(loop.group, []).append(loop)
        if loop.status != "pending":
            self.index_started(loop)
            self.index_awaiting_parent(loop)

    def _add_approval(self, approval: Approval) -> None:
        self.open_approvals.setdefault(approval.session, []).append(approval)
        if approval.loop is not None and approval.tool_call_id:
            self.approvals_by_tool[approval.loop, approval.tool_call_id] = approval

    def index_awaiting_parent(self, loop: Loop) -> None:
        """Let `loop` be found when the parent that it names starts after it."""
        parent_id = loop.parent_loop_id
        if loop.parent is None and parent_id is not None and parent_id != loop.loop_id:
            self.loops_awaiting_parent.setdefault((loop.session, parent_id), []).append(loop)


def _later(known: Loop | None, loop: Loop) -> Loop:
    return loop if known is None or (known.start_event or 0) <= (loop.start_event or 0) else known
