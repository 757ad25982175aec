"""The items of a conversation. `part` names the block of the template that renders an item."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from dashboard.live.queries.streaming_text import Block
from dashboard.pages.session.events.bodies import Excerpt
from dashboard.shared.waste.queries.marks import Mark

ONE_BATCH_MS = 2
_FRACTION = re.compile(r"\b(\d{1,9}) ?(?:of|/) ?(\d{1,9})\b")
_PERCENT = re.compile(r"\b(\d{1,3})(?:\.\d+)? ?%")

Tone = Literal["", "running", "completed", "error", "rejected", "waiting", "winner", "compaction", "muted"]
DECISIONS: Mapping[str, tuple[str, Tone, str]] = {  # of an approval request: words, tone, glyph
    "waiting": ("Approval requested", "waiting", "waiting"),
    "granted": ("Approved", "completed", "completed"),
    "denied": ("Denied", "rejected", "rejected"),
    "expired": ("Expired without an answer", "muted", "aborted"),
    "cancelled": ("Request cancelled", "muted", "cancelled"),
    "": ("Resolved", "completed", "completed"),
}


@dataclass(frozen=True, slots=True)
class MessageText:
    """Text of a message.

    `is_prose`: written by the assistant as Markdown; `is_raw`: do not render Markdown.
    """

    who: str
    icon: str
    text: Excerpt
    is_first: bool = True  # the first text of its message, shown with the role
    is_prose: bool = False
    is_raw: bool = False
    part: str = "message"

    @property
    def is_rendered(self) -> bool:
        return self.is_prose and not self.is_raw


@dataclass(frozen=True, slots=True)
class Thought:
    """A thinking block, collapsed."""

    text: Excerpt
    tokens: int = 0
    part: str = "thought"

    @property
    def first_words(self) -> str:
        return " ".join(self.text.text[:400].split())[:200]


@dataclass(frozen=True, slots=True)
class Picture:
    """An image in a message; without `url` only its type and size are shown."""

    mime: str
    size: int  # bytes
    url: str = ""
    width: int = 0
    height: int = 0
    part: str = "picture"


@dataclass(frozen=True, slots=True)
class Child:
    """The sub-agent started by a tool call; without `url` its session was not recorded."""

    session_id: str
    url: str = ""
    agent: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool call; `pk` is 0 when the model requested it and it never ran."""

    pk: int
    name: str
    summary: str
    state: str  # running stale done failed cut requested skipped waiting
    started_at: datetime | None = None
    duration_ms: int | None = None
    times_received: bool = True
    progress: str = ""
    args: Excerpt | None = None
    partial: Excerpt | None = None
    result: Excerpt | None = None
    pictures: tuple[Picture, ...] = ()
    child: Child | None = None
    waiting_since: datetime | None = None  # for approval
    as_of: str = ""  # URL of the session at the end of the call
    block_url: str = ""  # of its result in the block ledger
    block_tokens: int | None = None  # of its result in each turn that carries it; None: not in the ledger
    waste: Mark | None = None
    part: str = "tool"

    @property
    def percent(self) -> int | None:
        """Return the percentage in the progress text of a running tool: "38 of 212", "5/6" or "40%"."""
        if match := _PERCENT.search(self.progress):
            return min(int(match[1]), 100)
        match = _FRACTION.search(self.progress)
        return min(100 * int(match[1]) // int(match[2]), 100) if match and int(match[2]) else None

    @property
    def is_timed(self) -> bool:
        """Return whether the duration is meaningful: within one batch it is only parsing time."""
        return not self.times_received or (self.duration_ms or 0) >= ONE_BATCH_MS

    @property
    def dom_id(self) -> str:
        return f"session-tool-{self.pk}" if self.pk else ""


@dataclass(frozen=True, slots=True)
class Question:
    """An approval request and its resolution; root of the panel session/conversation/question."""

    pk: int
    decision: str  # waiting granted denied expired cancelled, "" when resolved without a known decision
    since: datetime
    tool_call_id: str
    command: str
    instead: str  # text shown when there is no command
    risk: str
    warnings: Sequence[str]
    options: Sequence[str]
    scope: str
    reason: str
    is_inferred: bool
    is_stale: bool = False  # still open, in a session without recent events
    part: str = "question"

    @property
    def is_open(self) -> bool:
        return self.decision == "waiting"

    @property
    def words(self) -> str:
        return DECISIONS[self.decision][0]

    @property
    def tone(self) -> Tone:
        return DECISIONS[self.decision][1]

    @property
    def glyph(self) -> str:
        return DECISIONS[self.decision][2]

    @property
    def dom_id(self) -> str:
        return f"session-question-{self.pk}"


@dataclass(frozen=True, slots=True)
class Note:
    """An event shown between messages."""

    text: str
    tone: Tone = ""
    icon: str = "info"
    glyph: str = ""  # a status glyph, shown instead of the icon
    body: Excerpt | None = None  # shown below the text, unformatted
    json: Excerpt | None = None  # collapsed
    at: datetime | None = None
    event: int = 0
    part: str = "note"


@dataclass(frozen=True, slots=True)
class CompactionDivider:
    """A compaction, drawn as a divider with sizes before and after."""

    state: str  # running done cut
    tokens_before: int | None = None
    tokens_after: int | None = None
    messages_before: int | None = None
    messages_after: int | None = None
    summary: Excerpt | None = None
    url: str = ""  # of its own page
    part: str = "compaction"


@dataclass(frozen=True, slots=True)
class CutOff:
    """The streamed blocks of a message that never ended, followed by other messages."""

    blocks: tuple[Block, ...]
    part: str = "cutoff"


@dataclass(frozen=True, slots=True)
class Group:
    """A collapsed range of the calls of a turn, numbered from 1 and loaded when opened."""

    first: int
    last: int
    failed: int
    running: int
    dom_id: str
    url: str  # of the content


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of a turn's calls, before the calls that are shown."""

    groups: tuple[Group, ...]
    shown: int
    calls: int
    is_raw: bool = False  # load the content as raw text
    part: str = "groups"


@dataclass(frozen=True, slots=True)
class Passage:
    """A collapsed run of messages and notes, loaded when opened."""

    first: int  # event
    messages: int
    notes: int
    failed: int  # notes about errors
    since: datetime
    until: datetime
    dom_id: str
    url: str  # of the content


@dataclass(frozen=True, slots=True)
class Passages:
    """The passages of a run, before the items that are shown."""

    passages: tuple[Passage, ...]
    is_raw: bool = False  # load the content as raw text
    part: str = "passages"


Item = (
    MessageText | Thought | Picture | Tool | Question | Note | CompactionDivider | CutOff | Groups | Passages
)


def raw_items(items: Iterable[Item]) -> list[Item]:
    """Return items with Markdown not rendered."""
    return [
        replace(item, is_raw=True) if isinstance(item, MessageText | Groups | Passages) else item
        for item in items
    ]
