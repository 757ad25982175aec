"""phi-core's nineteen events, as its AgentEvent serializes them."""

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
    """A loop started."""

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
    messages: Content = None  # the messages so far of an imported loop that has not ended
    adopts: OptionalId = None  # the loop id of earlier lines that belong to this loop
    source: OptionalText = None  # "client": our Python client sent it
    is_sub_agent: Flag = False  # a sub-agent of `parent_loop_id`, of the same session, or of one below it


@event
class AgentEnd:
    """A loop ended; `rejection` is set when an input filter rejected it."""

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
    """A turn started: a model call and its tools."""

    type: Literal["TurnStart"] = "TurnStart"
    loop_id: Id
    turn_index: TurnIndex
    timestamp: Timestamp
    triggered_by: TurnTrigger


@event
class TurnRequest:
    """The request of a turn was sent to the model."""

    type: Literal["TurnRequest"] = "TurnRequest"
    loop_id: Id
    turn_index: TurnIndex
    payload: Content
    timestamp: Timestamp


@event
class TurnEnd:
    """A turn ended, with its answer, usage and tool results."""

    type: Literal["TurnEnd"] = "TurnEnd"
    loop_id: Id
    message: Content
    usage: Usage
    timestamp: Timestamp
    tool_results: Content
    turn_index: TurnIndex | None = None
    cost: StoredContent = None
    has_usage: Flag = True  # our addition: False if the sender does not report usage, which is then unknown


@event
class MessageStart:
    """A message started; the message of an assistant is an empty placeholder."""

    type: Literal["MessageStart"] = "MessageStart"
    loop_id: Id
    message: Content


@event
class MessageUpdate:
    """A part of a message arrived: `delta` is {"Text" | "Thinking" | "ToolCallDelta": {"delta": text}}."""

    type: Literal["MessageUpdate"] = "MessageUpdate"
    loop_id: Id
    message: Content
    delta: Content


@event
class MessageEnd:
    """A message ended and is complete."""

    type: Literal["MessageEnd"] = "MessageEnd"
    loop_id: Id
    message: Content
    message_id: OptionalText = None


@event
class ToolExecutionStart:
    """A tool started."""

    type: Literal["ToolExecutionStart"] = "ToolExecutionStart"
    loop_id: Id
    tool_call_id: Id
    tool_name: Text
    args: StoredContent
    timestamp: OptionalTimestamp = None


@event
class ToolExecutionUpdate:
    """A running tool reported a partial result."""

    type: Literal["ToolExecutionUpdate"] = "ToolExecutionUpdate"
    loop_id: Id
    tool_call_id: Id
    tool_name: Text
    partial_result: Content
    timestamp: OptionalTimestamp = None


@event
class ToolExecutionEnd:
    """A tool returned; `result.child_loop_id` is the loop of the sub-agent that it ran."""

    type: Literal["ToolExecutionEnd"] = "ToolExecutionEnd"
    loop_id: Id
    tool_call_id: Id
    tool_name: Text
    result: Content
    is_error: Flag
    child_loop_id: Content = None
    timestamp: OptionalTimestamp = None
    duration_ms: Count | None = None
    has_begun: Flag = True  # our addition: False if it was refused, though its start was recorded


@event
class ProgressMessage:
    """A running tool reported its progress; an empty `loop_id` means no loop."""

    type: Literal["ProgressMessage"] = "ProgressMessage"
    loop_id: LoopIdOrEmpty
    tool_call_id: LoopIdOrEmpty
    tool_name: Text
    text: Text


@event
class InputRejected:
    """An input filter rejected a prompt, a steering message or a follow-up message."""

    type: Literal["InputRejected"] = "InputRejected"
    loop_id: LoopIdOrEmpty
    reason: Text


@event
class ParallelLoopStart:
    """A parallel group started; `loop_ids` are the ids that its branches will have, in config order."""

    type: Literal["ParallelLoopStart"] = "ParallelLoopStart"
    session_id: Id
    loop_ids: Ids
    timestamp: Timestamp


@event
class ParallelLoopEnd:
    """A parallel group ended and one branch was selected."""

    type: Literal["ParallelLoopEnd"] = "ParallelLoopEnd"
    session_id: Id
    selected_loop_id: Id
    selected_config_index: Count
    evaluation_usage: Usage
    timestamp: Timestamp


@event
class CompactionStarted:
    """A compaction of the context started."""

    type: Literal["CompactionStarted"] = "CompactionStarted"
    loop_id: Id
    estimated_tokens: Count | None
    message_count: Count | None
    timestamp: Timestamp


@event
class CompactionEnded:
    """A compaction of the context ended; the counts are the runtime's claim, null where unknown."""

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
    """The model removed parts of its own context."""

    type: Literal["PrunApplied"] = "PrunApplied"
    loop_id: Id
    tokens_removed: Count
    messages_removed: Count
    pruned_timestamps: Content
    timestamp: Timestamp
    memo: OptionalText = None


@event
class RevertApplied:
    """The model reverted to an earlier message; `applied` is false when that was refused."""

    type: Literal["RevertApplied"] = "RevertApplied"
    loop_id: Id
    category: Text
    abandoned_node_ids: Content
    applied: Flag
    timestamp: Timestamp
    target: Content = None
    summary: Content = None
    reason: OptionalText = None
