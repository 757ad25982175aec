"""Spans for tests, and the loops that a set of them gives in any order of arrival."""

import itertools
import json
import random

from recorder.core.formats.otlp.joining import home_of, keys_of
from recorder.core.formats.otlp.spans.reading import read_item
from recorder.core.formats.otlp.unit import Unit

SECOND = 10**9
START = 1_771_000_000 * SECOND
OPENINFERENCE = "openinference.instrumentation."
ANTHROPIC = "com.anthropic.sdk.python"


def span(number, parent=None, name="span", at=(0, 1), attributes=None, **about):
    """Return the line of a span; `at` is when it begins and ends, in seconds."""
    begin, end = at
    body = {
        "traceId": (about.get("trace", "aa") * 16)[:32],
        "spanId": f"{number:016x}",
        "name": name,
        "startTimeUnixNano": str(START + int(begin * SECOND)),
        "endTimeUnixNano": str(START + int(end * SECOND)),
        "attributes": _attributes(attributes or {}),
    }
    if parent:
        body["parentSpanId"] = f"{parent:016x}"
    if "error" in about:
        body["status"] = {"code": 2, "message": about["error"]}
    scope = {"scope": {"name": about.get("scope", "test")}, "spans": [body]}
    resource = {"attributes": _attributes({"service.name": about.get("service", "svc")})}
    return json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}).encode()


def _attributes(plain):
    kinds = {str: "stringValue", int: "intValue"}
    return [{"key": name, "value": {kinds[type(each)]: each}} for name, each in plain.items()]


def llm(calls=(), messages=(), **given):
    """Return the attributes of an OpenInference model span: its tool calls, and its input messages."""
    found = {
        "openinference.span.kind": "LLM",
        "llm.model_name": "m",
        "llm.token_count.prompt": 4,
        "llm.token_count.completion": 2,
    }
    for place, (call_id, name, arguments) in enumerate(calls):
        path = f"llm.output_messages.0.message.tool_calls.{place}.tool_call"
        found[f"{path}.id"] = call_id
        found[f"{path}.function.name"] = name
        found[f"{path}.function.arguments"] = arguments
    for place, message in enumerate(messages):
        found |= {f"llm.input_messages.{place}.message.{name}": each for name, each in message.items()}
    return found | given


def result(call_id, content="rain"):
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def call_message(call_id, name="get_weather", arguments="{}"):
    """Return the message of an assistant that asked for a tool call, as a later call is sent it."""
    path = "tool_calls.0.tool_call"
    return {
        "role": "assistant",
        f"{path}.id": call_id,
        f"{path}.function.name": name,
        f"{path}.function.arguments": arguments,
    }


def loops(lines, orders=3):
    """Return the loops of some lines, which must be the same in any order of arrival."""
    wanted = _loops(lines)
    shuffled = [lines[::-1], *(random.Random(seed).sample(lines, len(lines)) for seed in range(orders))]
    for order in shuffled:
        assert _loops(order) == wanted
        assert _loops([*order, *lines]) == wanted
    return wanted


def _loops(lines):
    units = []
    for line in lines:
        item = read_item(json.loads(line), line)
        names = {home_of(item.digest), *keys_of(item.digest)}
        items, unit = {}, Unit()
        for other in [other for other in units if other[0] & names]:
            names |= other[0]
            items |= other[1]
            unit.absorb(other[2])
            units.remove(other)
        items[item.digest.print] = item
        unit.add(item.digest)
        events = unit.new_events(lambda digest, items=items: items[digest.print])
        assert all(events)
        unit = Unit(json.loads(json.dumps(unit.state)))
        units.append((names, items, unit))
    found = []
    for _, items, unit in units:
        whole = Unit({"spans": unit.state["spans"]})
        events = whole.new_events(lambda digest, items=items: items[digest.print])
        assert {key: each.session for key, each in whole.recorded.items()} == {
            key: each.session for key, each in unit.recorded.items()
        }
        found += [_loop(key, events) for key in whole.recorded]
    return sorted(found, key=json.dumps)


def _loop(key, events):
    own = [event for event in events if event.get("loop_id") == key]
    by_type = {kind: list(each) for kind, each in itertools.groupby(sorted(own, key=_type), key=_type)}
    (start,) = by_type["AgentStart"]
    return {
        "session": start["session_id"],
        "agent": start.get("agent_id"),
        "turns": len(by_type.get("TurnStart", [])),
        "tools": sorted(
            [each["tool_call_id"], each.get("is_error", False)]
            for each in by_type.get("ToolExecutionEnd", [])
        ),
    }


def _type(event):
    return event["type"]
