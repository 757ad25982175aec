"""Types of phi-core's Session JSON, as `src/session/model.rs` of its repository defines it."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from recorder.core.records import Json


class UsageObject(TypedDict):
    input: int
    output: int
    reasoning: int
    cache_read: int
    cache_write: int
    total_tokens: int


class TurnIdObject(TypedDict):
    loopId: str
    turnIndex: int


class TurnObject(TypedDict):
    turn_id: TurnIdObject
    triggered_by: str
    usage: UsageObject
    input_messages: list[Json]
    output_message: Json
    tool_results: list[Json]
    started_at: str
    ended_at: str | None
    request_payload: NotRequired[Json]


class EventObject(TypedDict):
    sequence: int
    event: dict[str, Json]


class ChildLoopRefObject(TypedDict):
    tool_call_id: str
    tool_name: str
    child_loop_id: str
    child_session_id: str


class ParallelGroupObject(TypedDict):
    all_loop_ids: list[str]
    selected_loop_id: str
    selected_config_index: int
    evaluation_usage: UsageObject
    is_selected: bool


class LoopObject(TypedDict):
    loop_id: str
    session_id: str
    agent_id: str
    parent_loop_id: str | None
    continuation_kind: Json
    started_at: str
    ended_at: str | None
    status: Literal["Pending", "Running", "Completed", "Rejected", "Aborted"]
    rejection: str | None
    config: Json
    messages: Json
    turns: list[TurnObject]
    usage: UsageObject
    metadata: Json
    events: list[EventObject]
    children_loop_ids: list[str]
    child_loop_refs: list[ChildLoopRefObject]
    parallel_group: ParallelGroupObject | None
    compaction_block: NotRequired[Json]


class SpawnRefObject(TypedDict):
    parent_session_id: str
    parent_loop_id: str
    tool_call_id: str
    tool_name: str


class SessionObject(TypedDict):
    session_id: str
    agent_id: str
    created_at: str
    last_active_at: str
    formation: Json
    parent_spawn_ref: SpawnRefObject | None
    scope: str
    loops: list[LoopObject]
