"""The settings of a model call, in the attributes of each convention."""

import json

import pytest

from tests.recorder.core.formats.otlp.spans.lines import of_type, span

CALL = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}


def snapshot(attributes):
    [start] = of_type([span(CALL | attributes)], "AgentStart")
    return {
        name: value for name, value in start["config_snapshot"].items() if name not in ("model", "provider")
    }


@pytest.mark.parametrize("name", ["llm.invocation_parameters", "model_settings", "model_request_parameters"])
def test_settings_are_read_from_json_objects(name):
    sent = {"model": "m", "temperature": 0.2, "max_tokens": 99, "top_p": 0.5, "seed": 0, "top_k": None}

    assert snapshot({name: json.dumps(sent)}) == {
        "temperature": 0.2,
        "max_tokens": 99,
        "top_p": 0.5,
        "seed": 0,
    }


@pytest.mark.parametrize(
    "name", ["max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens"]
)
def test_the_limit_of_the_output_has_one_name(name):
    assert snapshot({"llm.invocation_parameters": json.dumps({name: 99})}) == {"max_tokens": 99}


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("gen_ai.request.temperature", 0.2, {"temperature": 0.2}),
        ("gen_ai.request.max_tokens", 9, {"max_tokens": 9}),
        ("ai.settings.temperature", 0, {"temperature": 0}),
        ("ai.settings.maxOutputTokens", 9, {"max_tokens": 9}),
        ("ai.settings.maxTokens", 9, {"max_tokens": 9}),
        ("ai.settings.topP", 0.5, {"top_p": 0.5}),
        ("ai.settings.frequencyPenalty", 1, {"frequency_penalty": 1}),
        ("ai.settings.maxRetries", 2, {}),
        ("gen_ai.request.reasoning.level", "high", {"thinking_level": "high"}),
        ("llm.invocation_parameters", '{"reasoning_effort": "low"}', {"thinking_level": "low"}),
        ("gen_ai.request.previous_response.id", "resp_1", {}),
    ],
)
def test_settings_are_read_from_attributes(name, value, wanted):
    assert snapshot({name: value}) == wanted


def test_an_attribute_of_its_own_precedes_a_json_object():
    both = {"gen_ai.request.temperature": 0.2, "llm.invocation_parameters": '{"temperature": 1, "top_p": 1}'}

    assert snapshot(both) == {"temperature": 0.2, "top_p": 1}


@pytest.mark.parametrize(
    "value", ["{", "[]", "7", json.dumps({"temperature": {"a": 1}, "top_p": [1], "seed": ""})]
)
def test_other_values_are_no_settings(value):
    assert snapshot({"llm.invocation_parameters": value}) == {}
