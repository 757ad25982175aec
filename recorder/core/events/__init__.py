"""The vocabulary: phi-core's nineteen events and nine of our own, one closed union.

Ids, times, counts and usage are checked; content (messages, arguments, results, metadata) is kept as it came.
"""

from recorder.core.events.loopscope import (
    AgentSwitched,
    ApprovalRequested,
    ApprovalResolved,
    ErrorRaised,
    Notice,
    SessionInfo,
    SourceEvent,
    SubAgentLinked,
    Unread,
    UsageSnapshot,
)
from recorder.core.events.phi_core import (
    AgentEnd,
    AgentStart,
    CompactionEnded,
    CompactionStarted,
    InputRejected,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ParallelLoopEnd,
    ParallelLoopStart,
    ProgressMessage,
    PrunApplied,
    RevertApplied,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnEnd,
    TurnRequest,
    TurnStart,
)
from recorder.core.events.phi_core_types import Continuation, ContinuationName, OutcomeWord, Trigger, Usage

LoopEvent = (
    AgentEnd
    | TurnStart
    | TurnRequest
    | TurnEnd
    | MessageStart
    | MessageUpdate
    | MessageEnd
    | ToolExecutionStart
    | ToolExecutionUpdate
    | ToolExecutionEnd
    | ProgressMessage
    | InputRejected
    | CompactionStarted
    | CompactionEnded
    | PrunApplied
    | RevertApplied
)
Annotation = (
    AgentSwitched | ApprovalRequested | ApprovalResolved | ErrorRaised | Notice | UsageSnapshot | SessionInfo
)
InternalEvent = (
    SourceEvent | Unread
)  # nobody sends these: they stand for lines that say nothing we understand
Event = (
    AgentStart | LoopEvent | ParallelLoopStart | ParallelLoopEnd | Annotation | SubAgentLinked | InternalEvent
)

__all__ = [
    "AgentEnd",
    "AgentStart",
    "AgentSwitched",
    "Annotation",
    "ApprovalRequested",
    "ApprovalResolved",
    "CompactionEnded",
    "CompactionStarted",
    "Continuation",
    "ContinuationName",
    "ErrorRaised",
    "Event",
    "InputRejected",
    "InternalEvent",
    "LoopEvent",
    "MessageEnd",
    "MessageStart",
    "MessageUpdate",
    "Notice",
    "OutcomeWord",
    "ParallelLoopEnd",
    "ParallelLoopStart",
    "ProgressMessage",
    "PrunApplied",
    "RevertApplied",
    "SessionInfo",
    "SourceEvent",
    "SubAgentLinked",
    "ToolExecutionEnd",
    "ToolExecutionStart",
    "ToolExecutionUpdate",
    "Trigger",
    "TurnEnd",
    "TurnRequest",
    "TurnStart",
    "Unread",
    "Usage",
    "UsageSnapshot",
]
