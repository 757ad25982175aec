"""Reads one line, a span or a log record in OTLP/JSON, into a `Digest`: all but its content.

A line is an export request with a single span or record, so that lines can be imported as bodies again.
"""

from __future__ import annotations

import hashlib
from dataclasses import MISSING, dataclass, field, fields
from typing import Literal

from recorder.core.formats import InvalidLineError
from recorder.core.formats.base import Fields, object_field
from recorder.core.formats.otlp.spans import failures, log_records, names, tool_content
from recorder.core.formats.otlp.spans.attributes import (
    decoded_object,
    first,
    first_id,
    first_text,
    hex_id,
    identifier,
    integer,
    mapping,
    plain,
)
from recorder.core.formats.otlp.spans.decisions import decision_of
from recorder.core.formats.otlp.spans.kinds import Kind, kind_of
from recorder.core.formats.otlp.spans.messages import Messages, messages_of
from recorder.core.formats.otlp.spans.request import print_of, request_of
from recorder.core.formats.otlp.spans.response_id import response_id
from recorder.core.formats.otlp.spans.usage import cost_nano, record_cost_nano, usage_of
from recorder.core.records import Json


@dataclass(slots=True, kw_only=True)
class Digest:
    """What the tree of a unit needs of one span or record; times in nanoseconds since 1970."""

    id: str  # of a span its id; of a log record the id of its span, or ""
    trace: str
    parent: str = ""
    kind: Kind = "frame"
    name: str = ""  # of the agent or tool; else of the span
    named: bool = False  # an agent span that names its agent
    start: int = 0
    end: int = 0
    error: str = ""  # why it failed; "" for success
    session: str = ""
    print: str = ""  # fingerprint of the line
    line: int = 0  # journal id
    runtime: str = ""
    service: str = ""
    model: str = ""
    provider: str = ""
    finish: str = ""
    response: str = ""  # the provider's id of the response
    usage: dict[str, int] | None = None  # in our names, `input` without cache; None: none was sent
    calls: list[list[str]] = field(default_factory=list)  # id and name of each tool call of the answer
    results: list[list[Json]] = field(default_factory=list)  # call id and failure of each tool result sent
    new: str = ""  # fingerprint of the new input messages
    request: str = ""  # fingerprint of the system prompt and the tools
    has_text: bool = False  # it has messages
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
    outcome: str = ""  # of our own export: how a loop ended; of a tool `cut`, if it never returned
    tool: str = ""  # of a log record: the name of the tool that it is about
    lasted: int = 0  # of a log record: how long took what it is about, in nanoseconds
    tries: int = 0  # of a model call: how often it was sent

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

    @property
    def messages(self) -> Messages:
        if self._messages is None:
            self._messages = messages_of(self.attributes, self.events, self.digest.runtime)
        return self._messages


Signal = Literal["spans", "logRecords"]
_WRAPPERS: tuple[tuple[str, str, Signal], ...] = (
    ("resourceSpans", "scopeSpans", "spans"),
    ("resourceLogs", "scopeLogs", "logRecords"),
)


def read_item(line: Fields, raw: bytes) -> Item:
    """Read a line.

    Raises:
        InvalidLineError: it is not an export request with one span or log record, or its ids are missing.
    """
    resource, scope, body, signal = _unwrapped(line)
    attributes = mapping(body.get("attributes"))
    events = [
        (str(event.get("name") or ""), mapping(event.get("attributes")))
        for event in _objects(body.get("events"))
    ]
    about = mapping(resource.get("attributes"))
    scope_name = str(scope.get("name") or "")
    digest = Digest(
        id=hex_id(body.get("spanId"), 16),
        trace=hex_id(body.get("traceId"), 32),
        parent=hex_id(body.get("parentSpanId"), 16),
        print=hashlib.blake2b(raw, digest_size=6).hexdigest(),
        runtime=names.runtime_of(scope_name, str(body.get("name") or _event_of(attributes, body))),
        service=identifier(str(about.get("service.name") or "")),
        session=_session_of(attributes),
        is_log=signal == "logRecords",
    )
    item = Item(digest, attributes, events, about, scope_name)
    if signal == "spans":
        _read_span(item, body)
    else:
        _read_record(item, body)
    return item


