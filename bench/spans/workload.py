"""Workload of OTLP: export requests in protobuf, as the SDKs of agent frameworks send them.

`runs` are traces of six turns with a tool call each, by the GenAI conventions; `long` has 100 turns a trace;
`history` repeats a text of 98 kB in 20 ancestors of a call; `noise` sends 600 spans of no agent for each
prompt.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from bench.support.workload import WORDS, Batch

TEXT_BYTES, HISTORY_BYTES, ANCESTORS, NOISE = 780, 98_000, 20, 600
HISTORY = 8  # messages that a call repeats at most
START_NS = 1_790_000_000 * 10**9
WORKLOADS = ("runs", "long", "noise", "history")


def bodies(workload: str, sender: str, spans: int, size: int) -> list[Batch]:
    """Return about `spans` spans of one sender, `size` to a body."""
    chance = random.Random(f"{workload} {sender}")
    made = _SPANS[workload](chance)
    batches, first = [], 0
    while first < spans:
        request = ExportTraceServiceRequest()
        resource = request.resource_spans.add()
        resource.resource.attributes.append(_pair("service.name", "bench"))
        scope = resource.scope_spans.add()
        scope.scope.name = "pydantic-ai"
        scope.spans.extend(next(made) for _ in range(size))
        batches.append(Batch(sender, first, size, request.SerializeToString()))
        first += size
    return batches


def _runs(chance: random.Random, turns: int = 6) -> Iterator[Span]:
    """Yield runs: in each, model calls and tools as they end, then their agent."""
    at = START_NS + chance.randrange(10**15)
    while True:
        trace, agent, begun = chance.randbytes(16), chance.randbytes(8), at
        history: list[dict[str, Any]] = [_message("user", text=_text(chance))]
        for turn in range(turns):
            call, result = chance.randbytes(6).hex(), _text(chance)
            answer = _answer(chance, call)
            yield _span(trace, chance.randbytes(8), agent, "chat", at, at + 10**9, {
                "gen_ai.operation.name": "chat",
                "gen_ai.request.model": "claude-sonnet-4-6",
                "gen_ai.provider.name": "anthropic",
                "gen_ai.response.id": f"msg_{chance.randbytes(12).hex()}",
                "gen_ai.usage.input_tokens": 900 * (turn + 1),
                "gen_ai.usage.output_tokens": 120,
                "gen_ai.input.messages": json.dumps(history),
                "gen_ai.output.messages": json.dumps([answer]),
            })  # fmt: skip
            yield _span(trace, chance.randbytes(8), agent, "execute_tool", at + 10**9, at + 2 * 10**9, {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "grep",
                "gen_ai.tool.call.id": call,
                "gen_ai.tool.call.result": result,
            })  # fmt: skip
            history += [answer, _message("tool", type="tool_call_response", id=call, response=result)]
            del history[1 : 1 - HISTORY]
            at += 3 * 10**9
        values = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "bench"}
        yield _span(trace, agent, b"", "invoke_agent bench", begun, at, values)


def _answer(chance: random.Random, call: str) -> dict[str, Any]:
    asks = {"type": "tool_call", "id": call, "name": "grep", "arguments": {"pattern": _text(chance)[:60]}}
    return {"role": "assistant", "parts": [{"type": "text", "content": _text(chance)}, asks]}


def _history(chance: random.Random) -> Iterator[Span]:
    """Yield runs whose last answer is in each of the spans around it."""
    at = START_NS + chance.randrange(10**15)
    while True:
        trace, ids = chance.randbytes(16), [chance.randbytes(8) for _ in range(ANCESTORS)]
        answer = json.dumps([_message("assistant", text=chance.randbytes(HISTORY_BYTES // 2).hex())])
        values = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m",
            "gen_ai.usage.input_tokens": 900,
            "gen_ai.usage.output_tokens": 24_000,
            "gen_ai.output.messages": answer,
        }
        yield _span(trace, chance.randbytes(8), ids[-1], "chat m", at, at + 10**9, values)
        for depth in range(ANCESTORS - 1, -1, -1):
            above = ids[depth - 1] if depth else b""
            yield _span(trace, ids[depth], above, "step", at, at + 10**9, {"output.value": answer})
        at += 10**10


def _noise(chance: random.Random) -> Iterator[Span]:
    """Yield one model call among many spans of a program."""
    runs = _runs(chance)
    while True:
        call = next(runs)
        yield call
        for number in range(NOISE):
            at = call.start_time_unix_nano + number
            yield _span(call.trace_id, chance.randbytes(8), b"", "poll", at, at + 1000, {"thread.id": number})


def _span(
    trace: bytes, key: bytes, above: bytes, name: str, start: int, end: int, values: dict[str, Any]
) -> Span:
    return Span(
        trace_id=trace,
        span_id=key,
        parent_span_id=above,
        name=name,
        start_time_unix_nano=start,
        end_time_unix_nano=end,
        attributes=[_pair(key, value) for key, value in values.items()],
    )


def _pair(key: str, value: str | int) -> KeyValue:
    found = AnyValue(int_value=value) if isinstance(value, int) else AnyValue(string_value=value)
    return KeyValue(key=key, value=found)


def _message(role: str, text: str = "", **part: Any) -> dict[str, Any]:
    return {"role": role, "parts": [part or {"type": "text", "content": text}]}


def _text(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=TEXT_BYTES // 5))


_SPANS = {"runs": _runs, "long": lambda chance: _runs(chance, 100), "noise": _noise, "history": _history}
