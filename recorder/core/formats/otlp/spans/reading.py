"""Reads one line, a span or a log record in OTLP/JSON, into a `Digest`: all but its content.

A line is an export request with a single span or record, so that lines can be imported as bodies again.
"""

from __future__ import annotations

import hashlib
from typing import Literal

from recorder.core.formats import InvalidLineError
from recorder.core.formats.base import Fields, object_field
from recorder.core.formats.otlp.spans import failures, kinds, log_records, names
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
from recorder.core.formats.otlp.spans.content import history
from recorder.core.formats.otlp.spans.content import tools as tool_content
from recorder.core.formats.otlp.spans.content.evaluations import number_of
from recorder.core.formats.otlp.spans.content.request import print_of, request_of
from recorder.core.formats.otlp.spans.decisions import decision_of
from recorder.core.formats.otlp.spans.digest import BY_WORDS, Digest, Item
from recorder.core.formats.otlp.spans.finish import finish_reason
from recorder.core.formats.otlp.spans.response_id import response_id
from recorder.core.formats.otlp.spans.runtimes import runtime_of
from recorder.core.formats.otlp.spans.senders.translation import with_genai_names
from recorder.core.formats.otlp.spans.usage.cost import (
    cost_of_call_nano,
    record_cost_nano,
    reported_cost_nano,
)
from recorder.core.formats.otlp.spans.usage.tokens import usage_of, usage_of_events
from recorder.core.records import Json

TOO_LARGE = "loopscopeTooLarge"  # beside a span whose content was never read: why
_TEXT_OF = {"gen_ai.choice": "message"}  # fields of a record with one message that a plain text is
Signal = Literal["spans", "logRecords"]
_WRAPPERS: tuple[tuple[str, str, Signal], ...] = (
    ("resourceSpans", "scopeSpans", "spans"),
    ("resourceLogs", "scopeLogs", "logRecords"),
)


def read_item(line: Fields, raw: bytes) -> Item:
    """Read a line.

    Raises:
        InvalidLineError: it is not an export request with one span or log record, its ids are missing, or its
            content was left out as too large.
    """
    if isinstance(why := line.get(TOO_LARGE), str):
        raise InvalidLineError("too_large", "", why)
    resource, scope, body, signal = _unwrapped(line)
    attributes = with_genai_names(str(body.get("name") or ""), mapping(body.get("attributes")))
    events = [
        (str(event.get("name") or ""), mapping(event.get("attributes")))
        for event in _objects(body.get("events"))
    ]
    for name, fields in events:
        if name == names.DETAILS:  # it has of a call what may stand on its span
            attributes = fields | attributes
    about = mapping(resource.get("attributes"))
    scope_name = str(scope.get("name") or "")
    digest = Digest(
        id=hex_id(body.get("spanId"), 16),
        trace=hex_id(body.get("traceId"), 32),
        parent=hex_id(body.get("parentSpanId"), 16),
        print=hashlib.blake2b(raw, digest_size=6).hexdigest(),
        runtime=identifier(runtime_of(scope_name, str(body.get("name") or _event_of(attributes, body)))),
        service=identifier(str(about.get("service.name") or "")),
        session=_session_of(attributes) or _session_of(about),
        user=_user_of(attributes) or _user_of(about),
        is_log=signal == "logRecords",
    )
    digest.scope = "" if scope_name == digest.runtime else identifier(scope_name)
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
    digest.is_partial = not digest.end
    if not digest.start or digest.end < digest.start:
        digest.end = max(digest.start, digest.end)
    digest.start = digest.start or digest.end
    name = str(body.get("name") or "")
    digest.kind = kinds.kind_of(name, item.scope, item.attributes)
    if digest.kind == "frame" and kinds.looks_like_a_call(item.attributes, item.events):
        digest.kind, digest.is_guess = "model", True
    elif digest.kind == "frame" and kinds.looks_like_a_tool(item.attributes):
        digest.kind = "tool"
    # Gemini CLI sets success on failed tools, too.
    digest.is_ok = failures.is_success(object_field(body, "status")) and digest.runtime != "gemini-cli"
    digest.error = failures.of_span(object_field(body, "status"), item.attributes, item.events)
    digest.evaluations = number_of("", item.events)
    _describe(item, name)
    _read_export(digest, item.attributes)


