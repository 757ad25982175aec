"""What the plan of log records costs: it does not grow with the square of their number."""

from recorder.core.formats.otlp.plan import log_records
from recorder.core.formats.otlp.spans.digest import Digest
from tests.support.count_calls import count_lines

NAMES = ("codex.user_prompt", "codex.api_request", "codex.sse_event", "codex.tool_result")


def records(number):
    found = []
    for n in range(number):
        at, name = 10**18 + n * 10**9, NAMES[n % len(NAMES)]
        usage = {"total_in": 5, "output": 1} if name == "codex.sse_event" else None
        record = {"id": "", "trace": "", "kind": "note", "is_log": True, "runtime": "codex", "session": "s"}
        found.append(Digest(**record, start=at, end=at, print=f"p{n}", name=name, usage=usage))
    return found


def plan(notes):
    calls = log_records.calls_of(notes)
    tools = log_records.tools_of(notes, calls)
    log_records.add_failures(calls, notes, set())
    assert len(calls) == len(tools) == len(notes) // len(NAMES)
    assert len({call.span.prompt for call in calls}) == len(calls)


def test_four_times_the_records_take_at_most_six_times_the_work():
    few, many = records(200), records(800)

    assert count_lines(plan, many) < 6 * count_lines(plan, few)
