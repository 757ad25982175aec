"""Converts the recorded lines of a turn to items for display. Pure.

Invariant: items are in recorded order and nothing is shown twice, although the wire repeats content:

- an answer is taken from MessageEnd; the copy in TurnEnd is used only if no assistant message ended before
  it;
- a tool call is shown where it started; one that never started is shown at the request in its message;
- a tool result message is shown only if no call with its id is in the turn;
- a message that never ended is shown from its start, or from its streamed blocks.

Cost: O(lines + calls), except that each compaction start and each streamed message may scan the later lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime

from dashboard.live.queries.streaming_text import Block
from dashboard.pages.session.conversation import fold_messages
from dashboard.pages.session.conversation.fold_messages import Address, LineItems
from dashboard.pages.session.conversation.items import CompactionDivider, CutOff, Groups, Item, Question, Tool
from dashboard.pages.session.conversation.messages import Messages, pictures
from dashboard.pages.session.conversation.notes import SILENT, note
from dashboard.pages.session.events.bodies import (
    Body,
    Excerpt,
    Object,
    folded,
    items,
    obj,
    pretty,
    result_text,
    string,
)
from dashboard.web import links
from recorder.core.content.text import one_line
from recorder.core.records import Json

TRIGGERS = {  # words of a turn's head
    "User": "started by the user",
    "SubAgent": "started by a sub-agent",
    "Continuation": "after tool results",
    "Branch": "started by a branch",
}
STOPS = {
    "length": "The answer reached its length limit",
    "maxTurns": "The turn limit was reached",
    "userStop": "Stopped by the user",
    "aborted": "Aborted",
    "guardRail": "Stopped by a guard rail",
    "contextCompacted": "Stopped to compact the context",
    "paused": "Paused",
    "handoff": "Handed over",
}


@dataclass(frozen=True, slots=True)
class Call:
    """The record of a tool call and the events that hold its bodies."""

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
    """Calls that are not read; their groups are shown before event `until`, where the visible calls begin."""

    groups: Groups
    until: int


@dataclass(slots=True)
class Reading:
    """The lines of a part of a loop with their calls, blocks and approvals.

    Calls without lines are not shown.
    """

    slug: str
    bodies: Sequence[Body]
    calls: Sequence[Call] = ()
    blocks: Mapping[int, tuple[Block, ...]] = field(default_factory=dict)  # by the first event of the message
    is_open: bool = False
    questions: Mapping[int, Question] = field(default_factory=dict)  # by the event of the request
    folded: Folded | None = None
    is_group: bool = False  # a group of calls, followed by other calls
    address: Address | None = None  # the URL of passages; without it nothing is folded

    def items(self) -> list[Item]:
        """Return the items to show."""
        return _Reader(self).read()

    def passage(self, first: int, last: int) -> Sequence[Item]:
        """Return the content of the passage from event `first` to event `last`.

        Raises LookupError if there is none.
        """
        assert self.address is not None
        return fold_messages.passage_content(_Reader(self).lines(), first, last, self.address)

    @property
    def pruned_on(self) -> date | None:
        """Return the last day on which bodies of these lines were pruned."""
        return max((body.pruned_on for body in self.bodies if body.pruned_on), default=None)

    def streaming(self) -> tuple[Block, ...]:
        """Return the blocks of the last message if it is streaming or was interrupted."""
        if self.is_group:
            return ()
        return (
            self.blocks[max(self.blocks)] if self.blocks and not self._is_superseded(max(self.blocks)) else ()
        )

    def trigger(self, triggered_by: str, ordinal: int) -> str:
        """Return the words for what started the turn, "" if unknown.

        A continuation is the first turn of its loop, or follows a message of the user, or tool results.
        """
        if triggered_by == "Continuation" and not ordinal:
            return "continued"
        if triggered_by == "Continuation" and any(_role(body) == "user" for body in self.bodies):
            return "after a message"
        return TRIGGERS.get(triggered_by, "")

    def _is_superseded(self, message: int) -> bool:
        """Return whether another message follows the one whose first event is `message`."""
        return any(body.id > message and body.type in ("MessageStart", "MessageEnd") for body in self.bodies)


class _Reader:
    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._by_event = {call.events[0]: call for call in reading.calls if call.events}
        self._ran = {call.tool_call_id for call in reading.calls}
        self._bodies = {body.id: body for body in reading.bodies if body.pruned_on is None}
        self._results = _results(reading.bodies)
        self._call_ids = self._ran | _requested_calls(reading.bodies)
        self._questions = {
            body.id: reading.questions[body.id] for body in reading.bodies if body.id in reading.questions
        }
        self._waiting = {
            question.tool_call_id: question.since
            for question in self._questions.values()
            if question.is_open and question.tool_call_id and not question.is_stale
        }
        self._has_answer = False
        self._begun: dict[str, Body] = {}  # messages that started and have not ended, by role
        self._current: Body | None = None

    def read(self) -> list[Item]:
        lines, address = self.lines(), self._reading.address
        items = (
            fold_messages.fold_runs(lines, address)
            if address
            else (item for line in lines for item in line.items)
        )
        read_items = list(items)
        for body in self._begun.values():
            read_items += self._message(body)
        return read_items

    def lines(self) -> list[LineItems]:
        """Return the items of each line."""
        folded = self._reading.folded
        lines: list[LineItems] = []
        for body in self._reading.bodies:
            if folded and body.id >= folded.until:
                lines.append(LineItems(body, [folded.groups], parts=True))
                folded = None
            parts = body.id in self._by_event or body.id in self._questions
            lines.append(LineItems(body, list(self._items(body)), "" if parts else _kind(body), parts=parts))
        return lines

    def _items(self, body: Body) -> Iterator[Item]:
        call, question = self._by_event.get(body.id), self._questions.get(body.id)
        if call is not None:
            drawn = tool(self._reading.slug, call, self._bodies)
            yield with_waiting(drawn, self._waiting.get(call.tool_call_id))
        elif question is not None:
            yield question
        elif body.pruned_on is None:
            yield from self._event_items(body)

    def _event_items(self, body: Body) -> Iterator[Item]:
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
                    yield CompactionDivider(state, url=links.compaction_of(self._reading.slug, body.id))
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
        if _role(body) == "toolResult" and string(message.get("toolCallId")) in self._call_ids:
            return iter(())
        self._current = body
        return Messages(self._reading.slug, body.id, self._requested_call).items(message, "message")

    def _requested_call(self, call_id: str, name: str, args: Json, path: str) -> Item | None:
        """Return the item of a requested call that never ran, None for calls that ran."""
        if call_id in self._ran:
            return None
        assert self._current is not None
        result = self._results.get(call_id)
        state = "requested" if result is None and self._reading.is_open else "skipped"
        if result is not None and result.message.get("isError") is not True:
            state = "done"
        call = Tool(
            0,
            name,
            one_line(args),
            state,
            args=folded(self._reading.slug, self._current.id, path, pretty(args)),
            result=result.excerpt(self._reading.slug) if result else None,
        )
        return with_waiting(call, self._waiting.get(call_id))


@dataclass(frozen=True, slots=True)
class _Result:
    """A tool result sent as a message."""

    event: int
    path: str
    message: Object

    def excerpt(self, slug: str) -> Excerpt:
        text = result_text(dict(self.message))
        return folded(slug, self.event, f"{self.path}.content", text)


def _results(bodies: Sequence[Body]) -> dict[str, _Result]:
    result_of: dict[str, _Result] = {}
    for body in bodies:
        messages = [("message", body.event.get("message"))] if body.type == "MessageEnd" else []
        if body.type == "TurnEnd":
            results = items(body.event.get("tool_results"))
            messages = [(f"tool_results.{index}", message) for index, message in enumerate(results)]
        for path, message in messages:
            if obj(message).get("role") == "toolResult":
                call = string(obj(message).get("toolCallId"))
                result_of.setdefault(call, _Result(body.id, path, obj(message)))
    return result_of


def _requested_calls(bodies: Sequence[Body]) -> set[str]:
    return {
        string(obj(part).get("id"))
        for body in bodies
        if body.type in ("MessageEnd", "TurnEnd")
        for part in items(obj(body.event.get("message")).get("content"))
        if obj(part).get("type") == "toolCall"
    }


def _kind(body: Body) -> str:
    """Return the kind under which a line is counted: message, note, or "" for neither.

    The kind depends on the line alone, so that passages keep their bounds when lines are appended.
    """
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
        partial=_result_excerpt(slug, update, "partial_result") if update and not end else None,
        result=_result_excerpt(slug, end, "result") if end else None,
        pictures=pictures(slug, end.id if end else 0, obj(result).get("content")),
    )


def with_waiting(call: Tool, since: datetime | None) -> Tool:
    """Return a tool call with state "waiting" if it has not ended and waits for approval since `since`."""
    if since is None or call.state not in ("requested", "running"):
        return call
    return replace(call, state="waiting", waiting_since=since)


def _whole(slug: str, body: Body, name: str) -> Excerpt:
    return folded(slug, body.id, name, pretty(body.event.get(name)))


def _result_excerpt(slug: str, body: Body, name: str) -> Excerpt:
    value = body.event.get(name)
    path = f"{name}.content" if obj(value).get("content") else name
    return folded(slug, body.id, path, result_text(value))
