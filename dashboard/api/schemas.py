"""Response schemas of the read API. Unknown is null; times are RFC 3339 UTC; `id` identifies a record.

Class names and docstrings appear in the OpenAPI document.
"""

from __future__ import annotations

from datetime import date
from typing import Any, Literal

from pydantic import BaseModel

from dashboard.shared.session_json.money_fields import Buckets, Metered, Money, Usage
from dashboard.shared.session_json.schemas import Config, LoopItem, Moment, SessionItem
from recorder.core.handlers.verdict import Verdict

Content = Literal["none", "block", "request", "summary"]


class SessionDetail(SessionItem):
    """A session with its loops in tree order in place of their number."""

    loops: list[LoopItem]  # type: ignore[assignment]  # the protocol uses one name for both


class Branch(Metered):
    loop: int
    config_index: int | None
    config: Config | None
    is_selected: bool | None
    duration_ms: int | None
    turns: int
    tool_calls: int
    errors: int


class Judge(Metered):
    loop: int


class GroupItem(BaseModel):
    id: int
    session_id: str
    status: str
    stale: bool
    branches: list[Branch]
    selected_loop_id: str | None
    selected_config_index: int | None
    verdict: Verdict
    judge: Judge | None
    evaluation_usage: Usage | None
    total_cost_usd: str | None
    unpriced: bool
    overhead_ratio: float | None
    started_at: Moment | None
    ended_at: Moment | None
    url: str


class UsageRow(Money):
    """Usage and cost of the turns that one config, model or agent answered, by day with `,day`.

    `loops`: ended loops that began with it. Times: of ended loops, or of its turns in loops that had several.
    """

    day: date | None
    config: Config | None
    model: str | None
    provider: str | None
    agent: str | None
    loops: int
    turns: int
    buckets: Buckets | None
    unreconciled: int
    errors: int
    p50_ms: int | None
    p95_ms: int | None


class CompactionItem(BaseModel):
    """A compaction. before and after are as reported by the event; `sent_*` are of the next request."""

    id: int
    session_id: str
    loop: int
    turn_index: int | None
    state: str
    messages_before: int | None
    messages_after: int | None
    tokens_before: int | None
    tokens_after: int | None
    sent_messages: int | None = None
    sent_tokens: int | None = None
    content: Content
    summary: str | None
    loops_compacted: int | None
    started_at: Moment | None
    ended_at: Moment | None


class ApprovalItem(BaseModel):
    id: int
    approval_id: str | None
    session_id: str
    loop: int | None
    kind: str
    tool_call_id: str | None
    command: str | None
    risk: str | None
    warnings: Any
    options: Any
    requested_at: Moment
    resolved_at: Moment | None
    decision: str | None
    decision_scope: str | None
    reason: str | None
    is_inferred: bool


class QuarantineItem(BaseModel):
    """A rejected line; `raw` is its beginning, undecodable bytes replaced."""

    id: int
    producer: str
    seq: int
    code: str
    path: str | None
    message: str
    raw: str
    size: int
    received_at: Moment


class Page(BaseModel):
    next: str | None
    total: int


class UsageRows(Page):
    items: list[UsageRow]


class Sessions(Page):
    items: list[SessionItem]


class Loops(Page):
    items: list[LoopItem]


class Groups(Page):
    items: list[GroupItem]


class Compactions(Page):
    items: list[CompactionItem]


class Approvals(Page):
    items: list[ApprovalItem]


class Quarantine(Page):
    items: list[QuarantineItem]
