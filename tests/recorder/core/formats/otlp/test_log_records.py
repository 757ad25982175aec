"""What the plan of log records costs: it does not grow with the square of their number."""

from time import process_time

from recorder.core.formats.otlp.plan import log_records
from recorder.core.formats.otlp.spans.digest import Digest

NAMES = ("codex.user_prompt", "codex.api_request", "codex.sse_event", "codex.tool_result")


def records(number):
    found = []
    for n in range(number):
        at, name = 10**18 + n * 10**9, NAMES[n % len(NAMES)]
        usage = {"total_in": 5, "output": 1} if name == "codex.sse_event" else None
        record = {"id": "", "trace": "", "kind": "note", "is_log": True, "runtime": "codex", "session": "s"}
        found.append(Digest(**record, start=at, end=at, print=f"p{n}", name=name, usage=usage))
    return found


def seconds(number):
    notes, began = records(number), process_time()
    calls = log_records.calls_of(notes)
    tools = log_records.tools_of(notes, calls)
    log_records.add_failures(calls, notes, set())
    assert len(calls) == len(tools) == number // len(NAMES)
    assert len({call.span.prompt for call in calls}) == len(calls)
    return process_time() - began


def test_sixteen_times_the_records_cost_less_than_eighty_times_as_much():
    assert seconds(16_000) < 80 * min(seconds(1_000) for _ in range(3))
