"""Loopscope's events: what other runtimes report and phi-core does not."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from recorder.core.events.base import event
from recorder.core.events.fields import (
    Content,
    Count,
    Flag,
    Id,
    Ids,
    OptionalId,
    OptionalText,
    OptionalTimestamp,
    StoredContent,
    Text,
    Timestamp,
    TurnIndex,
)
from recorder.core.events.phi_core_types import Usage

Certainty = Literal["stated", "structural", "inferred"]
ErrorScope = Literal["loop", "turn", "tool", "session"]
ApprovalKind = Literal["tool", "command", "elicitation", "limit", "unknown"]
Decision = Literal["granted", "denied", "expired", "cancelled"]
DecisionScope = Literal["once", "session", "always", "tool"]


@event
class AgentSwitched:
    """Another agent took over within the same loop."""

    type: Literal["AgentSwitched"] = "AgentSwitched"
    loop_id: OptionalId = None
    session_id: OptionalId = None
    timestamp: OptionalTimestamp = None
    from_: Annotated[OptionalText, Field(alias="from")] = None
    to: Text


@event
class ApprovalRequested:
    """The agent asked a person for approval and waits."""

    type: Literal["ApprovalRequested"] = "ApprovalRequested"
    loop_id: OptionalId = None
    session_id: OptionalId = None
    timestamp: OptionalTimestamp = None
    approval_id: OptionalId = None
    kind: ApprovalKind = "unknown"
    tool_call_id: OptionalId = None
    command: OptionalText = None
    risk: OptionalText = None
    warnings: StoredContent = None
    options: StoredContent = None


@event
class ApprovalResolved:
    """An approval was decided, or expired; `inferred` is set when no event of the runtime reported it."""

    type: Literal["ApprovalResolved"] = "ApprovalResolved"
    loop_id: OptionalId = None
    session_id: OptionalId = None
    timestamp: OptionalTimestamp = None
    approval_id: OptionalId = None
    tool_call_id: OptionalId = None
    command: OptionalText = None
    decision: Decision | None  # None: decided, but the decision is unknown
    scope: DecisionScope | None = None
    reason: OptionalText = None
    inferred: Flag = False


@event
class ErrorRaised:
    """An error occurred; `recovered` is set when the agent continued."""

    type: Literal["ErrorRaised"] = "ErrorRaised"
    loop_id: OptionalId = None
    session_id: OptionalId = None
    timestamp: OptionalTimestamp = None
    scope: ErrorScope
    code: OptionalText = None
    message: Text
    recovered: Flag = False


@event
class Notice:
    """The runtime reported something that changes no record."""

    type: Literal["Notice"] = "Notice"
    loop_id: OptionalId = None
    session_id: OptionalId = None
    timestamp: OptionalTimestamp = None
    kind: Text
    severity: OptionalText = None
    code: OptionalText = None
    text: OptionalText = None
    data: Content = None


@event
class UsageSnapshot:
    """The runtime reported totals: the current size of the context, the cost so far."""

    type: Literal["UsageSnapshot"] = "UsageSnapshot"
    loop_id: OptionalId = None
    session_id: OptionalId = None
    timestamp: OptionalTimestamp = None
    scope: Literal["session", "loop"]
    context_length: Count | None = None
    context_limit: Count | None = None
    cost: StoredContent = None
    currency: OptionalText = None
    cumulative: Flag = True


@event
class SessionInfo:
    """The runtime reported facts about a session, such as its title and working directory."""

    type: Literal["SessionInfo"] = "SessionInfo"
    loop_id: OptionalId = None
    session_id: OptionalId = None
    timestamp: OptionalTimestamp = None
    title: OptionalText = None
    summary: OptionalText = None
    working_dir: OptionalText = None
    scope: Literal["ephemeral", "persistent"] | None = None
    agent_id: OptionalId = None  # like the next four fields, from an imported session file
    formation: StoredContent = None
    created_at: OptionalTimestamp = None
    last_active_at: OptionalTimestamp = None
    parent_spawn_ref: Content = None
    channel: Content = None
    user: Content = None
    agents: Content = None
    tags: Content = None


@event
class SubAgentLinked:
    """A session, or a loop of it, was run as a sub-agent by a tool call of another loop."""

    type: Literal["SubAgentLinked"] = "SubAgentLinked"
    parent_session_id: OptionalId = None
    parent_loop_id: OptionalId = None
    tool_call_id: OptionalId = None
    tool_name: OptionalText = None
    child_session_id: Id
    child_loop_id: OptionalId = None
    certainty: Certainty = "stated"
    timestamp: OptionalTimestamp = None


@event
class LoopWithdrawn:
    """All earlier events of a loop are withdrawn: later spans of its trace gave it another shape.

    Its records are deleted. The loop starts again with the next AgentStart of its id, or is gone
    (`is_gone`); `moved_to` is the session that takes the lines of a session without any loop left. The
    session adopts the lines that wait for a loop which a transcript covers.
    """

    type: Literal["LoopWithdrawn"] = "LoopWithdrawn"
    loop_id: Id
    session_id: Id
    is_gone: Flag = False
    moved_to: OptionalId = None
    sub_agents: Count = 0  # references to sub-agents among the withdrawn events
    adopts: OptionalId = None


@event
class CallReported:
    """Telemetry reported the cost of a turn that a transcript recorded; None: it no longer does for sure."""

    type: Literal["CallReported"] = "CallReported"
    loop_id: Id
    session_id: OptionalId = None
    turn_index: Count
    cost: StoredContent = None


@event
class LoopReopened:
    """A loop goes on after its end: its transcript or trace has more, as one that was imported too early has.

    `turn_index` names the last turn if it goes on as well, `tool_call_ids` the calls that still run. Of a
    loop that has not ended, only the last turn goes on.
    """

    type: Literal["LoopReopened"] = "LoopReopened"
    loop_id: Id
    session_id: Id
    turn_index: TurnIndex | None = None
    tool_call_ids: Ids = ()
    is_compacting: Flag = False
    timestamp: OptionalTimestamp = None


@event
class UsageReported:
    """The usage of the open turn, as far as its transcript states it; the end of the turn replaces it.

    With `is_late` that of a turn which ended without any, also of a loop that has ended.
    """

    type: Literal["UsageReported"] = "UsageReported"
    loop_id: Id
    session_id: OptionalId = None
    turn_index: TurnIndex
    message: Content  # without content: the model, provider and stop reason
    usage: Usage
    cost: StoredContent = None
    timestamp: Timestamp
    is_late: bool = False


@event
class CostStated:
    """The agent stated what a session had cost, with calls that its transcript leaves out.

    `at` is the last time in the transcript before the statement, `ended_at` the first one behind it. A
    session that was forked goes on from what `parent_session_id` had stated when it began, at `started_at`.
    Without `usage` the statements of another session changed: the calls that are in no transcript are
    computed again.
    """

    type: Literal["CostStated"] = "CostStated"
    session_id: Id
    cost: StoredContent = None
    usage: Usage | None = None
    at: OptionalTimestamp = None
    ended_at: OptionalTimestamp = None
    parent_session_id: OptionalId = None
    started_at: OptionalTimestamp = None


@event
class Unread:
    """A line could not be recorded because of a bug; it is stored unchanged, and a rebuild reads it again."""

    type: Literal["Unread"] = "Unread"
    traceback: str = ""  # a hash of it


@event
class SourceEvent:
    """A line was stored unchanged: of an unknown type, or a foreign one that was translated to events."""

    type: Literal["SourceEvent"] = "SourceEvent"
    source: Text
    name: Text
    loop_id: OptionalId = None
    session_id: OptionalId = None
    timestamp: OptionalTimestamp = None
    understood: Flag = False  # it was translated
    is_new_type: Flag = False  # its type is unknown and it has no content: no session is inconsistent
