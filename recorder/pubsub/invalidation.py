"""Publish/subscribe of invalidations: the primary keys of the records that a commit changed, never content.

Invariant: nothing depends on the arrival of one invalidation. A page that missed one redraws every panel
when it reconnects, or when `publish_gap` reports a loss.

Cost: one pass over the changed records and no query. Subscribers run on the thread that publishes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain
from threading import Lock
from typing import Any, assert_never

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

log = logging.getLogger(__name__)

# Types of the events whose details subscribers such as notifications query.
MOMENTS = frozenset(("AgentStart", "AgentEnd", "ApprovalRequested", "ParallelLoopStart", "ParallelLoopEnd"))
STREAMED = "MessageUpdate"  # text is stored in text blocks, so its turn need not be redrawn


@dataclass(frozen=True, slots=True)
class Invalidation:
    """The records that one commit touched in one project, by primary keys."""

    project: int
    sessions: set[int] = field(default_factory=set)
    stale: set[int] = field(default_factory=set)  # of `sessions`: they became stale, without a commit
    deleted: set[int] = field(default_factory=set)  # of `sessions`: they are no more
    moved: dict[int, int] = field(default_factory=dict)  # session that is no more: the one with its lines
    new_sessions: set[int] = field(default_factory=set)
    reshaped: set[int] = field(default_factory=set)  # sessions whose tree changed shape
    groups: set[int] = field(default_factory=set)
    judges: dict[int, int] = field(default_factory=dict)  # judge loop of a group in this invalidation: group
    configs: set[int] = field(default_factory=set)  # new ones, which may change colours of others in a chart
    loops: dict[int, int] = field(default_factory=dict)  # loop: session
    turns: dict[int, int] = field(default_factory=dict)  # turn: loop
    tools: dict[int, int] = field(default_factory=dict)  # tool call: turn, or 0
    approvals: dict[int, int] = field(default_factory=dict)  # approval: loop, or 0
    blocks: dict[int, int] = field(default_factory=dict)  # text block: turn, or 0
    events: dict[int, int] = field(default_factory=dict)  # journal id: loop, or 0
    moments: set[int] = field(default_factory=set)  # events of a type in MOMENTS
    ended: set[int] = field(default_factory=set)  # loops that no longer run
    ended_groups: set[int] = field(default_factory=set)
    claimed: dict[int, int] = field(default_factory=dict)  # producer: the epoch of its new connection
    people: set[int] = field(default_factory=set)  # users whose read markers or mentions changed
    noted: set[int] = field(default_factory=set)  # sessions whose notes, scores or bookmarks changed
    ledgers: set[int] = field(default_factory=set)  # sessions whose block ledger changed
    wastes: set[int] = field(default_factory=set)  # sessions in which the search for waste moved on
    alarms: dict[int, int] = field(default_factory=dict)  # waste that became an alarm: its loop
    ledger_turns: set[int] = field(default_factory=set)  # turns that were added to the block ledger
    quarantined: bool = False
    refused: bool = False  # a request of a sender, whose reason is stored
    indexed: bool = False  # lines became searchable

    def message(self) -> dict[str, Any]:
        """Return the fields as plain values for another process, keys as text because msgpack requires it."""
        return {each.name: _encode(getattr(self, each.name)) for each in fields(self)}

    @classmethod
    def of(cls, message: dict[str, Any]) -> Invalidation:
        """Decode a message: lists become sets and keys become numbers; unknown fields are ignored."""
        field_names = {each.name for each in fields(cls)}
        return cls(**{name: _decode(value) for name, value in message.items() if name in field_names})


_SINGLE = ("project", "quarantined", "refused", "indexed")
PARTS = tuple(each.name for each in fields(Invalidation) if each.name not in _SINGLE)


def merge(invalidations: Sequence[Invalidation]) -> Invalidation:
    """Merge `invalidations`, at least one and all of one project, into one."""
    whole = Invalidation(
        invalidations[0].project,
        quarantined=any(touched.quarantined for touched in invalidations),
        refused=any(touched.refused for touched in invalidations),
        indexed=any(touched.indexed for touched in invalidations),
    )
    for touched in invalidations:
        for name in PARTS:
            getattr(whole, name).update(getattr(touched, name))
    return whole


def invalidation_of(
    project: int, written: Iterable[Record], removed: Iterable[Record], new: Iterable[Record]
) -> Invalidation:
    """Return the invalidation for the records that a commit wrote and removed; it created those in `new`."""
    touched = Invalidation(project)
    events: list[EventRecord] = []
    for record in chain(written, removed):
        if type(record) is EventRecord:
            events.append(record)  # the majority: added in bulk
        else:
            _note(touched, record)
    _note_events(touched, events)
    for record in new:
        if isinstance(record, Session):
            touched.new_sessions.add(record.id)
            if record.parent is not None:
                touched.reshaped.add(record.parent.session.id)
        if isinstance(record, Loop):
            touched.reshaped.add(record.session.id)
    return touched


def _note_events(touched: Invalidation, events: Sequence[EventRecord]) -> None:
    touched.events.update([(event.id, event.loop.id if event.loop else 0) for event in events])
    touched.moments.update([event.id for event in events if event.type in MOMENTS])
    for turn in dict.fromkeys([event.turn for event in events if event.type != STREAMED]):
        if turn is not None:
            touched.turns[turn.id] = turn.loop.id
    for loop in dict.fromkeys([event.loop for event in events]):
        if loop is not None:
            touched.loops[loop.id] = loop.session.id
            touched.sessions.add(loop.session.id)


def _note(touched: Invalidation, record: Record) -> None:  # noqa: C901  one arm a kind
    match record:
        case EventRecord():
            _note_events(touched, [record])
        case Compaction() | Approval() | Anomaly():
            _note_within(touched, record)
        case Session():
            touched.sessions.add(record.id)
        case Loop():
            _note_loop(touched, record)
        case Turn():
            touched.turns[record.id] = record.loop.id
        case ModelConfig():
            touched.configs.add(record.id)
        case Group():
            touched.groups.add(record.id)
            if record.status != "running":
                touched.ended_groups.add(record.id)
            if record.judge is not None:
                touched.judges[record.judge.id] = record.id
            touched.reshaped.add(record.session.id)
        case ToolCall() | TextBlock():
            parts = touched.tools if isinstance(record, ToolCall) else touched.blocks
            parts[record.id] = record.turn.id if record.turn else 0
        case ChildRef():
            touched.reshaped.update(loop.session.id for loop in (record.loop, record.child) if loop)
        case _:
            assert_never(record)


def _note_loop(touched: Invalidation, loop: Loop) -> None:
    touched.loops[loop.id] = loop.session.id
    if loop.status not in ("pending", "running"):
        touched.ended.add(loop.id)


def _note_within(touched: Invalidation, record: Compaction | Approval | Anomaly) -> None:
    if isinstance(record, Approval):
        touched.approvals[record.id] = record.loop.id if record.loop else 0
    if record.loop is not None:
        touched.loops[record.loop.id] = record.loop.session.id
        touched.sessions.add(record.loop.session.id)


Subscriber = Callable[[Invalidation], None]
_subscribers: list[Subscriber] = []
_relays: list[Subscriber] = []
_gap_subscribers: list[Callable[[], None]] = []
_lock = Lock()


def subscribe(listener: Subscriber) -> None:
    """Call `listener` for every invalidation, on the thread that publishes it; it must not block or raise."""
    with _lock:
        if listener not in _subscribers:
            _subscribers.append(listener)


def unsubscribe(listener: Subscriber) -> None:
    with _lock:
        if listener in _subscribers:
            _subscribers.remove(listener)


def subscribe_to_gaps(redraw: Callable[[], None]) -> None:
    """Call `redraw` whenever invalidations of other processes may have been missed."""
    with _lock:
        if redraw not in _gap_subscribers:
            _gap_subscribers.append(redraw)


def publish_gap() -> None:
    """Notify the gap subscribers that invalidations may have been missed, so that they redraw."""
    with _lock:
        redraws = list(_gap_subscribers)
    for redraw in redraws:
        redraw()


def publish(touched: Invalidation) -> None:
    """Notify the subscribers of this process, then hand the invalidation to the relays to other processes."""
    publish_here(touched)
    for carry in _relays:
        carry(touched)


def add_relay(carrier: Subscriber) -> None:
    """Call `carrier` for every invalidation that `publish` gets; it sends them to other processes."""
    _relays.append(carrier)


def publish_here(touched: Invalidation) -> None:
    """Notify the subscribers of this process only, in the order in which they subscribed."""
    with _lock:
        listeners = list(_subscribers)
    for listener in listeners:
        listener(touched)


def _encode(value: Any) -> Any:
    if isinstance(value, set):
        return sorted(value)
    if isinstance(value, dict):
        return {str(key): each for key, each in value.items()}
    return value


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return set(value)
    if isinstance(value, dict):
        return {int(key): each for key, each in value.items()}
    return value
