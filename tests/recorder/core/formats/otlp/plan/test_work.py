"""Whatever a sender makes of spans, twice as many take at most two and a half times the lines of code run."""

import json

import pytest

from recorder.core.formats.otlp.spans.digest import Digest, Item
from recorder.core.formats.otlp.spans.reading import read_item
from recorder.core.formats.otlp.unit import Unit
from tests.recorder.core.formats.otlp import build
from tests.support.count_calls import count_lines

START, SECOND = 10**18, 10**9
NUMBER = 120
SHAPES = []


def shape(made):
    """Note a function that yields the spans of a shape, of which there are more the greater a number."""
    SHAPES.append(made)
    return made


def span(kind, key, parent="", at=0.0, lasted=1.0, **fields):
    start = START + int(at * SECOND)
    about = {"id": key, "trace": "t", "print": f"{fields.get('trace', 't')} {key}", "name": key}
    times = {"start": start, "end": start + int(lasted * SECOND)}
    return Digest(**about | times | {"kind": kind, "parent": parent} | fields)


def model(key, parent="", at=0.0, lasted=1.0, **fields):
    usage = {"usage": {"total_in": 1, "input": 1, "output": 1}, "model": "m", "has_text": True}
    return span("model", key, parent, at, lasted, **usage | fields)


def note(number, at=0.0, **fields):
    about = {"id": "", "trace": "", "is_log": True}
    return span("note", f"{number}", "", at, 0, **about | fields)


def chain(number, kind="frame", **fields):
    for each in range(number):
        yield span(kind, f"c{each}", f"c{each - 1}" if each else "", each / number, 2, **fields)


