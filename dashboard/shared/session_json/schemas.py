"""Sessions and loops as JSON documents. Unknown is null; times are RFC 3339 UTC; `id` identifies a record."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, PlainSerializer

from dashboard.shared.session_json.money_fields import WithSubAgents

Role = Literal["normal", "branch", "judge", "compaction", "sub_agent", "unlisted"]


def rfc3339(moment: datetime) -> str:
    """Format a time in UTC with microseconds."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


# Django's JSON encoder truncates to milliseconds.
Moment = Annotated[
    datetime, PlainSerializer(rfc3339), Field(json_schema_extra={"type": "string", "format": "date-time"})
]


class Config(BaseModel):
    """A model config; `label` is its name on pages."""

    key: str
    label: str
    config_id: str | None
    model: str
    provider: str


class LoopConfig(Config):
    snapshot: Any


class ChildRef(BaseModel):
    """A tool call that ran a sub-agent; `loop` is null until the child's loop is recorded."""

    tool_call_id: str
    tool_name: str
    child_loop_id: str
    child_session_id: str
    loop: int | None
    certainty: str


class LoopItem(WithSubAgents):
    """A loop; `config` is that of its start, `configs` are all in it, in the order of their first answers."""

    id: int
    loop_id: str
    run: int
    session_id: str
    agent_id: str | None
    title: str | None
    status: str
    outcome: str | None
    stale: bool
    error: str | None
    rejection: str | None
    role: Role
    continuation_kind: str
    continuation_tag: str | None
    parent_loop_id: str | None
    parent_loop: int | None
    children: list[int]
    child_loop_refs: list[ChildRef]
    parallel_group: int | None
    branch_index: int | None
    is_selected: bool | None
    config: LoopConfig | None
    configs: list[Config]
    segment: str
    started_at: Moment | None
    ended_at: Moment | None
    duration_ms: int | None
    turns: int
    tool_calls: int
    errors: int
    compactions: int
    approvals: int
    waiting: int
    events: int
    url: str


class Parent(BaseModel):
    """The loop that spawned a session as a sub-agent."""

    session_id: str | None
    loop_id: str | None


class SessionItem(WithSubAgents):
    session_id: str
    title: str | None
    agent_id: str | None
    source: str
    scope: str
    status: str
    outcome: str | None
    stale: bool
    created_at: Moment
    last_active_at: Moment
    ended_at: Moment | None
    loops: int
    turns: int
    tool_calls: int
    errors: int
    compactions: int
    groups: int
    sub_agents: int
    events: int
    waiting: int
    tags: list[str]
    metadata: dict[str, list[str]]
    parent: Parent | None
    is_demo: bool
    pruned_on: date | None
    url: str
