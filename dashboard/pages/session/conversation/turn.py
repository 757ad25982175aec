"""A turn as people read it: what was said, thought and done, in recorded order, each thing once. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime

from dashboard.live.streaming_text import Block
from dashboard.pages.session.conversation import fold_messages
from dashboard.pages.session.conversation.fold_messages import Address, Told
from dashboard.pages.session.conversation.items import CutOff, Groups, Item, Question, Shortened, Tool
from dashboard.pages.session.conversation.messages import Messages, pictures, result_text
from dashboard.pages.session.conversation.notes import SILENT, note
from dashboard.pages.session.events.bodies import Body, Excerpt, Object, folded, items, obj, pretty, string
from dashboard.web import links
from recorder.core.content.text import one_line
from recorder.core.records import Json


@dataclass(frozen=True, slots=True)
class Call:
    """What is kept of a tool call, and where its bodies are."""

    tool_call_id: str
    start_event: int | None
    update_event: int | None
    end_event: int | None
    tool: Tool  # without bodies

    @property
    def events(self) -> list[int]:
        return [pk for pk in (self.start_event, self.update_event, self.end_event) if pk]


@dataclass(frozen=True, slots=True)
class Folded:
    """Calls of a stretch that are not read: their groups stand before the event at which the others begin."""

    groups: Groups
    until: int


@dataclass(slots=True)
class Reading:
    """The lines of a stretch of a loop, and what belongs to them. Calls without lines are not shown."""

    slug: str
    bodies: Sequence[Body]
    calls: Sequence[Call] = ()
    blocks: Mapping[int, tuple[Block, ...]] = field(default_factory=dict)  # by the message's first event
    is_open: bool = False
    questions: Mapping[int, Question] = field(default_factory=dict)  # by the event that asked
    folded: Folded | None = None
    is_group: bool = False  # of calls, with others after it
    address: Address | None = None  # of passages; without it none are folded

    def items(self) -> list[Item]:
        """Return what to show."""
        return _Reader(self).read()

    def passage(self, first: int, last: int) -> Sequence[Item]:
        """Return what a passage from one event up to another holds. Raises LookupError if there is none."""
        assert self.address is not None
        return fold_messages.opened(_Reader(self).told(), first, last, self.address)

    @property
    def pruned_on(self) -> date | None:
        """Return the last day on which some of what was said here was pruned."""
        return max((body.pruned_on for body in self.bodies if body.pruned_on), default=None)

    def streaming(self) -> tuple[Block, ...]:
        """Return the blocks of the message that streams, or with which the stretch broke off."""
        if self.is_group:
            return ()
        return self.blocks[max(self.blocks)] if self.blocks and not self._is_passed(max(self.blocks)) else ()

    def _is_passed(self, message: int) -> bool:
        """Say whether another message came after the one whose first event this is."""
        return any(body.id > message and body.type in ("MessageStart", "MessageEnd") for body in self.bodies)


class _Reader:
    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._by_event = {call.events[0]: call for call in reading.calls if call.events}
        self._ran = {call.tool_call_id for call in reading.calls}
        self._bodies = {body.id: body for body in reading.bodies if body.pruned_on is None}
        self._results = _results(reading.bodies)
        self._known = self._ran | _asked_for(reading.bodies)
        self._questions = {
            body.id: reading.questions[body.id] for body in reading.bodies if body.id in reading.questions
        }
        self._waiting = {
            each.tool_call_id: each.since
            for each in self._questions.values()
            if each.is_open and each.tool_call_id
        }
        self._has_answer = False
        self._begun: dict[str, Body] = {}  # messages that began and have not ended, by role
        self._current: Body | None = None

    def read(self) -> list[Item]:
        told, address = self.told(), self._reading.address
        items = (
            fold_messages.folded(told, address) if address else (item for each in told for item in each.items)
        )
        found = list(items)
        for body in self._begun.values():
            found += self._message(body)
        return found

    def told(self) -> list[Told]:
        """Return what each line shows."""
        folded = self._reading.folded
        found: list[Told] = []
        for body in self._reading.bodies:
            if folded and body.id >= folded.until:
                found.append(Told(body, [folded.groups], parts=True))
                folded = None
            parts = body.id in self._by_event or body.id in self._questions
            found.append(Told(body, list(self._items(body)), "" if parts else _kind(body), parts=parts))
        return found

    def _items(self, body: Body) -> Iterator[Item]:
        call, question = self._by_event.get(body.id), self._questions.get(body.id)
        if call is not None:
            drawn = tool(self._reading.slug, call, self._bodies)
            yield held(drawn, self._waiting.get(call.tool_call_id))
        elif question is not None:
            yield question
        elif body.pruned_on is None:
            yield from self._told(body)

    def _told(self, body: Body) -> Iterator[Item]:
        match body.type:
            case "MessageStart":
                yield from self._message_start(body)
            case "MessageEnd":
                self._begun.pop(_role(body), None)
                self._has_answer = self._has_answer or _role(body) == "assistant"
                yield from self._message(body)
            case "TurnEnd" if not self._has_answer:
                yield from self._message(body)
            case "ProgressMessage" if string(body.event.get("tool_call_id")) in self._ran:
                return
            case "CompactionStarted":
                if not self._is_followed(body, "CompactionEnded"):
                    state = "running" if self._reading.is_open else "cut"
                    yield Shortened(state, url=links.compaction_of(self._reading.slug, body.id))
            case _:
                shown = note(self._reading.slug, body)
                if shown is not None:
                    yield shown

    def _is_followed(self, body: Body, kind: str) -> bool:
        return any(later.id > body.id and later.type == kind for later in self._reading.bodies)

    def _message_start(self, body: Body) -> Iterator[Item]:
        blocks = self._reading.blocks.get(body.id, ())
        if blocks and blocks != self._reading.streaming():
            yield CutOff(blocks)
        elif obj(body.event.get("message")).get("content"):
            self._begun[_role(body)] = body

    def _message(self, body: Body) -> Iterator[Item]:
        message = obj(body.event.get("message"))
        if _role(body) == "toolResult" and string(message.get("toolCallId")) in self._known:
            return iter(())
        self._current = body
        return Messages(self._reading.slug, body.id, self._asked).items(message, "message")

    def _asked(self, call_id: str, name: str, args: Json, path: str) -> Item | None:
        """Return a call that never ran where it was asked for; those that ran stand where they began."""
        if call_id in self._ran:
            return None
        assert self._current is not None
        result = self._results.get(call_id)
        state = "asked" if result is None and self._reading.is_open else "skipped"
        if result is not None and result.message.get("isError") is not True:
            state = "done"
        asked = Tool(
            0,
            name,
            one_line(args),
            state,
            args=folded(self._reading.slug, self._current.id, path, pretty(args)),
            result=result.excerpt(self._reading.slug) if result else None,
        )
        return held(asked, self._waiting.get(call_id))


@dataclass(frozen=True, slots=True)
class _Result:
    """A tool result that came as a message."""

    event: int
    path: str
    message: Object

    def excerpt(self, slug: str) -> Excerpt:
        text = result_text(dict(self.message))
        return folded(slug, self.event, f"{self.path}.content", text)


def _results(bodies: Sequence[Body]) -> dict[str, _Result]:
    found: dict[str, _Result] = {}
    for body in bodies:
        said = [("message", body.event.get("message"))] if body.type == "MessageEnd" else []
        if body.type == "TurnEnd":
            results = items(body.event.get("tool_results"))
            said = [(f"tool_results.{index}", each) for index, each in enumerate(results)]
        for path, message in said:
            if obj(message).get("role") == "toolResult":
                found.setdefault(string(obj(message).get("toolCallId")), _Result(body.id, path, obj(message)))
    return found


def _asked_for(bodies: Sequence[Body]) -> set[str]:
    return {
        string(obj(part).get("id"))
        for body in bodies
        if body.type in ("MessageEnd", "TurnEnd")
        for part in items(obj(body.event.get("message")).get("content"))
        if obj(part).get("type") == "toolCall"
    }


def _kind(body: Body) -> str:
    """Return what a line counts as, whatever comes later: message, note, or "" for neither."""
    if body.pruned_on is not None:
        return ""
    if body.type == "MessageEnd":
        return "message" if _role(body) != "toolResult" else ""
    is_of_call = body.type == "ProgressMessage" and string(body.event.get("tool_call_id"))
    return "" if body.type in SILENT or is_of_call else "note"


def _role(body: Body) -> str:
    return string(obj(body.event.get("message")).get("role"))


def tool(slug: str, call: Call, bodies: Mapping[int, Body]) -> Tool:
    """Return a tool call with its arguments and results."""
    start, update, end = (bodies.get(pk or 0) for pk in (call.start_event, call.update_event, call.end_event))
    result = end.event.get("result") if end else None
    return replace(
        call.tool,
        args=_whole(slug, start, "args") if start and start.event.get("args") is not None else None,
        partial=_said(slug, update, "partial_result") if update and not end else None,
        result=_said(slug, end, "result") if end else None,
        pictures=pictures(slug, end.id if end else 0, obj(result).get("content")),
    )


def held(call: Tool, since: datetime | None) -> Tool:
    """Return a tool call as one that waits, if it has not ended and a person has yet to let it run."""
    if since is None or call.state not in ("asked", "running"):
        return call
    return replace(call, state="waiting", waiting_since=since)


def _whole(slug: str, body: Body, name: str) -> Excerpt:
    return folded(slug, body.id, name, pretty(body.event.get(name)))


def _said(slug: str, body: Body, name: str) -> Excerpt:
    value = body.event.get(name)
    path = f"{name}.content" if obj(value).get("content") else name
    return folded(slug, body.id, path, result_text(value))