def _read_export(digest: Digest, attributes: Fields) -> None:
    """Read what our own export adds to the conventions: what would otherwise be inferred."""
    turn, failed = integer(attributes.get("loopscope.turn")), attributes.get("loopscope.tool.failed")
    digest.turn = -1 if turn is None else turn
    digest.outcome = identifier(first_text(attributes, ("loopscope.outcome",))) or digest.outcome
    if failed is False:
        digest.error = ""
    if digest.kind == "frame" and attributes.get("loopscope.compaction") is True:
        digest.compacted = True


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
    digest.error = digest.error or failures.of_record(event, attributes)
    log_records.describe(digest, attributes)
    digest.evaluations = number_of(event, ())
    if digest.is_message:
        sent = plain(body.get("body"))
        text: Fields = {_TEXT_OF.get(digest.name, "content"): sent} if isinstance(sent, str) else {}
        item.events.append((digest.name, attributes | (decoded_object(sent) or text)))
        digest.finish = finish_reason(item.events[-1][1].get("finish_reason"))
    sent_whole = log_records.messages_in_body(decoded_object(plain(body.get("body"))))
    is_details = bool(sent_whole) or event.endswith("inference.operation.details")
    if is_details:  # its attributes, or until GenAI 1.37 its body, have the messages
        item.events.append((names.DETAILS, sent_whole or decoded_object(plain(body.get("body")))))
        digest.finish = finish_reason(first(attributes, names.FINISH))
        digest.provider = names.provider_of(attributes)
    if digest.is_message or is_details:
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
        _describe_model(item)
    elif digest.kind == "tool":
        _describe_tool(item, name)
    elif kinds.is_guardrail(attributes):
        digest.error = digest.error or ("triggered" if attributes.get("triggered") is True else "")
        digest.outcome = "blocked" if digest.error else ""
    elif item.attributes.get("spring.ai.kind") == "chat_client":
        digest.name = ""  # it is named after the class of the client
    elif attributes.get("gen_ai.operation.name") == "invoke_workflow":
        reported = first_text(attributes, ("gen_ai.workflow.name",))
        digest.name = identifier(reported or name.removeprefix("invoke_workflow "))
    elif digest.runtime == "langchain":
        digest.call = identifier(tool_content.call_id_of_node(attributes))
    if digest.kind == "frame" and kinds.may_report_a_run(attributes):
        _describe_run(item)


def _describe_model(item: Item) -> None:
    digest, attributes = item.digest, item.attributes
    digest.model = identifier(first_text(attributes, names.MODEL).strip('"'))
    digest.provider = names.provider_of(attributes)
    digest.finish = finish_reason(first(attributes, names.FINISH))
    digest.error = digest.error or failures.of_model_call(attributes, digest.finish, is_ok=digest.is_ok)
    digest.response = response_id(attributes)
    digest.usage = usage_of(attributes, digest.runtime) or usage_of_events(item.events, digest.runtime)
    digest.cost_nano = cost_of_call_nano(attributes)
    digest.tries = sum(event == "gen_ai.request.attempt" for event, _ in item.events)
    _describe_messages(item)
    digest.compacted = attributes.get(names.COMPACTED) is True or digest.finish == names.COMPACTION


def _describe_run(item: Item) -> None:
    """Set what a frame reports of a run, as no other span may do."""
    digest, attributes = item.digest, item.attributes
    digest.usage, digest.cost_nano = usage_of(attributes, digest.runtime), reported_cost_nano(attributes)
    if digest.reports_figures:
        digest.model = identifier(first_text(attributes, names.MODEL_CALL))
        digest.provider = names.provider_of(attributes)
        digest.finish = finish_reason(first(attributes, names.FINISH))
        _describe_messages(item)


def _describe_agent(item: Item, name: str, metadata: Fields) -> None:
    digest, attributes = item.digest, item.attributes
    reported = first_text(attributes, names.AGENT)
    if digest.runtime in ("openai-agents", "logfire") and not reported:
        reported = first_text(attributes, ("name",)) if "Agent run" in name else ""
    if digest.runtime in ("claude-code", "codex"):
        reported = digest.runtime
        digest.model = identifier(first_text(attributes, names.MODEL))
    digest.named = bool(first_text(attributes, ("agent.name", "graph.node.id"))) or bool(reported)
    if name.startswith(kinds.ADK_AGENT):
        name = name.removeprefix(kinds.ADK_AGENT).removesuffix("]")
    digest.name = identifier(reported or name.removeprefix("invoke_agent ").removesuffix(".run"))
    digest.model = digest.model or identifier(first_text(attributes, names.MODEL_CALL))
    digest.provider = names.provider_of(attributes)
    digest.usage, digest.cost_nano = usage_of(attributes, digest.runtime), reported_cost_nano(attributes)
    digest.finish = finish_reason(first(attributes, names.FINISH))
    _describe_messages(item)
    digest.parent_node = identifier(first_text(attributes, ("graph.node.parent_id",)))
    if not digest.session:
        digest.session = identifier(first_id(metadata, names.METADATA_SESSION))


