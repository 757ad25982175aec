"""The event vocabulary: phi-core's events and Loopscope's, one closed union (`Event`).

Ids, times, counts and usage are validated. Content (messages, arguments, results, metadata) is stored
unchanged.
"""

from recorder.core.events.loopscope import (
    AgentSwitched,
    ApprovalRequested,
    ApprovalResolved,
    CallReported,
    CostStated,
    ErrorRaised,
    LoopReopened,
    LoopWithdrawn,
    Notice,
    SessionInfo,
    SourceEvent,
    SubAgentLinked,
    Unread,
    UsageReported,
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
Correction = LoopWithdrawn | LoopReopened | CallReported | UsageReported | CostStated
InternalEvent = SourceEvent | Unread  # not on the wire: they represent lines of unknown types
Event = (
    AgentStart
    | LoopEvent
    | ParallelLoopStart
    | ParallelLoopEnd
    | Annotation
    | SubAgentLinked
    | Correction
    | InternalEvent
)

__all__ = [
    "AgentEnd",
    "AgentStart",
    "AgentSwitched",
    "Annotation",
    "ApprovalRequested",
    "ApprovalResolved",
    "CallReported",
    "CompactionEnded",
    "CompactionStarted",
    "Continuation",
    "ContinuationName",
    "Correction",
    "CostStated",
    "ErrorRaised",
    "Event",
    "InputRejected",
    "InternalEvent",
    "LoopEvent",
    "LoopReopened",
    "LoopWithdrawn",
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
    "UsageReported",
    "UsageSnapshot",
]
