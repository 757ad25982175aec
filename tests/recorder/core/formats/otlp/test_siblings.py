"""One call that two instrumentations report beside each other, or that only an agent's span counts."""

import json

import pytest

from tests.recorder.core.formats.otlp.build import loops
from tests.recorder.core.formats.otlp.build import span as line
from tests.recorder.core.formats.otlp.spans.lines import events, of_type, span

AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}
CALL = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5"}
TOKENS = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 5}
OPENINFERENCE = "openinference.instrumentation.openai"
OPENTELEMETRY = "opentelemetry.instrumentation.openai_v2"


def text(words, role="output"):
    message = {"role": "assistant", "parts": [{"type": "text", "content": words}]}
    return {f"gen_ai.{role}.messages": json.dumps([message])}


def agent(attributes=()):
    return span(AGENT | dict(attributes), name="invoke_agent a", to=20)


def call(number, attributes=(), at=1.0, to=3.0, scope=OPENINFERENCE, **more):
    return span(CALL | dict(attributes), number=number, parent=1, at=at, to=to, scope=scope, **more)


def turns(*items):
    """Return input and output of each turn, and its cost; None is unknown."""
    assert events(items[::-1]) == events(items)
    return [
        (*(each["usage"][name] for name in ("input", "output")), each.get("cost"))
        if each.get("has_usage", True)
        else None
        for each in of_type(items, "TurnEnd")
    ]


@pytest.mark.parametrize("other", [TOKENS, TOKENS | text("hi"), text("hi"),
                                   TOKENS | {"gen_ai.response.model": "gpt-5-2026-01-01"}])  # fmt: skip
def test_spans_of_two_instrumentations_beside_each_other_are_one_call(other):
    outer = call(2, TOKENS | text("hi"))
    assert turns(agent(), outer, call(3, other, 1.1, 2.9, OPENTELEMETRY)) == [(10, 5, None)]
    assert turns(agent(), call(2, other), call(3, TOKENS | text("hi"), 1.1, 2.9, OPENTELEMETRY)) == [
        (10, 5, None)
    ]


@pytest.mark.parametrize("other", [
    {"attributes": TOKENS | text("hi"), "scope": OPENINFERENCE},
    {"attributes": TOKENS | text("ho")},
    {"attributes": TOKENS | {"gen_ai.usage.output_tokens": 6}},
    {"attributes": TOKENS | {"gen_ai.request.model": "o9"}},
    {"attributes": TOKENS | {"user.id": "u2"}},
    {"attributes": TOKENS, "to": 3.5},
    {"attributes": TOKENS, "status": {"code": 2}},
])  # fmt: skip
def test_spans_that_differ_or_do_not_contain_each_other_are_two_calls(other):
    first = call(2, TOKENS | text("hi") | {"user.id": "u1"})
    assert len(turns(agent(), first, call(3, **{"at": 1.1, "to": 2.9, "scope": OPENTELEMETRY, **other}))) == 2


def test_calls_that_run_at_once_are_paired_one_by_one():
    items = [agent()]
    for number in range(2, 12, 2):
        at = 1 + number / 100
        items.append(call(number, TOKENS | text(f"{number}"), at, 3 + number / 100))
        items.append(call(number + 1, TOKENS | text(f"{number}"), at + 0.001, 3, OPENTELEMETRY))
    assert turns(*items) == [(10, 5, None)] * 5


@pytest.mark.parametrize(("one", "two"), [("c", "c"), ("c", ""), ("", "")])
def test_tools_of_two_instrumentations_are_one_call(one, two):
    def tool(number, call_id, scope, at, to, city="Oslo"):
        named = {"gen_ai.tool.call.id": call_id} if call_id else {}
        about = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "w",
            "gen_ai.tool.call.arguments": json.dumps({"city": city}),
        }
        return span(about | named, name="execute_tool w", number=number, parent=1, at=at, to=to, scope=scope)

    items = [agent(), call(2, TOKENS), tool(3, one, "x", 4, 6), tool(4, two, "y", 4.1, 5.9)]
    assert len(of_type(items, "ToolExecutionEnd")) == 1
    assert len(of_type([*items, tool(5, "", "y", 4.2, 5.8, "Lima")], "ToolExecutionEnd")) == 2


