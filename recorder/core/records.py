"""The records: what is known of sessions, loops, turns, tool calls and what belongs to them.

A record is one row of a table. Saving it twice changes nothing; of several changes to one record the last
one counts. Records refer to each other as objects. `id` is 0 until the store has assigned a primary key.
Fields named `*_event` are journal ids: the bodies are read there. Token counts are raw, in phi-core's
names. Times are aware UTC; where a line carries none, the time at which it was received.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from recorder.core.spend import Spend

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None
Status = Literal["pending", "running", "completed", "rejected", "aborted"]
Outcome = Literal["", "completed", "failed", "cancelled", "rejected", "limit", "aborted"]
Segment = Literal[
    "winner", "losers", "undecided", "judge", "compaction", "sub_agents", "reruns", "stopped", "single"
]
# Where an event record comes from. A foreign line is stored as it came; the native events into which it was
# translated are recorded before it. The values are stored.
Origin = Literal["", "told", "kept", "read"]
ORIGIN_NATIVE: Final = ""  # a native line
ORIGIN_TRANSLATED: Final = "told"  # a foreign line with translated events
ORIGIN_SILENT: Final = "kept"  # a foreign line that is understood and translates to no event
ORIGIN_DERIVED: Final = "read"  # an event translated from a foreign line; it has no number on the wire
FOREIGN_ORIGINS = (ORIGIN_TRANSLATED, ORIGIN_SILENT)
SPAWNED_BY: Final = "spawned_by"  # of a sub-agent's metadata: the tool call that runs it
FAST: Final = "[fast]"  # ends the name of a model in fast mode, which has a price of its own
US: Final = "[us]"  # ends the name of a model that ran in the United States only, at a price of its own
# How a branch of a parallel group was selected: "fallback" where the judge's reply does not name it, "rule"
# without a judge, "none" until the group ends.
Verdict = Literal["judged", "rule", "fallback", "none"]
Role = Literal["normal", "branch", "judge", "compaction", "sub_agent", "unlisted"]


@dataclass(slots=True, kw_only=True, eq=False)
class ModelConfig:
    """One distinct config snapshot of a project; `slot` 1-16, its colour, and `parameter` never change."""

    id: int = 0
    key: str  # hash of the canonical snapshot
    model: str
    provider: str
    config_id: str = ""
    snapshot: Json = None
    slot: int = 1
    parameter: str = ""  # what its label has behind the model, at most 200 characters


@dataclass(slots=True, kw_only=True, eq=False)
class Session(Spend):
    """All loops under one session_id, with the figures that lists show."""

    id: int = 0
    session_id: str
    agent_id: str = ""
    source: str = "phi-core"
    formation: Json = None  # phi-core's formation object, verbatim: {"FirstLoop": {"timestamp": ...}}
    scope: str = "ephemeral"  # ephemeral | persistent
    title: str = ""  # at most 200 characters
    title_given: bool = False  # False: taken from the first prompt
    summary: str = ""
    working_dir: str = ""
    status: Status = "running"  # running while any loop runs, else that of the latest root loop
    outcome: Outcome = ""
    created_at: datetime
    last_active_at: datetime  # phi-core's: the last AgentStart
    last_event_at: datetime  # the latest time at which something happened in it
    last_received_at: datetime  # the latest arrival of a line
    ended_at: datetime | None = None
    parent_session_id: str = ""  # the spawning tool call, four fields as in phi-core ("" = unknown)
    parent_loop_id: str = ""
    spawn_tool_call_id: str = ""
    spawn_tool_name: str = ""
    has_spawn: bool = False
    parent: Loop | None = None  # the spawning loop, once recorded
    head: Loop | None = None  # the latest loop of role normal, else the first one: its end counts
    activity: str = ""  # one line: the current activity, or the outcome
    loops: int = 0
    open_loops: int = 0
    turns: int = 0
    tool_calls: int = 0
    errors: int = 0
    compactions: int = 0
    groups: int = 0
    sub_agents: int = 0
    waiting: int = 0  # open approvals
    waiting_since: datetime | None = None
    events: int = 0
    is_demo: bool = False
    tags: Json = None  # a list of texts, see `recorder.core.content.labels`
    metadata: Json = None  # of its loops: a list of texts for each name
    stated: Json = None  # what its agent stated of its cost, see `recorder.core.costs.stated_costs`


@dataclass(slots=True, kw_only=True, eq=False)
class Group(Spend):
    """A parallel group: branches that ran the same task. Its tokens are those of `evaluation_usage`."""

    id: int = 0
    session: Session
    ordinal: int  # 1, 2, ... in its session
    loop_ids: list[str]  # in config order
    status: Status = "running"  # running | completed | aborted
    selected_loop_id: str = ""
    selected_config_index: int | None = None
    judge: Loop | None = None
    named: list[int] = field(default_factory=list)  # branches that the judge's reply names, counted from 1
    verdict: Verdict = "none"
    started_at: datetime | None = None
    started_received_at: datetime | None = None  # the arrival of its start, only if that is before its time
    ended_at: datetime | None = None
    ended_received_at: datetime | None = None  # the arrival of its end, only if that is before its time
    start_event: int | None = None
    end_event: int | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Loop(Spend):
    """One run of an agent loop, AgentStart to AgentEnd. Key: (session, loop_id, run)."""

    id: int = 0
    session: Session
    loop_id: str
    run: int = 1
    producer: int
    agent_id: str = ""
    agent_label: str = ""  # the current agent's name after AgentSwitched, else ""
    parent: Loop | None = None  # same-session parent; never itself
    parent_loop_id: str | None = None  # as the event names it
    continuation_kind: str = "Initial"  # Initial Default Compaction Rerun Branch
    continuation_tag: str | None = None
    role: Role = "normal"
    status: Status = "running"
    outcome: Outcome = ""
    foreseen: Outcome = ""  # while it runs: the outcome that a rejected input or a limit implies
    error: str = ""  # at most 2,000 characters
    rejection: str | None = None
    group: Group | None = None
    branch_index: int | None = None  # index in group.loop_ids
    is_selected: bool | None = None  # None until the group ended
    config: ModelConfig | None = None
    config_inferred: bool = False  # taken from the first assistant message
    metadata: Json = None
    title: str = ""  # first prompt, at most 200 characters
    activity: str = ""
    started_at: datetime | None = None  # None while pending
    ended_at: datetime | None = None
    ended_received_at: datetime | None = None  # the arrival of its end, only if that is before its time
    last_event_at: datetime | None = None  # wire time of the last event that has one, else received
    turns: int = 0  # finished
    tool_calls: int = 0  # executions that started
    errors: int = 0  # failed tools and turns that ended in an error; a cancellation is not one
    turn_errors: int = 0  # of these, in finished turns
    has_switched: bool = False  # a turn had another config or agent than its loop began with
    compactions: int = 0
    waiting: int = 0
    events: int = 0  # all its journal lines
    late: int = 0  # of these, received after its end
    unknown: int = 0  # of these, of unknown type
    sequence: int = 0  # next phi-core sequence number (streaming deltas do not count)
    segment: Segment = "single"  # the ledger segment that its cost counts in
    is_one_call: bool = False  # no turn reported usage: the usage of its end is priced as one call
    price: int | None = None  # the row of the price list that priced that call
    duration_ms: int | None = None
    context_tokens: int | None = None  # size of the last model request: input (+ cache by provider)
    title_event: int | None = None  # the event that named it
    start_event: int | None = None
    end_event: int | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Turn(Spend):
    """One model call and the tools it asked for."""

    id: int = 0
    loop: Loop
    ordinal: int  # 0, 1, ... in recorded order
    turn_index: int
    triggered_by: str = ""
    state: Literal["open", "done", "cut"] = "open"  # cut: the loop ended or a new turn started before TurnEnd
    model: str = ""
    provider: str = ""
    web_searches: int = 0  # that the provider ran for it
    stop_reason: str = ""
    error: str = ""
    answer: str = ""  # an excerpt of the answer in one line, at most 200 characters
    answer_key: str = ""  # fingerprint of the answer's text; "" without text
    started_at: datetime
    ended_at: datetime | None = None
    ended_received_at: datetime | None = None  # the arrival of its end, only if that is before its time
    tool_calls: int = 0
    tool_errors: int = 0
    errors: int = 0  # failed tools and its own failure, counted when it ended
    config: ModelConfig | None = None  # the loop's, unless another model or provider answered
    agent_id: str = ""  # the agent that took over before the turn started; "" is that of the loop
    price: int | None = None  # the row of the price list that priced it
    start_event: int | None = None  # None: TurnEnd arrived without TurnStart, and phi-core has no Turn
    request_event: int | None = None
    end_event: int | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class ToolCall:
    """One tool execution."""

    id: int = 0
    loop: Loop
    turn: Turn | None = None
    tool_call_id: str
    tool_name: str
    state: Literal["running", "done", "failed", "cut"] = "running"  # cut: the loop ended before the tool
    summary: str = ""  # the arguments in one line, at most 200 characters
    arguments_key: str = ""  # fingerprint of the arguments, independent of key order
    progress: str = ""  # last ProgressMessage, at most 500 characters
    started_at: datetime | None = None
    ended_at: datetime | None = None
    duration_ms: int | None = None
    times_received: bool = True  # False: both times come from the wire
    start_event: int | None = None
    update_event: int | None = None  # the last ToolExecutionUpdate
    end_event: int | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class ChildRef:
    """A tool call of `loop` that ran a sub-agent. `child` is None until the sub-agent's loop is recorded."""

    id: int = 0
    loop: Loop
    tool_call_id: str
    tool_name: str
    child_loop_id: str
    child_session_id: str
    child: Loop | None = None
    certainty: str = "stated"  # stated | structural | inferred
    event: int | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Compaction:
    """A compaction of the context. Counts are those of the event; None is unknown."""

    id: int = 0
    loop: Loop
    turn: Turn | None = None
    state: Literal["running", "done", "cut"] = "running"
    messages_before: int | None = None
    messages_after: int | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    loops_compacted: int | None = None
    content: str = "none"  # none | block | request | summary
    summary: str = ""
    block: Json = None  # phi-core's compaction_block, from an imported session
    started_at: datetime | None = None
    ended_at: datetime | None = None
    start_event: int | None = None
    end_event: int | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Approval:
    """An approval that a person is asked for; open while `resolved_at` is None."""

    id: int = 0
    session: Session
    loop: Loop | None = None
    approval_id: str = ""
    kind: str = "unknown"  # tool command elicitation limit unknown
    tool_call_id: str = ""
    command: str = ""
    risk: str = ""
    warnings: Json = None
    options: Json = None
    requested_at: datetime
    resolved_at: datetime | None = None
    decision: str = ""  # granted denied expired cancelled
    decision_scope: str = ""
    reason: str = ""
    inferred: bool = False
    request_event: int | None = None
    resolve_event: int | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class TextBlock:
    """At most 2,000 characters of a message that is being streamed; removed when the message ends."""

    id: int = 0
    loop: Loop
    turn: Turn | None = None
    message: int  # journal id of the first event of the message
    part: int  # 0, 1, ... within the message
    kind: Literal["text", "thinking", "tool_call"]
    text: str = ""


@dataclass(slots=True, eq=False)  # positional: there is one a line, and keyword arguments double its cost
class EventRecord:
    """The session, loop and turn of one recorded line. An orphan is a line of a loop that never started."""

    id: int  # of the journal
    session: Session | None
    loop: Loop | None
    turn: Turn | None
    type: str
    sequence: int | None = None  # phi-core's number in its loop; None for streaming deltas and session events
    occurred_at: datetime | None = None  # None: the wire has no time
    late: bool = False  # received after its loop had ended, or before its start
    origin: Origin = ""
    loop_key: str = ""  # of an orphan: the loop_id that it names, by which the loop adopts it


@dataclass(slots=True, kw_only=True, eq=False)
class Anomaly:
    """An inconsistency that a line caused; shown on the session's integrity strip."""

    id: int = 0
    session: Session | None
    loop: Loop | None
    kind: str  # late orphan duplicate_start unknown_group self_parent cycle ...
    text: str
    at: datetime
    event: int | None = None


Record = (
    ModelConfig
    | Session
    | Group
    | Loop
    | Turn
    | ToolCall
    | ChildRef
    | Compaction
    | Approval
    | TextBlock
    | EventRecord
    | Anomaly
)
