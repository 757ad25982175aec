"""Response schemas of the read API. Unknown is null; times are RFC 3339 UTC; `id` identifies a record.

Class names and docstrings appear in the OpenAPI document.
"""

from __future__ import annotations

from datetime import date
from typing import Any, Literal

from pydantic import BaseModel

from dashboard.shared.audit_log.schemas import AuditItem
from dashboard.shared.session_json.money_fields import Buckets, Metered, Money, Usage
from dashboard.shared.session_json.schemas import Config, LoopItem, Moment, SessionItem
from recorder.core.records import Verdict

Content = Literal["none", "block", "request", "summary"]
CallState = Literal["running", "stale", "completed", "failed", "aborted"]
WASTE_URLS_MAX = 50


class NoteCounts(BaseModel):
    """Numbers of the notes (with replies), scores and bookmarks of a session."""

    notes: int
    scores: int
    bookmarks: int


class SessionDetail(SessionItem):
    """A session with its loops in tree order in place of their number."""

    notes: NoteCounts
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


class WasteItem(BaseModel):
    """Waste that one rule found in one loop. `times` includes the first occurrence; `calls` counts the waste.

    `cost_usd` is null if no call has a price; `unpriced` counts those without. `alarm_event` is the event
    that made it an alarm. `urls` are the pages of the first 50 wasted calls.
    """

    id: int
    session_id: str
    loop: int
    agent_id: str | None
    rule: str
    name: str | None
    times: int
    calls: int
    tokens: int
    cost_usd: str | None
    unpriced: int
    first_event: int
    last_event: int
    last_at: Moment
    alarm_event: int | None
    alarmed_at: Moment | None
    urls: list[str]


class SessionOfCall(BaseModel):
    session_id: str
    title: str | None
    url: str


class ToolCallItem(BaseModel):
    """A tool call. `loop` and `turn` are ids of records; `turn` is null for a call outside of any turn."""

    id: int
    tool_call_id: str
    tool_name: str
    state: CallState
    started_at: Moment | None
    ended_at: Moment | None
    duration_ms: int | None
    session: SessionOfCall
    loop: int
    loop_id: str
    turn: int | None
    url: str


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


HitKind = Literal["prompt", "answer", "thinking", "tool_call", "tool_result", "system", "note", "title"]


class SearchHit(BaseModel):
    """A place where words of the query stand. `ranges` count the characters (code points) of `snippet`."""

    kind: HitKind
    loop: int | None
    turn: int | None
    event: int | None
    at: Moment | None
    snippet: str
    ranges: list[tuple[int, int]]


class SearchItem(BaseModel):
    """A session with its first hits; `more` counts the others, up to 1,000."""

    session_id: str
    title: str
    url: str
    at: Moment
    hits: list[SearchHit]
    more: int


class IndexLag(BaseModel):
    """The distance of the index from the newest recorded event."""

    lag_s: float
    events: int


class SearchResults(BaseModel):
    """`total` is null where counting the sessions would take too long."""

    items: list[SearchItem]
    next: str | None
    total: int | None
    index: IndexLag


class ResultPage(BaseModel):
    next: str | None
    total: int


class UsageRows(ResultPage):
    items: list[UsageRow]


class Sessions(ResultPage):
    items: list[SessionItem]


class Loops(ResultPage):
    items: list[LoopItem]


class Groups(ResultPage):
    items: list[GroupItem]


class Compactions(ResultPage):
    items: list[CompactionItem]


class Approvals(ResultPage):
    items: list[ApprovalItem]


class Wastes(ResultPage):
    items: list[WasteItem]


class ToolCalls(ResultPage):
    items: list[ToolCallItem]


class Quarantine(ResultPage):
    items: list[QuarantineItem]


class TargetItem(BaseModel):
    """The target of an entry. `turn` is the position in the loop, from 0; `event` the anchor: see `at`.

    As of an earlier event the entry does not stand yet. `loop` and `evaluation` are ids of records.
    """

    type: Literal["session", "loop", "turn", "event", "evaluation"]
    session_id: str
    loop: int | None
    loop_id: str | None
    run: int | None
    turn: int | None
    event: int
    evaluation: int | None


class NoteItem(BaseModel):
    """A note, score or bookmark. `id` is ours, `given_id` the one that the sender chose."""

    id: int
    target: TargetItem
    kind: Literal["note", "score", "bookmark"]
    name: str | None
    value: float | int | bool | str | None
    text: str | None
    author: str
    source: Literal["human", "code", "judge"]
    at: Moment
    edited_at: Moment | None
    parent: int | None
    resolved_at: Moment | None
    resolved_by: str | None
    given_id: str | None
    url: str | None


class ScoreItem(BaseModel):
    """The definition of a score. Empty `targets` and `sources` are all of them; `given` counts its scores."""

    name: str
    kind: Literal["number", "category", "boolean"]
    min: float | None
    max: float | None
    categories: list[str]
    meaning: str | None
    targets: list[str]
    sources: list[str]
    given: int


class Notes(ResultPage):
    items: list[NoteItem]


class Scores(ResultPage):
    items: list[ScoreItem]


class Audit(ResultPage):
    items: list[AuditItem]