def _unwrapped(line: Fields) -> tuple[Fields, Fields, Fields, Signal]:
    for outer, inner, signal in _WRAPPERS:
        resources = _objects(line.get(outer))
        if not resources:
            continue
        scopes = _objects(resources[0].get(inner))
        bodies = _objects(scopes[0].get(signal)) if scopes else []
        if len(resources) == len(scopes) == len(bodies) == 1:
            resource = resources[0].get("resource")
            scope = scopes[0].get("scope")
            return (
                resource if isinstance(resource, dict) else {},
                scope if isinstance(scope, dict) else {},
                bodies[0],
                signal,
            )
        break
    raise InvalidLineError("bad_type", "", "a line holds one span or one log record in OTLP/JSON")


def _read_span(item: Item, body: Fields) -> None:
    digest = item.digest
    if not digest.trace:
        raise InvalidLineError("bad_id", "traceId", "a trace id has 32 hex digits that are not all 0")
    if not digest.id:
        raise InvalidLineError("bad_id", "spanId", "a span id has 16 hex digits that are not all 0")
    digest.start, digest.end = _time(body, "startTimeUnixNano"), _time(body, "endTimeUnixNano")
    if not digest.start or digest.end < digest.start:
        digest.end = max(digest.start, digest.end)
    digest.start = digest.start or digest.end
    name = str(body.get("name") or "")
    digest.kind = kind_of(name, item.scope, item.attributes)
    digest.error = failures.of_span(object_field(body, "status"), item.attributes, item.events)
    _describe(item, name)
    _read_export(digest, item.attributes)


def _read_export(digest: Digest, attributes: Fields) -> None:
    """Read what our own export adds to the conventions: what would otherwise be inferred."""
    turn, failed = integer(attributes.get("loopscope.turn")), attributes.get("loopscope.tool.failed")
    digest.turn = -1 if turn is None else turn
    digest.outcome = identifier(first_text(attributes, ("loopscope.outcome",))) or digest.outcome
    if failed is False:
        digest.error = ""


def _read_record(item: Item, body: Fields) -> None:
    """Read a log record. Its kind is `text` if it has messages of a span, else what its event name says."""
    digest, attributes = item.digest, item.attributes
    at = _time(body, "timeUnixNano") or _time(body, "observedTimeUnixNano")
    digest.start = digest.end = at
    event = _event_of(attributes, body)
    digest.name = identifier(event.removeprefix("claude_code."))
    digest.prompt = identifier(first_text(attributes, ("prompt.id", "prompt_id")))
    digest.call = identifier(first_id(attributes, names.CALL_ID))
    digest.kind, digest.decision = "note", decision_of(digest.name, attributes)
    if digest.name in log_records.TOOLS:
        _read_failure(item)
    digest.model = identifier(first_text(attributes, names.MODEL))
    digest.usage = usage_of(attributes, digest.runtime)
    digest.cost_nano = record_cost_nano(attributes)
    log_records.describe(digest, attributes)
    if digest.is_message:
        sent = plain(body.get("body"))
        item.events.append((digest.name, attributes | decoded_object(sent)))
        digest.finish = _finish(item.events[-1][1].get("finish_reason"))
    if digest.is_message or event.endswith("inference.operation.details"):
        _describe_messages(item)
        digest.has_text = True


def _event_of(attributes: Fields, body: Fields) -> str:
    """Return the name of the event that a log record is; Codex's is its body."""
    name = attributes.get("event.name") or body.get("eventName")
    text = object_field(body, "body").get("stringValue")
    return str(name or (text if isinstance(text, str) else ""))