def failed(number, parent, scope, at, trace):
    return line(number, parent, "chat", at, dict(CALL), scope=scope, error="boom", trace=trace)


def test_a_failed_call_of_a_client_in_a_trace_of_its_own_is_that_of_the_framework():
    framework = failed(2, None, "framework", (0, 4), "aa")
    (loop,) = loops([framework, failed(3, None, OPENTELEMETRY, (1, 3), "bb")])
    assert loop["turns"] == 1
    # Two clients that fail at once are two calls, and one that fails later is another one.
    assert (
        len(
            loops(
                [failed(2, None, OPENTELEMETRY, (0, 4), "aa"), failed(3, None, OPENTELEMETRY, (1, 3), "bb")]
            )
        )
        == 2
    )
    assert len(loops([framework, failed(3, None, OPENTELEMETRY, (5, 6), "bb")])) == 2


def test_a_failed_call_without_tokens_is_of_unknown_usage():
    assert turns(call(2, status={"code": 2, "message": "timeout"})) == [None]


COST = {"gen_ai.usage.cost": "0.04"}


def test_usage_of_the_agent_alone_is_that_of_its_last_call():
    used = {"gen_ai.usage.input_tokens": 470, "gen_ai.usage.output_tokens": 55, **COST}
    silent = [call(2, text("one")), call(3, text("two"), 4, 5)]
    assert turns(agent(used), *silent) == [None, (470, 55, "0.040000000")]
    assert turns(agent(used), *silent, call(4, TOKENS, 6, 7)) == [None, None, (10, 5, None)]


def test_an_answer_that_the_agent_alone_has_is_that_of_its_last_call():
    items = [agent(text("done")), call(2, TOKENS), call(3, TOKENS, 4, 5)]
    answers = [each["message"]["content"] for each in of_type(items, "MessageEnd")]
    assert answers == [[], [{"type": "text", "text": "done"}]]
    said = of_type([agent(text("done")), call(2, TOKENS | text("own"))], "MessageEnd")
    assert [each["message"]["content"] for each in said] == [[{"type": "text", "text": "own"}]]


def sums(number, total_in, output, *, parent=9, at=0.5, to=8.0, **more):
    attributes = CALL | {"gen_ai.usage.input_tokens": total_in, "gen_ai.usage.output_tokens": output}
    return span(attributes, name="model.usage", number=number, parent=parent, at=at, to=to, **more)


def run_of_two():
    return [span({}, name="message", number=9, to=20), call(2, TOKENS), call(3, TOKENS, 4, 5)]


def test_a_sum_beside_its_calls_is_no_call():
    assert turns(*run_of_two(), sums(4, 20, 10, scope=OPENINFERENCE)) == [(10, 5, None)] * 2
    assert turns(*run_of_two()[:2], sums(4, 10, 5, scope=OPENINFERENCE)) == [(10, 5, None)]


@pytest.mark.parametrize("other", [
    {"total_in": 20, "output": 11},
    {"total_in": 20, "output": 10, "to": 4.5},  # ends before the last one
    {"total_in": 20, "output": 10, "scope": OPENTELEMETRY},
])  # fmt: skip
def test_what_is_no_sum_of_all_others_is_a_call(other):
    assert len(turns(*run_of_two(), sums(4, **{"scope": OPENINFERENCE, **other}))) == 3


def test_two_equal_calls_at_one_time_are_two():
    items = [span({}, name="message", number=9, to=20), call(2, TOKENS, 1, 5)]
    items.append(span(CALL | TOKENS, number=3, parent=9, at=2, to=4, scope=OPENINFERENCE))
    assert len(turns(*items)) == 2
