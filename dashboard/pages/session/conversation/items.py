"""What a conversation consists of, as its partials show it. Each says in `part` which of them draws it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from dashboard.live.streaming_text import Block
from dashboard.pages.session.events.bodies import Excerpt

ONE_BATCH_MS = 2
_FRACTION = re.compile(r"\b(\d{1,9}) ?(?:of|/) ?(\d{1,9})\b")
_PERCENT = re.compile(r"\b(\d{1,3})(?:\.\d+)? ?%")

Tone = Literal["", "running", "completed", "error", "rejected", "waiting", "winner", "compaction", "muted"]
DECISIONS: Mapping[str, tuple[str, Tone, str]] = {  # of a question: words, tone, glyph
    "waiting": ("Asks for approval", "waiting", "waiting"),
    "granted": ("Approved", "completed", "completed"),
    "denied": ("Denied", "rejected", "rejected"),
    "expired": ("Nobody answered in time", "muted", "aborted"),
    "cancelled": ("The question was withdrawn", "muted", "cancelled"),
    "": ("Answered", "completed", "completed"),
}


@dataclass(frozen=True, slots=True)
class Said:
    """Text of a message. `is_prose`: the assistant's, which is Markdown; `is_raw`: as it was written."""

    who: str
    icon: str
    text: Excerpt
    is_first: bool = True  # of its message: then the role stands beside it
    is_prose: bool = False
    is_raw: bool = False
    part: str = "said"

    @property
    def is_rendered(self) -> bool:
        return self.is_prose and not self.is_raw


@dataclass(frozen=True, slots=True)
class Thought:
    """What the model thought, folded."""

    text: Excerpt
    tokens: int = 0
    part: str = "thought"

    @property
    def first_words(self) -> str:
        return " ".join(self.text.text[:400].split())[:200]


@dataclass(frozen=True, slots=True)
class Picture:
    """An image in a message; one without `url` is only told."""

    mime: str
    size: int  # bytes
    url: str = ""
    width: int = 0
    height: int = 0
    part: str = "picture"


@dataclass(frozen=True, slots=True)
class Child:
    """The sub-agent that a tool call ran; without `url` its session was never recorded."""

    session_id: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool call; `pk` is 0 when it was asked for and never ran."""

    pk: int
    name: str
    summary: str
    state: str  # running done failed cut asked skipped waiting
    started_at: datetime | None = None
    duration_ms: int | None = None
    times_received: bool = True
    progress: str = ""
    args: Excerpt | None = None
    partial: Excerpt | None = None
    result: Excerpt | None = None
    pictures: tuple[Picture, ...] = ()
    child: Child | None = None
    waiting_since: datetime | None = None  # for a person to let it run
    as_of: str = ""  # the session as it was when the call had ended
    part: str = "tool"

    @property
    def percent(self) -> int | None:
        """Return how far a running tool is, if its progress says so: "38 of 212", "5/6" or "40%"."""
        if said := _PERCENT.search(self.progress):
            return min(int(said[1]), 100)
        said = _FRACTION.search(self.progress)
        return min(100 * int(said[1]) // int(said[2]), 100) if said and int(said[2]) else None

    @property
    def is_timed(self) -> bool:
        """Say whether the duration is one: of lines of one batch it is only that of reading them."""
        return not self.times_received or (self.duration_ms or 0) >= ONE_BATCH_MS

    @property
    def dom_id(self) -> str:
        return f"session-tool-{self.pk}" if self.pk else ""


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked for, and how it was settled; root of the panel session/conversation/question."""

    pk: int
    decision: str  # waiting granted denied expired cancelled, "" when it was settled and nobody said how
    since: datetime
    tool_call_id: str
    command: str
    instead: str  # what stands in place of a command
    risk: str
    warnings: Sequence[str]
    options: Sequence[str]
    scope: str
    reason: str
    is_inferred: bool
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
    """Something that happened between messages."""

    text: str
    tone: Tone = ""
    icon: str = "info"
    glyph: str = ""  # a state's glyph in place of the icon
    body: Excerpt | None = None  # shown under the text as it is
    json: Excerpt | None = None  # folded
    at: datetime | None = None
    event: int = 0
    part: str = "note"


@dataclass(frozen=True, slots=True)
class Shortened:
    """A compaction: a rule across the page with before and after."""

    state: str  # running done cut
    tokens_before: int | None = None
    tokens_after: int | None = None
    messages_before: int | None = None
    messages_after: int | None = None
    summary: Excerpt | None = None
    url: str = ""  # of its own page
    part: str = "shortened"


@dataclass(frozen=True, slots=True)
class CutOff:
    """The blocks of a message that never ended, with others after it."""

    blocks: tuple[Block, ...]
    part: str = "cutoff"


@dataclass(frozen=True, slots=True)
class Group:
    """Calls of a turn that are folded away until somebody opens them, counted from 1."""

    first: int
    last: int
    failed: int
    running: int
    dom_id: str
    url: str  # of what is inside


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of a turn's calls, before those that are shown."""

    groups: tuple[Group, ...]
    shown: int
    calls: int
    is_raw: bool = False  # what is inside is wanted as it was written
    part: str = "groups"


@dataclass(frozen=True, slots=True)
class Passage:
    """Messages and notes in a row that are folded away until somebody opens them."""

    first: int  # event
    messages: int
    notes: int
    failed: int  # notes that say of an error
    since: datetime
    until: datetime
    dom_id: str
    url: str  # of what is inside


@dataclass(frozen=True, slots=True)
class Passages:
    """The passages of a row, before what is shown of it."""

    passages: tuple[Passage, ...]
    is_raw: bool = False  # what is inside is wanted as it was written
    part: str = "passages"


Item = Said | Thought | Picture | Tool | Question | Note | Shortened | CutOff | Groups | Passages


def as_written(items: Iterable[Item]) -> list[Item]:
    """Return items with Markdown left as the text that it is."""
    return [
        replace(item, is_raw=True) if isinstance(item, Said | Groups | Passages) else item for item in items
    ]
