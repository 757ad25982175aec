"""Response schemas of the block ledger. Tokens are whole numbers; money is exact decimal text in dollars."""

from __future__ import annotations

from datetime import date
from typing import Literal

from pydantic import BaseModel

from dashboard.shared.session_json.schemas import Moment
from recorder.core.ledger.blocks import Kind
from recorder.core.ledger.changes import Change
from recorder.core.ledger.tokens import Source
from recorder.core.ledger.verdicts import Verdict

LeftBy = Literal["compaction", "prune", "replaced", "end"]


class FirstDifference(BaseModel):
    """The first difference from the request before; `before` and `after` are texts around that place.

    `block` counts the blocks of a request from 1; `byte` is null if the later request ends before the block.
    """

    block: int
    kind: Kind
    name: str | None
    byte: int | None
    path: str | None
    before: str | None
    after: str | None


class CacheVerdict(BaseModel):
    """The cause of a read or a miss of the prompt cache. `idle_s` is the time since the call before.

    `provider_reason` is the provider's own reason where it was recorded, as Anthropic's cache diagnostics
    report it; `provider_agrees` is null where none was, or where it says nothing about the verdict.
    """

    verdict: Verdict
    prefix_tokens: int
    expected_read: int | None
    reported_read: int
    lost_tokens: int
    lost_usd: str | None
    idle_s: float
    life_s: int | None
    provider_reason: str | None
    provider_agrees: bool | None
    first_difference: FirstDifference | None = None


class LedgerTurn(BaseModel):
    """One call. `number` counts the calls of the session from 1; `turn_index` is its place in the loop.

    `request` is `derived` where the request was not recorded and its messages are those that must have been
    sent. `undivided_usd` is a cost that no price divides between context and output.
    """

    id: int
    number: int
    loop: int
    turn_index: int
    agent_id: str | None
    model: str | None
    started_at: Moment
    request: Literal["recorded", "derived"]
    prompt_tokens: int | None
    output_tokens: int
    kinds: dict[str, int]
    context_usd: str | None
    output_usd: str | None
    undivided_usd: str | None
    cost_usd: str | None
    cache: CacheVerdict


class LedgerBlockItem(BaseModel):
    """A block. `first_turn` and `last_turn` are numbers of turns; `left_by` is null while it is in use."""

    id: int
    kind: Kind
    name: str | None
    detail: str | None
    server: str | None
    tokens: int
    tokens_source: Source
    bytes: int
    first_turn: int
    last_turn: int
    turns: int
    left_by: LeftBy | None
    carried_usd: str | None


class SentBlock(LedgerBlockItem):
    """A block of one call, with what it cost in that call."""

    cost_here_usd: str | None


class SessionLedgerItem(BaseModel):
    """The ledger of a session: context, output and undivided cost are its cost; blocks are the context.

    `skipped_turns` counts calls that the ledger could not take; their cost is in `undivided_usd`. All sums
    are null where no call has a price.
    """

    session_id: str
    skipped_turns: int
    turns: list[LedgerTurn]
    blocks: list[LedgerBlockItem]
    context_usd: str | None
    output_usd: str | None
    undivided_usd: str | None
    cost_usd: str | None
    lost_usd: str | None


class TurnLedgerItem(LedgerTurn):
    """The ledger of one call: its blocks in the order in which they were sent."""

    session_id: str
    blocks: list[SentBlock]


class Days(BaseModel):
    """The days of the figures, both included, in UTC."""

    since: date
    until: date


class LossItem(BaseModel):
    """Calls that missed the cache, the tokens that could have been read, and what these cost more."""

    misses: int
    lost_tokens: int
    lost_usd: str


class LossOfDay(LossItem):
    day: date


class LossByChange(LossItem):
    """The misses with one change of the request; null where what changed is unknown or nothing did."""

    change: Change | None


class CauseItem(LossItem):
    """One verdict that is a miss. Its days add up to it, and so do its changes.

    `lost_usd_a_week` is the loss in seven days; null if the calls of the project began less than that ago.
    """

    verdict: Verdict
    lost_usd_a_week: str | None
    changes: list[LossByChange]
    days: list[LossOfDay]


class KindItem(BaseModel):
    """Tokens over all calls and their cost: of a kind of blocks, `output`, or `undivided`."""

    kind: str
    tokens: int
    cost_usd: str


class CausesItem(Days, LossItem):
    """The kinds add up to `cost_usd`, the causes to the loss."""

    turns: int
    context_usd: str
    cost_usd: str
    kinds: list[KindItem]
    causes: list[CauseItem]


class CommandItem(BaseModel):
    """The results of one command of a shell, such as `git diff`; `other` if it cannot be named."""

    command: str
    results: int
    result_tokens: int
    carried_tokens: int
    carried_usd: str


class ToolItem(BaseModel):
    """The results of one tool. `failed_rate` covers calls of the newest 300 sessions of the period.

    `commands` add up to the results of a shell; other tools have none.
    """

    name: str | None
    kind: Kind
    server: str | None
    results: int
    result_tokens: int
    carried_tokens: int
    failed_rate: float | None
    carried_usd: str
    commands: list[CommandItem]


class NeverCalledItem(BaseModel):
    """Definitions of one server, or of one tool, without a call by the agents that were sent them."""

    server: str | None
    tools: list[str]
    agents: list[str]
    tokens: int
    turns: int
    carried_tokens: int
    carried_usd: str


class ToolsItem(Days):
    """Tools by carried cost, the dearest first."""

    tools: list[ToolItem]
    never_called: list[NeverCalledItem]


class RequestItem(BaseModel):
    """One model request. `sum_share` is the part of `cost_usd` that it and all dearer ones make.

    `main_part` is what most of its money was for; null where no price divides its cost. `number` is that of
    the turn in its loop, from 1.
    """

    turn: int
    session_id: str
    loop: int
    number: int
    agent_id: str | None
    model: str | None
    ended_at: Moment
    prompt_tokens: int | None
    output_tokens: int | None
    read_share: float | None
    verdict: Verdict | None
    main_part: Literal["read", "write", "uncached", "output"] | None
    lost_usd: str | None
    cost_usd: str
    sum_share: float


class RequestsItem(Days):
    """The dearest requests, the dearest first, at most 200 of those that make 90 % of `cost_usd`.

    They are between `least` and `most` of `requests`, which are those with a cost; both are equal if they are
    counted exactly. `is_cut` says that more cost about as much as the last ones.
    """

    requests: int
    cost_usd: str
    least: int | None
    most: int | None
    is_cut: bool
    dearest: list[RequestItem]


class FloorItem(BaseModel):
    """A floor of one version of an agent in a time in which it stayed the same: averages of a call.

    `growth` is the difference to the floor before it of the same agent, as a part of it; null for the first.
    """

    agent_id: str | None
    version: str | None
    first_day: date
    last_day: date
    calls: int
    tokens: int
    system_tokens: int
    tool_tokens: int
    growth: float | None
    cost_usd: str


class FloorsItem(Days):
    """The agents by the cost of their floors, the floors of each in order of time."""

    floors: list[FloorItem]


class VersionItem(LossItem):
    """One version of an agent; `hit_rate` is of the tokens that could be read from the cache."""

    agent_id: str | None
    version: str | None
    first_day: date
    last_day: date
    is_new: bool
    turns: int
    hit_rate: float | None
    context_usd: str
    cost_usd: str


class VersionsItem(Days):
    """Versions by loss, the largest first."""

    versions: list[VersionItem]