def _describe(item: Item, name: str) -> None:
    """Set the fields of a span that depend on its kind."""
    digest, attributes = item.digest, item.attributes
    digest.owner = (
        identifier(first_text(attributes, ("agent_id",))) if digest.runtime == "claude-code" else ""
    )
    metadata = decoded_object(attributes.get("metadata"))
    step = integer(metadata.get("langgraph_step"))
    digest.step = -1 if step is None or digest.kind != "frame" else step
    digest.prompt = identifier(first_text(attributes, ("gen_ai.prompt.name",)))
    digest.name, digest.decision = identifier(name), decision_of(name, attributes)
    if digest.kind in ("model", "tool"):
        named = first_text(attributes, ("gen_ai.agent.name", "ai.telemetry.functionId", "agent.name"))
        graph = first_text(attributes, ("traceloop.association.properties.lc_agent_name",))
        digest.agent = identifier(first_text(metadata, ("lc_agent_name",)) or graph or named)
    if digest.kind == "agent":
        _describe_agent(item, name, metadata)
    elif digest.kind == "model":
        digest.error = digest.error or failures.of_model_call(attributes)
        digest.model = identifier(first_text(attributes, names.MODEL))
        digest.provider = names.provider_of(attributes)
        digest.finish = _finish(first(attributes, names.FINISH))
        digest.response = response_id(attributes)
        digest.usage = usage_of(attributes, digest.runtime)
        digest.cost_nano = cost_nano(attributes.get(names.COST))
        digest.tries = sum(event == "gen_ai.request.attempt" for event, _ in item.events)
        _describe_messages(item)
    elif digest.kind == "tool":
        _describe_tool(item, name)
    elif digest.runtime == "langchain":
        digest.call = identifier(tool_content.call_id_of_node(attributes))


def _describe_agent(item: Item, name: str, metadata: Fields) -> None:
    digest, attributes = item.digest, item.attributes
    given = first_text(attributes, names.AGENT)
    if digest.runtime in ("openai-agents", "logfire") and not given:
        given = first_text(attributes, ("name",)) if "Agent run" in name else ""
    if digest.runtime in ("claude-code", "codex"):
        given = digest.runtime
        digest.model = identifier(first_text(attributes, names.MODEL))
    digest.named = bool(first_text(attributes, ("agent.name", "graph.node.id"))) or bool(given)
    digest.name = identifier(given or name.removeprefix("invoke_agent ").removesuffix(".run"))
    digest.parent_node = identifier(first_text(attributes, ("graph.node.parent_id",)))
    if not digest.session:
        digest.session = identifier(first_id(metadata, names.METADATA_SESSION))


def _describe_messages(item: Item) -> None:
    digest, found = item.digest, item.messages
    digest.calls = [[identifier(each), identifier(name)] for each, name in found.calls]
    digest.results = [[identifier(str(each["toolCallId"])), bool(each["isError"])] for each in found.results]
    digest.has_text = bool(found.input or found.output)
    digest.request = print_of(request_of(item.attributes, found.system))
    if found.new:
        digest.new = hashlib.blake2b(repr(found.new).encode(errors="replace"), digest_size=6).hexdigest()


def _describe_tool(item: Item, name: str) -> None:
    digest, attributes = item.digest, item.attributes
    given = first_text(attributes, names.TOOL)
    if digest.runtime in ("openai-agents", "logfire"):
        given = given or first_text(attributes, ("name",))
    digest.name = identifier(given or name.removeprefix("execute_tool "))
    digest.call = identifier(tool_content.call_id_of(attributes, digest.runtime))
    digest.child = identifier(first_text(attributes, names.CHILD) or _child_in_arguments(item))
    _read_failure(item)


def _read_failure(item: Item) -> None:
    """Set why a tool failed; one that was cancelled never returned, or was denied, and has not failed."""
    digest = item.digest
    digest.error = digest.error or failures.of_tool(item.attributes, item.events, digest.runtime)
    if failures.is_cancelled(item.attributes, digest.runtime) and not digest.error:
        is_denied = failures.is_denied(item.attributes)
        digest.decision, digest.outcome = (["denied", "", ""], "") if is_denied else ([], "cut")


def _child_in_arguments(item: Item) -> str:
    arguments = tool_content.arguments_of(item.attributes, item.events, item.digest.runtime)
    return first_text(decoded_object(arguments), names.CHILD)


def _session_of(attributes: Fields) -> str:
    found = first_id(attributes, names.SESSION)
    if not found and "metadata" in attributes:
        found = first_id(decoded_object(attributes["metadata"]), names.METADATA_SESSION)
    return identifier(found.strip('"'))


def _finish(value: Json) -> str:
    found = (value or [""])[0] if isinstance(value, list) else value
    return identifier(str(found or ""))[:40]


def _time(body: Fields, name: str) -> int:
    found = integer(body.get(name))
    return found if found is not None and 0 <= found < 253_402_300_799 * 10**9 else 0


def _objects(value: Json) -> list[Fields]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
