"""phi-core's nineteen events, as its AgentEvent writes them."""

from __future__ import annotations

from typing import Literal

from recorder.core.events.base import event
from recorder.core.events.fields import (
    Content,
    Count,
    Flag,
    Id,
    Ids,
    LoopIdOrEmpty,
    OptionalId,
    OptionalText,
    OptionalTimestamp,
    Snapshot,
    StoredContent,
    Text,
    Timestamp,
    TurnIndex,
)
from recorder.core.events.phi_core_types import INITIAL, ContinuationKind, OutcomeWord, TurnTrigger, Usage


@event
class AgentStart:
    """A loop began."""

    type: Literal["AgentStart"] = "AgentStart"
    agent_id: Id
    session_id: Id
    loop_id: Id
    timestamp: Timestamp
    parent_loop_id: OptionalId = None
    continuation_kind: ContinuationKind = INITIAL
    metadata: StoredContent = None
    config_snapshot: Snapshot = None
    title: OptionalText = None
    messages: Content = None  # what an imported loop that has not ended already holds
    adopts: OptionalId = None  # the key of lines that came before it and belong to it


@event
class AgentEnd:
    """A loop finished, or was refused by an input filter when `rejection` is set."""

    type: Literal["AgentEnd"] = "AgentEnd"
    loop_id: Id
    messages: Content
    usage: Usage
    timestamp: Timestamp
    rejection: OptionalText = None
    outcome: OutcomeWord | None = None
    error: OptionalText = None


@event
class TurnStart:
    """A model call and its tools began."""

    type: Literal["TurnStart"] = "TurnStart"
    loop_id: Id
    turn_index: TurnIndex
    timestamp: Timestamp
    triggered_by: TurnTrigger


@event
class TurnRequest:
    """What the model was really sent in this turn."""

    type: Literal["TurnRequest"] = "TurnRequest"
    loop_id: Id
    turn_index: TurnIndex
    payload: Content
    timestamp: Timestamp


@event
class TurnEnd:
    """A turn finished with this answer, usage and these tool results."""

    type: Literal["TurnEnd"] = "TurnEnd"
    loop_id: Id
    message: Content
    usage: Usage
    timestamp: Timestamp
    tool_results: Content
    turn_index: TurnIndex | None = None
    cost: StoredContent = None


@event
class MessageStart:
    """A message began; of an assistant this is an empty placeholder."""

    type: Literal["MessageStart"] = "MessageStart"
    loop_id: Id
    message: Content


@event
class MessageUpdate:
    """A piece of a message arrived: `delta` is {"Text" | "Thinking" | "ToolCallDelta": {"delta": text}}."""

    type: Literal["MessageUpdate"] = "MessageUpdate"
    loop_id: Id
    message: Content
    delta: Content


@event
class MessageEnd:
    """A message is whole."""

    type: Literal["MessageEnd"] = "MessageEnd"
    loop_id: Id
    message: Content
    message_id: OptionalText = None


@event
class ToolExecutionStart:
    """A tool began to run."""

    type: Literal["ToolExecutionStart"] = "ToolExecutionStart"
    loop_id: Id
    tool_call_id: Id
    tool_name: Text
    args: StoredContent
    timestamp: OptionalTimestamp = None


@event
class ToolExecutionUpdate:
    """A running tool showed a part of its result."""

    type: Literal["ToolExecutionUpdate"] = "ToolExecutionUpdate"
    loop_id: Id
    tool_call_id: Id
    tool_name: Text
    partial_result: Content
    timestamp: OptionalTimestamp = None


@event
class ToolExecutionEnd:
    """A tool returned. `result.child_loop_id` names the loop of a sub-agent it ran."""

    type: Literal["ToolExecutionEnd"] = "ToolExecutionEnd"
    loop_id: Id
    tool_call_id: Id
    tool_name: Text
    result: Content
    is_error: Flag
    child_loop_id: Content = None
    timestamp: OptionalTimestamp = None
    duration_ms: Count | None = None


@event
class ProgressMessage:
    """A running tool said how far it is. An empty `loop_id` belongs to no loop."""

    type: Literal["ProgressMessage"] = "ProgressMessage"
    loop_id: LoopIdOrEmpty
    tool_call_id: LoopIdOrEmpty
    tool_name: Text
    text: Text


@event
class InputRejected:
    """An input filter refused a prompt, a steering or a follow-up message."""

    type: Literal["InputRejected"] = "InputRejected"
    loop_id: LoopIdOrEmpty
    reason: Text


@event
class ParallelLoopStart:
    """Several configs begin the same task; these are the ids their loops will have, in config order."""

    type: Literal["ParallelLoopStart"] = "ParallelLoopStart"
    session_id: Id
    loop_ids: Ids
    timestamp: Timestamp


@event
class ParallelLoopEnd:
    """The group is over and one branch was selected."""

    type: Literal["ParallelLoopEnd"] = "ParallelLoopEnd"
    session_id: Id
    selected_loop_id: Id
    selected_config_index: Count
    evaluation_usage: Usage
    timestamp: Timestamp


@event
class CompactionStarted:
    """The context is being shortened."""

    type: Literal["CompactionStarted"] = "CompactionStarted"
    loop_id: Id
    estimated_tokens: Count | None
    message_count: Count | None
    timestamp: Timestamp


@event
class CompactionEnded:
    """The context was shortened; the counts are the runtime's claim, null where it does not know."""

    type: Literal["CompactionEnded"] = "CompactionEnded"
    loop_id: Id
    messages_before: Count | None
    messages_after: Count | None
    estimated_tokens_before: Count | None
    estimated_tokens_after: Count | None
    loops_compacted: Count | None
    timestamp: Timestamp
    summary: OptionalText = None
    block: StoredContent = None  # phi-core's compaction_block, from an imported session


@event
class PrunApplied:
    """The model dropped parts of its own context."""

    type: Literal["PrunApplied"] = "PrunApplied"
    loop_id: Id
    tokens_removed: Count
    messages_removed: Count
    pruned_timestamps: Content
    timestamp: Timestamp
    memo: OptionalText = None


@event
class RevertApplied:
    """The model went back to an earlier message, or was refused it."""

    type: Literal["RevertApplied"] = "RevertApplied"
    loop_id: Id
    category: Text
    abandoned_node_ids: Content
    applied: Flag
    timestamp: Timestamp
    target: Content = None
    summary: Content = None
    reason: OptionalText = None
