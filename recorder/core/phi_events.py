"""phi-core's nineteen events, as its AgentEvent writes them, and what they are made of."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, PlainValidator
from pydantic_core import PydanticCustomError

from recorder.core.fields import (
    Content,
    Count,
    Flag,
    Id,
    Ids,
    Kept,
    LoopIdOrEmpty,
    OptionalId,
    OptionalText,
    OptionalTimestamp,
    Snapshot,
    Text,
    Timestamp,
    TurnIndex,
)

Trigger = Literal["User", "SubAgent", "Continuation", "Branch"]
KindName = Literal["Initial", "Default", "Compaction", "Rerun", "Branch"]
OutcomeWord = Literal["completed", "failed", "cancelled", "rejected", "limit"]


class EventModel(BaseModel):
    """What all events share: they never change, and what is not known here is left out."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class Usage(EventModel):
    """Token counts as the runtime gave them."""

    input: Count
    output: Count
    reasoning: Count = 0
    cache_read: Count = 0
    cache_write: Count = 0
    total_tokens: Count = 0
    cache_write_1h: Count = 0  # ours: how much of `cache_write` is kept for an hour and not for five minutes


class Kind(EventModel):
    """How a loop continues another one; reruns and branches carry a tag."""

    name: KindName = "Initial"
    tag: str | None = None


def _kind(value: object) -> Kind:
    if value in ("Initial", "Default", "Compaction"):
        return _PLAIN[str(value)]
    if isinstance(value, dict) and len(value) == 1:
        name, inside = next(iter(value.items()))
        if name in ("Rerun", "Branch") and isinstance(inside, dict) and isinstance(inside.get("tag"), str):
            return Kind.model_construct(name=name, tag=inside["tag"])
    raise PydanticCustomError(
        "wrong_type",
        'a continuation kind is Initial, Default, Compaction or {"Rerun" or "Branch": {"tag": text}}',
    )


def _trigger(value: object) -> Trigger:
    if value == "FollowUp":  # phi-core's old name
        return "Continuation"
    for word in ("User", "SubAgent", "Continuation", "Branch"):
        if value == word:
            return word
    raise PydanticCustomError("wrong_type", "a trigger is User, SubAgent, Continuation or Branch")


_PLAIN = {name: Kind(name=name) for name in ("Initial", "Default", "Compaction")}
ContinuationKind = Annotated[Kind, PlainValidator(_kind)]
TurnTrigger = Annotated[Trigger, PlainValidator(_trigger)]


class AgentStart(EventModel):
    """A loop began."""

    type: Literal["AgentStart"] = "AgentStart"
    agent_id: Id
    session_id: Id
    loop_id: Id
    timestamp: Timestamp
    parent_loop_id: OptionalId = None
    continuation_kind: ContinuationKind = _PLAIN["Initial"]
    metadata: Kept = None
    config_snapshot: Snapshot = None
    title: OptionalText = None
    messages: Content = None  # what an imported loop that has not ended already holds
    adopts: OptionalId = None  # the key of lines that came before it and belong to it


class AgentEnd(EventModel):
    """A loop finished, or was refused by an input filter when `rejection` is set."""

    type: Literal["AgentEnd"] = "AgentEnd"
    loop_id: Id
    messages: Content
    usage: Usage
    timestamp: Timestamp
    rejection: OptionalText = None
    outcome: OutcomeWord | None = None
    error: OptionalText = None


class TurnStart(EventModel):
    """A model call and its tools began."""

    type: Literal["TurnStart"] = "TurnStart"
    loop_id: Id
    turn_index: TurnIndex
    timestamp: Timestamp
    triggered_by: TurnTrigger


class TurnRequest(EventModel):
    """What the model was really sent in this turn."""

    type: Literal["TurnRequest"] = "TurnRequest"
    loop_id: Id
    turn_index: TurnIndex
    payload: Content
    timestamp: Timestamp


class TurnEnd(EventModel):
    """A turn finished with this answer, usage and these tool results."""

    type: Literal["TurnEnd"] = "TurnEnd"
    loop_id: Id
    message: Content
    usage: Usage
    timestamp: Timestamp
    tool_results: Content
    turn_index: TurnIndex | None = None
    cost: Kept = None


class MessageStart(EventModel):
    """A message began; of an assistant this is an empty placeholder."""

    type: Literal["MessageStart"] = "MessageStart"
    loop_id: Id
    message: Content


class MessageUpdate(EventModel):
    """A piece of a message arrived: `delta` is {"Text" | "Thinking" | "ToolCallDelta": {"delta": text}}."""

    type: Literal["MessageUpdate"] = "MessageUpdate"
    loop_id: Id
    message: Content
    delta: Content


class MessageEnd(EventModel):
    """A message is whole."""

    type: Literal["MessageEnd"] = "MessageEnd"
    loop_id: Id
    message: Content
    message_id: OptionalText = None


class ToolExecutionStart(EventModel):
    """A tool began to run."""

    type: Literal["ToolExecutionStart"] = "ToolExecutionStart"
    loop_id: Id
    tool_call_id: Id
    tool_name: Text
    args: Kept
    timestamp: OptionalTimestamp = None


class ToolExecutionUpdate(EventModel):
    """A running tool showed a part of its result."""

    type: Literal["ToolExecutionUpdate"] = "ToolExecutionUpdate"
    loop_id: Id
    tool_call_id: Id
    tool_name: Text
    partial_result: Content
    timestamp: OptionalTimestamp = None


class ToolExecutionEnd(EventModel):
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


class ProgressMessage(EventModel):
    """A running tool said how far it is. An empty `loop_id` belongs to no loop."""

    type: Literal["ProgressMessage"] = "ProgressMessage"
    loop_id: LoopIdOrEmpty
    tool_call_id: LoopIdOrEmpty
    tool_name: Text
    text: Text


class InputRejected(EventModel):
    """An input filter refused a prompt, a steering or a follow-up message."""

    type: Literal["InputRejected"] = "InputRejected"
    loop_id: LoopIdOrEmpty
    reason: Text


class ParallelLoopStart(EventModel):
    """Several configs begin the same task; these are the ids their loops will have, in config order."""

    type: Literal["ParallelLoopStart"] = "ParallelLoopStart"
    session_id: Id
    loop_ids: Ids
    timestamp: Timestamp


class ParallelLoopEnd(EventModel):
    """The group is over and one branch was selected."""

    type: Literal["ParallelLoopEnd"] = "ParallelLoopEnd"
    session_id: Id
    selected_loop_id: Id
    selected_config_index: Count
    evaluation_usage: Usage
    timestamp: Timestamp


class CompactionStarted(EventModel):
    """The context is being shortened."""

    type: Literal["CompactionStarted"] = "CompactionStarted"
    loop_id: Id
    estimated_tokens: Count | None
    message_count: Count | None
    timestamp: Timestamp


class CompactionEnded(EventModel):
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
    block: Kept = None  # phi-core's compaction_block, from an imported session


class PrunApplied(EventModel):
    """The model dropped parts of its own context."""

    type: Literal["PrunApplied"] = "PrunApplied"
    loop_id: Id
    tokens_removed: Count
    messages_removed: Count
    pruned_timestamps: Content
    timestamp: Timestamp
    memo: OptionalText = None


class RevertApplied(EventModel):
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