def _describe_messages(item: Item) -> None:
    digest, found = item.digest, item.messages
    digest.calls = [[identifier(each), identifier(name)] for each, name in found.calls]
    digest.hosted = [[place, bool(each.get("isError"))] for place, each in sorted(found.hosted.items())]
    digest.results = [
        [identifier(str(each["toolCallId"])), BY_WORDS if "byWords" in each else bool(each["isError"])]
        for each in found.results
    ]
    digest.finish = digest.finish or finish_reason(found.finish)
    digest.opening, digest.answer = history.opening_of(found), history.answer_of(found)
    digest.asks, digest.answers = history.asks_of(found), history.answers_of(found)
    digest.has_text, digest.is_whole = bool(found.input or found.output), found.is_whole
    digest.request = print_of(request_of(item.attributes, found.system))
    if found.new:
        digest.new = hashlib.blake2b(repr(found.new).encode(errors="replace"), digest_size=6).hexdigest()


def _describe_tool(item: Item, name: str) -> None:
    digest, attributes = item.digest, item.attributes
    reported = first_text(attributes, names.TOOL)
    if digest.runtime in ("openai-agents", "logfire"):
        reported = reported or first_text(attributes, ("name",))
    digest.name = identifier(reported or tool_content.name_in(name))
    digest.call = identifier(tool_content.call_id_of(attributes, digest.runtime))
    digest.is_mcp = kinds.is_mcp(attributes)
    if digest.is_mcp:
        ids = first_id(attributes, names.MCP_SESSION), first_id(attributes, names.MCP_REQUEST)
        digest.request_id = identifier(" ".join(ids)) if all(ids) else ""
    arguments = tool_content.arguments_of(attributes, item.events, digest.runtime)
    digest.asks = history.asks_of_tool(digest.name, arguments)
    digest.child = identifier(first_text(attributes, names.CHILD) or _child_in_arguments(item))
    _read_failure(item)


def _read_failure(item: Item) -> None:
    """Set why a tool failed; one that was cancelled never returned, or was denied, and has not failed."""
    digest = item.digest
    about = item.attributes, item.events, digest.runtime
    digest.error = digest.error or failures.of_tool(*about, is_ok=digest.is_ok)
    if failures.is_cancelled(item.attributes, digest.runtime) and not digest.error:
        is_denied = failures.is_denied(item.attributes)
        digest.decision, digest.outcome = (["denied", "", ""], "") if is_denied else ([], "cut")


def _child_in_arguments(item: Item) -> str:
    arguments = tool_content.arguments_of(item.attributes, item.events, item.digest.runtime)
    return first_text(decoded_object(arguments), names.CHILD)


def _session_of(attributes: Fields) -> str:
    found = first_id(attributes, names.SESSION) or _id_of_metadata(attributes, names.METADATA_SESSION)
    thread = first_id(attributes, names.THREAD)  # a number is the id of a thread of the operating system
    return identifier((found or ("" if thread.isdecimal() else thread)).strip('"'))


def _user_of(attributes: Fields) -> str:
    found = first_id(attributes, names.USER) or _id_of_metadata(attributes, names.METADATA_USER)
    return identifier(found.strip('"'))


def _id_of_metadata(attributes: Fields, fields: tuple[str, ...]) -> str:
    """Return the first of some fields of the JSON objects of metadata that is an id."""
    for name in names.METADATA:
        if name in attributes and (found := first_id(decoded_object(attributes[name]), fields)):
            return found
    return ""


def _time(body: Fields, name: str) -> int:
    found = integer(body.get(name))
    return found if found is not None and 0 <= found < 253_402_300_799 * 10**9 else 0


def _objects(value: Json) -> list[Fields]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
