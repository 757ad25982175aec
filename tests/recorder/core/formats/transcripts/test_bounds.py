"""The work for a line of a transcript grows with the line, and the state of a reader has bounds."""

import json
from datetime import UTC, datetime

import pytest

from recorder.core.formats import InvalidLineError
from recorder.core.formats.registry import READERS
from recorder.core.formats.transcripts.claude_code.tracks import TRACKS_MAX
from tests.support.count_calls import count_calls

AT = datetime(2026, 11, 22, 15, tzinfo=UTC)
STAMP = "2026-11-22T15:00:00.000Z"
STATE_MAX = 300_000  # bytes


def reader(form, state=None):
    return READERS[form](state, "key", lambda _session: 1)


def claude(kind, uuid, **fields):
    return {"type": kind, "uuid": uuid, "sessionId": "s", "timestamp": STAMP, **fields}


def prompt(uuid="p", **fields):
    return claude("user", uuid, message={"role": "user", "content": f"Do {uuid}"}, **fields)


def answer(uuid, *blocks, key="m", stop="tool_use", **fields):
    message = {"id": key, "role": "assistant", "model": "claude-sonnet-4-5", "content": [*blocks]}
    message |= {"stop_reason": stop, "usage": {"input_tokens": 1, "output_tokens": 2}}
    return claude("assistant", uuid, message=message, requestId=f"r{key}", **fields)


def use(number):
    return {"type": "tool_use", "id": f"c{number}", "name": "Bash", "input": {"command": "ls"}}


def one_line(count):
    return [prompt(), answer("a", *map(use, range(count)))]


def one_line_each(count):
    return [prompt(), *(answer(f"a{n}", use(n)) for n in range(count))]


def agents(count):
    return [
        prompt(),
        *(
            line
            for n in range(count)
            for line in (
                prompt(f"p{n}", agentId=f"g{n}", isSidechain=True),
                answer(f"a{n}", {"type": "text", "text": "x"}, key=f"m{n}", stop="end_turn", agentId=f"g{n}"),
            )
        ),
    ]


def chains(count):
    """Sub-agents of older releases, whose lines have no id."""
    return [prompt(), *(prompt(f"p{n}", isSidechain=True, parentUuid=f"p{n - 1}") for n in range(count))]


def prompts(count):
    end = {"type": "text", "text": "x"}
    return [
        line
        for n in range(count)
        for line in (prompt(f"p{n}"), answer(f"a{n}", end, key=f"m{n}", stop="end_turn"))
    ]


def texts(count):
    """One answer in many long blocks of text."""
    return [
        prompt(),
        *(answer(f"a{n}", {"type": "text", "text": "x" * 1_000}) for n in range(count)),
    ]


def forks(count):
    return [prompt(), *(claude("fork-context-ref", f"f{n}", agentId=f"g{n}") for n in range(count))]


def requests(count):
    """Shapes, messages and requests, of which no answer takes any."""
    return [
        line
        for n in range(count)
        for line in (
            claude("api-request-shape", f"s{n}", shapeHash=f"h{n}", shape={"system": [{"text": "x" * 900}]}),
            claude("api-request-blob", f"b{n}", hash=f"b{n}", message={"role": "user", "content": "x" * 99}),
            claude("api-request", f"q{n}", id=f"q{n}", shapeHash=f"h{n}", tail=[f"b{n}"], base=f"q{n - 1}"),
        )
    ]


SHAPES = (one_line, one_line_each, agents, chains, prompts, texts, forks)


def read(lines):
    """Read lines as they are read one by one: the state is stored and loaded in between."""
    found, state = [], None
    for line in lines:
        one = reader("claude-code", state)
        found += one.read(line, AT).events
        state = json.loads(json.dumps(one.state))
    return found, state


@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_lines_take_at_most_two_and_a_half_times_the_work(shape):
    once = count_calls(lambda: read(shape(400)))
    twice = count_calls(lambda: read(shape(800)))

    assert twice <= 2.5 * once


@pytest.mark.parametrize("shape", SHAPES)
def test_the_state_has_bounds(shape):
    _, state = read(shape(1_200))

    assert len(json.dumps(state)) < STATE_MAX


def read_at_once(lines):
    """Return the reader of lines whose state is not stored in between."""
    one = reader("claude-code")
    for line in lines:
        one.read(line, AT)
    return one


def test_the_state_of_requests_without_answers_has_bounds():
    one = read_at_once(requests(1_200))

    assert len(json.dumps(one.state)) < STATE_MAX


def test_twice_the_requests_take_at_most_two_and_a_half_times_the_work():
    once = count_calls(lambda: read_at_once(requests(400)))
    twice = count_calls(lambda: read_at_once(requests(800)))

    assert twice <= 2.5 * once


def test_a_fork_without_an_agent_hides_no_answer():
    one = reader("claude-code")
    for line in (claude("fork-context-ref", "f"), prompt()):
        one.read(line, AT)

    assert one.read(answer("a", {"type": "text", "text": "Done"}), AT).events


def test_a_file_of_too_many_agents_that_run_at_once_is_refused():
    one = reader("claude-code")
    one.read(prompt(), AT)
    for n in range(TRACKS_MAX - 1):
        one.read(answer(f"a{n}", use(n), agentId=f"g{n}"), AT)

    with pytest.raises(InvalidLineError) as refused:
        one.read(answer("b", use(0), agentId="one more"), AT)
    assert (refused.value.code, refused.value.path) == ("too_large", "agentId")
    assert one.read(answer("c", use(TRACKS_MAX), agentId="g1"), AT).events


def test_an_answer_that_an_earlier_release_held_back_is_written():
    """The state between two lines, as the release before wrote it."""
    call = {"type": "toolCall", "id": "c1", "name": "Bash", "arguments": {"command": "ls"}}
    loop = {"session_id": "s", "loop_id": "s.p", "turn": 0, "key": "m", "model": "claude-sonnet-4-5"}
    loop |= {"provider": "anthropic", "stop": "tool_use", "error": "", "blocks": [call], "text": ""}
    loop |= {"calls": {}, "usage": {"input": 1, "output": 2}, "total": {}, "cost": -1.0}
    loop |= {"has_answered": False, "at": STAMP, "answered_at": STAMP, "request": "", "missed": ""}
    state = {
        "tracks": {"": loop | {"result_at": "", "held": {}}},
        "prompts": {},
        "compacting": False,
        "chains": {},
    }
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "ok"}

    events = (
        reader("claude-code", state)
        .read(claude("user", "u", message={"role": "user", "content": [result]}), AT)
        .events
    )

    assert [event["type"] for event in events] == ["MessageEnd", "ToolExecutionStart", "ToolExecutionEnd"]
