"""Spans of Haystack: generators, and the steps of its agents, are calls with their texts and figures."""

import json

import pytest

from tests.recorder.core.formats.otlp.spans.lines import events, of_type, span

USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "prompt_tokens_details": {"cached_tokens": 40},
    "completion_tokens_details": {"reasoning_tokens": 5},
}
META = {"model": "gpt-4o-mini", "index": 0, "finish_reason": "stop", "usage": USAGE}
CALL = {"tool_call": {"tool_name": "get_weather", "arguments": {"city": "Oslo"}, "id": "c1"}}
RESULT = {"tool_call_result": {"result": "rain", "origin": CALL["tool_call"], "error": False}}


def message(role, *content, **meta):
    return {"role": role, "meta": meta, "name": None, "content": list(content)}


def old_message(role, *content, **meta):
    return {"_role": role, "_meta": meta, "_name": None, "_content": list(content)}


ASKED = message("user", {"text": "Weather?"})
ANSWER = message("assistant", {"text": "Rain."}, **META)


def component(kind, sent, answer, **more):
    attributes = {"haystack.component.name": "llm", "haystack.component.type": kind}
    content = {"haystack.component.input": json.dumps(sent), "haystack.component.output": json.dumps(answer)}
    return span(attributes | content, name="haystack.component.run", scope="haystack", **more)


def texts(items):
    return [
        (event["message"]["role"], block["text"])
        for event in of_type(items, "MessageEnd")
        for block in event["message"]["content"]
        if block["type"] == "text"
    ]


@pytest.mark.parametrize("form", [message, old_message])
def test_a_chat_generator_is_a_model_call(form):
    sent = {"messages": [form("system", {"text": "Be brief."}), form("user", {"text": "Weather?"})]}
    item = component("OpenAIChatGenerator", sent, {"replies": [form("assistant", {"text": "Rain."}, **META)]})

    assert texts([item]) == [("user", "Weather?"), ("assistant", "Rain.")]
    [end] = of_type([item], "TurnEnd")
    figures = {name: end["usage"][name] for name in ("input", "cache_read", "output", "reasoning")}
    assert figures == {"input": 60, "cache_read": 40, "output": 20, "reasoning": 5}
    about = end["message"]
    assert (about["model"], about["provider"], about["stopReason"]) == ("gpt-4o-mini", "openai", "stop")
    assert of_type([item], "AgentEnd")[0]["outcome"] == "completed"


def test_a_generator_of_texts_is_a_model_call():
    item = component("CohereGenerator", {"prompt": "Weather?"}, {"replies": ["Rain."], "meta": [META]})
    assert texts([item]) == [("user", "Weather?"), ("assistant", "Rain.")]
    [end] = of_type([item], "TurnEnd")
    assert (end["message"]["provider"], end["usage"]["output"]) == ("cohere", 20)


def test_a_generator_without_content_is_a_call_of_unknown_usage():
    item = span({"haystack.component.type": "OpenAIChatGenerator"}, name="haystack.component.run")
    assert [event["has_usage"] for event in of_type([item], "TurnEnd")] == [False]


@pytest.mark.parametrize(
    "kind", ["ToolInvoker", "PromptBuilder", "InMemoryBM25Retriever", "ChatPromptBuilder", 7]
)
def test_other_components_are_no_model_call(kind):
    assert events([component(kind, {"messages": [ASKED]}, {"replies": [ANSWER]})]) == []


def test_an_agent_has_its_steps_and_tools():
    llm, tool = "haystack.agent.step.llm", "haystack.agent.step.tool"
    asks = message("assistant", CALL, **(META | {"finish_reason": "tool_calls"}))
    told = message("tool", RESULT)

    def step(number, sent, answer, at):
        content = {f"{llm}.input": json.dumps({"messages": sent}), f"{llm}.output": json.dumps(answer)}
        return span(content, name=llm, number=number, parent=number + 10, at=at)

    items = [
        span({"haystack.agent.max_steps": 9}, name="haystack.agent.run", number=1, to=9),
        span({}, name="haystack.agent.step", number=12, parent=1, at=1, to=4),
        step(2, [ASKED], {"replies": [asks]}, 1),
        span(
            {
                "haystack.tool.name": "get_weather",
                f"{tool}.input": json.dumps({"city": "Oslo"}),
                f"{tool}.output": "rain",
            },
            name=tool,
            number=3,
            parent=12,
            at=2.5,
        ),
        span({}, name="haystack.agent.step", number=14, parent=1, at=5, to=8),
        step(4, [ASKED, asks, told], {"replies": [ANSWER]}, 5),
    ]

    assert len(of_type(items, "AgentStart")) == 1
    assert len(of_type(items, "TurnEnd")) == 2
    [start] = of_type(items, "ToolExecutionStart")
    assert (start["tool_name"], start["tool_call_id"], start["args"]) == (
        "get_weather",
        "c1",
        {"city": "Oslo"},
    )
    [end] = of_type(items, "ToolExecutionEnd")
    assert (end["result"]["content"][0]["text"], end["is_error"]) == ("rain", False)
    assert of_type(items, "AgentEnd")[0]["outcome"] == "completed"


def test_results_that_a_generator_is_sent_are_tool_calls_of_the_answer_before():
    asks = message("assistant", {"reasoning": {"reasoning_text": "Hm."}}, CALL, **META)
    failed = {"tool_call_result": RESULT["tool_call_result"] | {"result": "no city", "error": True}}
    items = [
        component("OpenAIChatGenerator", {"messages": [ASKED]}, {"replies": [asks]}),
        component(
            "OpenAIChatGenerator",
            {"messages": [ASKED, asks, message("tool", failed)]},
            {"replies": [ANSWER]},
            number=2,
            at=2,
        ),
    ]
    [end] = of_type(items, "ToolExecutionEnd")
    assert (end["tool_call_id"], end["result"]["content"][0]["text"], end["is_error"]) == (
        "c1",
        "no city",
        True,
    )
    thoughts = [
        b for e in of_type(items, "MessageEnd") for b in e["message"]["content"] if b["type"] == "thinking"
    ]
    assert [thought["thinking"] for thought in thoughts] == ["Hm."]


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (None, None),
        ([], []),
        ({"messages": "x"}, {"replies": "x"}),
        ({"messages": [7, None, {}]}, {"replies": [7, None, {}]}),
        ({"messages": [{"role": 7, "content": 7}]}, {"replies": [{"meta": 7, "content": {"a": 1}}]}),
        ({"messages": [message("user", 7, {"tool_call": 7})]}, {"replies": [], "meta": [7]}),
    ],
)
def test_malformed_content_is_no_fault(sent, answer):
    assert len(of_type([component("OpenAIChatGenerator", sent, answer)], "TurnEnd")) == 1


def test_names_of_the_conventions_come_first():
    attributes = {"haystack.component.type": "OpenAIChatGenerator", "gen_ai.response.model": "own"}
    [end] = of_type([span(attributes, name="haystack.component.run")], "TurnEnd")
    assert end["message"]["model"] == "own"
