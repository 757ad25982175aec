"""Nine events of our own: what other runtimes say and phi-core does not."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from recorder.core.events.base import event
from recorder.core.events.fields import (
    Content,
    Count,
    Flag,
    Id,
    OptionalId,
    OptionalText,
    OptionalTimestamp,
    StoredContent,
    Text,
)

Certainty = Literal["stated", "structural", "inferred"]
ErrorScope = Literal["loop", "turn", "tool", "session"]
ApprovalKind = Literal["tool", "command", "elicitation", "limit", "unknown"]
Decision = Literal["granted", "denied", "expired", "cancelled"]
DecisionScope = Literal["once", "session", "always", "tool"]


@event
class AgentSwitched:
    """Another agent took over inside the same loop."""

    type: Literal["AgentSwitched"] = "AgentSwitched"
    loop_id: OptionalId = None
    session_id: OptionalId = None
    timestamp: OptionalTimestamp = None
    from_: Annotated[OptionalText, Field(alias="from")] = None
    to: Text


@event
class ApprovalRequested:
    """The agent waits for a person."""

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
    """A person answered, or nobody did in time; `inferred` when no event of the runtime said so."""

    type: Literal["ApprovalResolved"] = "ApprovalResolved"
    loop_id: OptionalId = None
    session_id: OptionalId = None
    timestamp: OptionalTimestamp = None
    approval_id: OptionalId = None
    tool_call_id: OptionalId = None
    command: OptionalText = None
    decision: Decision | None  # None: it was settled, nobody said how
    scope: DecisionScope | None = None
    reason: OptionalText = None
    inferred: Flag = False


@event
class ErrorRaised:
    """Something failed; `recovered` when the agent went on."""

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
    """Something worth knowing that changes nothing."""

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
    """Totals as the runtime shows them: the size of the context now, the cost so far."""

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
    """What a session is called and where it runs."""

    type: Literal["SessionInfo"] = "SessionInfo"
    loop_id: OptionalId = None
    session_id: OptionalId = None
    timestamp: OptionalTimestamp = None
    title: OptionalText = None
    summary: OptionalText = None
    working_dir: OptionalText = None
    scope: Literal["ephemeral", "persistent"] | None = None
    agent_id: OptionalId = None  # this and the next four: an imported session file says them
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
    """A loop of one session belongs to a tool call of another."""

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
class Unread:
    """A line on which our own code broke: kept as it came, and read again by a rebuild."""

    type: Literal["Unread"] = "Unread"
    traceback: str = ""  # its hash


@event
class SourceEvent:
    """A line kept as it came: of a type that is not known here, or a foreign one that native lines retell."""

    type: Literal["SourceEvent"] = "SourceEvent"
    source: Text
    name: Text
    loop_id: OptionalId = None
    session_id: OptionalId = None
    timestamp: OptionalTimestamp = None
    understood: Flag = False  # its meaning came in native lines