@shape
def agents_below_a_chain_of_frames(number):
    yield span("agent", "root", lasted=99)
    yield from chain(number // 2)
    for each in range(number // 2):
        yield span("agent", f"a{each}", f"c{number // 2 - 1}", each)


@shape
def agents_each_below_a_frame_of_a_chain(number):
    yield from chain(number // 2)
    for each in range(number // 2):
        yield span("agent", f"a{each}", f"c{each}", each)


@shape
def frames_with_sums_of_calls_without_usage(number):
    for each in range(number // 2):
        figures = {"usage": {"total_in": 1, "output": 1}}
        yield span("frame", f"c{each}", f"c{each - 1}" if each % 9 else "", each, **figures)
        yield model(f"m{each}", f"c{each}", each, usage=None)


@shape
def servers_of_equal_calls(number):
    about = {"session": "s", "asks": ["x"]}
    for each in range(number // 2):
        yield span("tool", f"c{each}", "root", each, 1, **about)
        yield span("tool", f"s{each}", "", each, 0.5, trace=f"t{each}", is_mcp=True, **about)


@shape
def nested_agents(number):
    yield from chain(number, "agent", named=True)


@shape
def nested_agents_with_a_call(number):
    yield from chain(number, "agent")
    yield model("m", f"c{number - 1}")


@shape
def nested_agents_with_calls(number):
    yield from chain(number // 2, "agent")
    for each in range(number // 2):
        yield model(f"m{each}", f"c{each}", each)


@shape
def agents_and_frames_nested_in_turn(number):
    for each in range(number):
        kind = "agent" if each % 2 else "frame"
        yield span(kind, f"c{each}", f"c{each - 1}" if each else "", each / number, 2)
    yield model("m", f"c{number - 1}")


@shape
def nested_agents_of_wide_ones(number):
    for each in range(number // 4):
        parent = f"c{each - 1}" if each else ""
        yield span("agent", f"c{each}", parent, each / number, 2)
        for place in range(3):
            yield span("frame", f"c{each}-{place}", f"c{each}")


@shape
def a_chain_of_frames_above_tools(number):
    yield from chain(number // 2)
    for each in range(number // 2):
        yield span("tool", f"t{each}", f"c{number // 2 - 1}", each)


@shape
def twin_agents_beside_frames(number):
    for each in range(number // 2):
        yield span("agent", f"a{each}", "root", each)
        yield span("frame", f"f{each}", "root", each, name=f"execute_task x{each}")


@shape
def nested_tools_of_one_name(number):
    for each in range(number):
        yield span("tool", f"t{each}", f"t{each + 1}", each / number, 2, name="bash")


@shape
def tools_of_one_answer(number):
    calls = [[f"k{each}", "bash"] for each in range(number)]
    yield span("agent", "root", lasted=99)
    yield model("m", "root", calls=calls)
    for each in range(number):
        yield span("tool", f"t{each}", "root", each, call=f"k{each}")


@shape
def unnamed_tools_of_one_answer(number):
    yield span("agent", "root", lasted=99)
    yield model("m", "root", calls=[["", "bash"]] * number)
    for each in range(number):
        yield span("tool", f"t{each}", "root", each, name="bash")


@shape
def agents_called_by_one_answer(number):
    yield span("agent", "root", lasted=99)
    yield model("m", "root", calls=[[f"k{each}", f"a{each}"] for each in range(number)])
    for each in range(number):
        yield span("agent", f"a{each}", "root", each + 2)
        yield model(f"m{each}", f"a{each}", each + 2)


@shape
def agents_called_by_none_after_many_turns(number):
    yield span("agent", "root", lasted=999)
    for each in range(number // 2):
        yield model(f"r{each}", "root", each, calls=[[f"k{each}", "other"]])
        yield span("agent", f"a{each}", "root", 500 + each)
        yield model(f"m{each}", f"a{each}", 500 + each)


@shape
def agents_below_tools_of_one_loop(number):
    yield span("agent", "root", lasted=999)
    yield model("m", "root", calls=[[f"k{each}", "task"] for each in range(number)])
    for each in range(number):
        yield span("tool", f"t{each}", "root", each + 2, call=f"k{each}", name="task")
        yield span("agent", f"a{each}", f"t{each}", each + 2)
        yield model(f"m{each}", f"a{each}", each + 2)


@shape
def tools_with_calls_of_their_own(number):
    yield span("agent", "root", lasted=999)
    for each in range(number):
        yield span("tool", f"t{each}", "root", each)
        yield model(f"m{each}", f"t{each}", each)


@shape
def agents_that_hand_over(number):
    for each in range(number):
        yield span("agent", f"a{each}", "gone", 10 * each, 5)
        yield model(f"m{each}", f"a{each}", 10 * each, calls=[[f"k{each}", "transfer_to_agent"]])
        about = {"call": f"k{each}", "name": "transfer_to_agent"}
        yield span("tool", f"t{each}", f"a{each}", 10 * each + 2, **about)


@shape
def clients_beside_calls_of_other_responses(number):
    for each in range(number):
        yield model(f"o{each}", "root", each / number, 9, response=f"r{each}")
        about = {"trace": "c", "runtime": "anthropic", "has_text": False}
        yield model(f"c{each}", "", 2 + each / number, response=f"x{each}", **about)


@shape
def clients_of_other_sessions(number):
    for each in range(number):
        yield model(f"o{each}", "root", each / number, 9, session=f"s{each}")
        about = {"trace": "c", "runtime": "anthropic", "has_text": False}
        yield model(f"c{each}", "", 2 + each / number, session=f"other{each}", **about)


@shape
def clients_below_a_long_call(number):
    yield model("long", "root", 0, 9_999)
    for each in range(number):
        yield model(f"o{each}", "root", each)
        about = {"trace": "c", "runtime": "anthropic", "has_text": False, "response": f"x{each}"}
        yield model(f"c{each}", "", each, **about)


@shape
def records_and_calls_of_one_moment(number):
    for each in range(number):
        call = model(f"m{each}", session="s")
        yield call
        yield note(each, 1, usage=call.usage, has_text=True, session="s", name="x")


@shape
def records_and_calls_of_other_sessions(number):
    for each in range(number):
        call = model(f"m{each}", session=f"s{each}")
        yield call
        yield note(each, 1, usage=call.usage, has_text=True, session="s", name=f"x{each}")


@shape
def reported_calls_and_texts_of_one_moment(number):
    about = {"runtime": "claude-code", "session": "s", "prompt": "p"}
    for each in range(number):
        usage = {"total_in": 1, "input": 1, "output": 1}
        yield note(f"c{each}", 1, name="api_request", usage=usage, model="m", **about)
        yield note(f"t{each}", 1, name="assistant_response", has_text=True, **about)


@shape
def prompts_of_one_session(number):
    usage = {"total_in": 1, "input": 1, "output": 1}
    for each in range(number // 2):
        about = {"runtime": "codex", "session": "s"}
        yield note(f"p{each}", 10 * each, name="codex.user_prompt", **about)
        at = 10 * each + 2
        yield note(f"c{each}", at, name="codex.sse_event", usage=usage, model="m", **about)


@shape
def records_of_one_tool_call(number):
    yield span("agent", "root", lasted=99)
    for each in range(number):
        yield span("tool", f"t{each}", "root", each, call="k")
        yield note(each, each, call="k")


@shape
def tools_of_a_call_that_many_spans_describe(number):
    yield span("agent", "root", lasted=99)
    yield model("m", "root", 0, 9, calls=[[f"k{each}", "bash"] for each in range(number)], response="r")
    for each in range(number):
        yield model(f"m{each}", "m", 0, 9, response="r", usage=None)
        yield span("tool", f"t{each}", "root", each + 9, call=f"k{each}")


@shape
def bare_calls_that_ask_for_one_call(number):
    for each in range(number):
        about = {"trace": f"t{each}", "session": "s"}
        yield model("m", "", each, calls=[["k", "bash"]], **about)


@shape
def bare_calls_with_results_of_one_call(number):
    for each in range(number):
        about = {"trace": f"t{each}", "session": "s"}
        yield model("a", "", each, 2_000, calls=[["k", "bash"]], **about)
        yield model("b", "", number + each, 2_000, **about | {"trace": f"u{each}"}, results=[["k", False]])


@shape
def bare_calls_of_one_prompt(number):
    about = {"session": "s", "prompt": "s", "runtime": "gemini-cli", "calls": [["k", "bash"]]}
    for each in range(number):
        yield model("m", "", 2 * each, trace=f"t{each}", **about)


@shape
def calls_without_an_agent(number):
    for each in range(number // 2):
        yield model(f"m{each}", "gone", each)
        yield span("tool", f"t{each}", f"m{each}", each, 9)
        yield model(f"n{each}", f"t{each}", each, 9)


@shape
def circles(number):
    for each in range(number):
        kind = ("agent", "tool", "frame", "model")[each % 4]
        yield span(kind, f"s{each}", f"s{(each + 1) % number}", each)


def work(digests):
    """Return how many lines of code are run to plan and record spans, whose content is empty."""
    unit = Unit()
    for digest in digests:
        unit.add(digest)
    return count_lines(lambda: unit.new_events(lambda digest: Item(digest, {}, [], {}, "")))


def work_of_results(number):
    """Return how many lines are run to record the results of so many tools that have no spans."""
    calls = [(f"k{each}", "bash", "{}") for each in range(number)]
    results = [build.call_message("k0"), *(build.result(f"k{each}") for each in range(number))]
    lines = [
        build.span(1, name="chat", attributes=build.llm(calls)),
        build.span(2, name="chat", attributes=build.llm(messages=results), at=(2, 3)),
    ]
    items = [read_item(json.loads(line), line) for line in lines]
    for item in items:
        assert item.messages
    unit = Unit()
    for item in items:
        unit.add(item.digest)
    of_print = {item.digest.print: item for item in items}
    events = []
    run = count_lines(lambda: events.extend(unit.new_events(lambda digest: of_print[digest.print])))
    ended = [event for event in events if event["type"] == "ToolExecutionEnd"]
    assert [event["result"]["content"][0]["text"] for event in ended] == ["rain"] * number
    return run


@pytest.mark.parametrize("made", SHAPES, ids=lambda made: made.__name__)
def test_twice_the_spans_take_at_most_two_and_a_half_times_the_work(made):
    few, many = list(made(NUMBER)), list(made(2 * NUMBER))

    assert work(many) <= 2.5 * work(few)


def test_twice_the_results_of_a_request_take_at_most_two_and_a_half_times_the_work():
    assert work_of_results(2 * NUMBER) <= 2.5 * work_of_results(NUMBER)
