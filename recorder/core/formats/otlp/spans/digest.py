"""What the plan of a unit needs of one span or log record, and a line with its content."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import MISSING, dataclass, field, fields

from recorder.core.formats.base import Fields
from recorder.core.formats.otlp.spans import names
from recorder.core.formats.otlp.spans.attributes import identifier
from recorder.core.formats.otlp.spans.content.call_messages import Messages
from recorder.core.formats.otlp.spans.content.messages import messages_of
from recorder.core.formats.otlp.spans.kinds import Kind
from recorder.core.records import Json

BY_WORDS = "words"


@dataclass(slots=True, kw_only=True)
class Digest:
    """What the tree of a unit needs of one span or record; times in nanoseconds since 1970."""

    id: str  # of a span its id; of a log record the id of its span, or ""
    trace: str
    parent: str = ""
    kind: Kind = "frame"
    is_mcp: bool = False  # a tool call as a client or server of the Model Context Protocol sees it
    request_id: str = ""  # of such a one: its session and request of the protocol, which both have
    is_guess: bool = False  # a model call or an agent by what it has, without a known operation
    name: str = ""  # of the agent or tool; else of the span
    named: bool = False  # an agent span that names its agent
    start: int = 0
    end: int = 0
    is_partial: bool = False  # it was sent without an end, which is its start then
    is_ok: bool = False  # its status says success; mostly none is set
    error: str = ""  # why it failed; "" for success
    session: str = ""
    user: str = ""
    print: str = ""  # fingerprint of the line
    line: int = 0  # journal id
    token: int = 0  # the access token that sent it; 0: none, or not known any more
    runtime: str = ""
    scope: str = ""  # that emits it, if it is not named like the runtime
    service: str = ""
    model: str = ""
    provider: str = ""
    finish: str = ""
    response: str = ""  # the provider's id of the response
    usage: dict[str, int] | None = None  # in our names, `input` without cache; None: none was sent
    calls: list[list[str]] = field(default_factory=list)  # id and name of each tool call of the answer
    hosted: list[list[Json]] = field(
        default_factory=list
    )  # of calls that the provider ran: place and failure
    # Call id and failure of each tool result sent; `BY_WORDS` is one that only the text of the result says.
    results: list[list[Json]] = field(default_factory=list)
    new: str = ""  # fingerprint of the new input messages
    opening: str = ""  # fingerprints as of `content.history`: of the first message of the user,
    asks: list[str] = field(default_factory=list)  # of each of `calls`, of a tool of its call,
    answers: list[str] = field(default_factory=list)  # of the call of each of `results`,
    answer: str = ""  # and of the answer
    request: str = ""  # fingerprint of the system prompt and the tools
    has_text: bool = False  # it has messages
    is_whole: bool = False  # they are a whole request or response, or plain texts
    call: str = ""  # of a tool: the id of its call; of LangChain's node around a tool, too
    agent: str = ""  # of a model call or tool: the agent that it names
    parent_node: str = ""  # graph.node.parent_id: the agent that handed over
    step: int = -1  # langgraph_step
    owner: str = ""  # agent_id of Claude Code: the sub-agent that it belongs to
    child: str = ""  # of a tool: the name of the sub-agent that it starts
    prompt: str = ""  # the id of the prompt that it belongs to
    decision: list[str] = field(default_factory=list)  # of an approval: decision, source, scope
    cost_nano: int = -1  # reported cost in nano-dollars; -1: none
    is_log: bool = False
    turn: int = -1  # of our own export: the number of its turn; failed attempts have the same
    # Of our own export: how a loop ended; `cut` of a tool that never returned, `blocked` of a guardrail.
    outcome: str = ""
    tool: str = ""  # of a log record: the name of the tool that it is about
    lasted: int = 0  # of a log record: how long took what it is about, in nanoseconds
    tries: int = 0  # of a model call: how often it was sent
    # Of a model call: the provider shortened the context. Of a frame of our own export: it is a compaction.
    compacted: bool = False
    evaluations: int = 0  # that it reports

    @property
    def home(self) -> str:
        """Return the trace; for a log record without one a hash of its session.

        Records without a session are kept apart by service, user and prompt.
        """
        about = self.session or f"\0{self.service}\0{self.user}\0{self.prompt}"
        return self.trace or hashlib.blake2b(about.encode(errors="replace"), digest_size=16).hexdigest()

    @property
    def reports_figures(self) -> bool:
        """Return whether it has usage or a cost."""
        return self.usage is not None or self.cost_nano >= 0

    @property
    def key(self) -> str:
        """Return what a span or log record is known by within its unit."""
        return f"log {self.print}" if self.is_log else f"{self.trace} {self.id}"

    @property
    def progress(self) -> tuple[int, int, int, str]:
        """Return the sort key of the states in which a span was sent; the newest is largest.

        Tokens of a stream grow. States that are alike in all this are sorted by their fingerprint.
        """
        parts = (self.usage, self.finish, self.error, self.answer, self.response, self.has_text)
        tokens = self.usage["total_in"] + self.usage["output"] if self.usage is not None else 0
        return self.end, sum(map(bool, parts)) + self.evaluations, tokens, self.print

    @property
    def emitter(self) -> str:
        """Return the scope that emits it."""
        return self.scope or self.runtime

    @property
    def is_message(self) -> bool:
        """Return whether it is a log record with one message of a call."""
        return self.is_log and self.name in names.MESSAGE_EVENTS

    @property
    def message_order(self) -> tuple[int, int, str]:
        """Return what messages of a call are sorted by; several may have one time."""
        return self.start, names.MESSAGE_EVENTS.index(self.name), self.print

    def dump(self) -> Fields:
        """Return the fields that differ from their defaults, for the stored state."""
        found = ((name, getattr(self, name), default) for name, default in _DEFAULTS)
        return {name: value for name, value, default in found if value != default}

    @classmethod
    def load(cls, stored: Fields) -> Digest:
        """Return a digest from its stored fields."""
        return cls(**stored)  # type: ignore[arg-type]


# Names and defaults; `id` and `trace` are always stored.
_DEFAULTS: tuple[tuple[str, Json], ...] = tuple(
    (each.name, None if each.name in ("id", "trace") else [] if each.default is MISSING else each.default)
    for each in fields(Digest)
)


@dataclass(slots=True)
class Item:
    """A line with its attributes, which hold the content."""

    digest: Digest
    attributes: Fields
    events: list[tuple[str, Fields]]
    resource: Fields
    scope: str
    _messages: Messages | None = None
    _results: dict[str, list[Fields]] | None = None
    _calls: dict[str, list[Fields]] | None = None
    _hosted: dict[str, list[Fields]] | None = None

    @property
    def messages(self) -> Messages:
        if self._messages is None:
            self._messages = messages_of(self.attributes, self.events, self.digest.runtime)
        return self._messages

    @property
    def results(self) -> dict[str, list[Fields]]:
        """Return the tool results that it was sent by the id of their call."""
        if self._results is None:
            self._results = defaultdict(list)
            for each in self.messages.results:
                self._results[identifier(str(each["toolCallId"]))].append(each)
        return self._results

    @property
    def hosted(self) -> dict[str, list[Fields]]:
        """Return the results in its own answer by the id of their call; {} for a call without one."""
        if self._hosted is None:
            self._hosted = defaultdict(list)
            for place, (call, _) in enumerate(self.messages.calls):
                self._hosted[identifier(call)].append(self.messages.hosted.get(place, {}))
        return self._hosted

    @property
    def calls(self) -> dict[str, list[Fields]]:
        """Return the tool calls of its answer by their id."""
        if self._calls is None:
            self._calls = defaultdict(list)
            for block in self.messages.output:
                if block["type"] == "toolCall":
                    self._calls[identifier(str(block["id"]))].append(block)
        return self._calls
