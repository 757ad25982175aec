"""A framework's span and the client's span of one call, in two traces, are one call; two calls stay two."""

import json

import pytest

from tests.recorder.core.formats.otlp.build import ANTHROPIC, OPENINFERENCE, loops, span


def framework(output="", at=(0, 30), **about):
    """Return a framework's span of a call that uses the anthropic client."""
    attributes = {
        "openinference.span.kind": "LLM",
        "llm.model_name": "claude",
        "llm.provider": about.pop("provider", "anthropic"),
        "llm.token_count.prompt": 12,
        "llm.token_count.completion": about.pop("tokens", 3),
    } | ({"output.value": output} if output else {})
    scope = about.pop("scope", f"{OPENINFERENCE}langchain")
    return span(1, None, "ChatAnthropic", at, attributes, scope=scope, **about)


def client(response="msg_01", at=(0.1, 5), tokens=3, **about):
    """Return the client's own span, which is a trace of its own."""
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.response.model": "claude",
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": tokens,
    } | ({"gen_ai.response.id": response} if response else {})
    scope = about.pop("scope", ANTHROPIC)
    return span(
        2, None, "messages.create", at, attributes, trace=about.pop("trace", "bb"), scope=scope, **about
    )


def turns(*lines):
    return sum(loop["turns"] for loop in loops([*lines]))


@pytest.mark.parametrize("end", [5, 30, 300])
def test_spans_with_the_id_of_one_response_are_one_call(end):
    assert turns(framework('{"id": "msg_0123456", "usage": {}}', (0, end)), client("msg_0123456")) == 1


@pytest.mark.parametrize("output", [
    {"id": "msg_01", "content": []},
    {"id": "0193ab-uuid-x", "choices": []},
    {"choices": [{"message": {"id": "other"}}], "id": "0193ab-uuid-x"},
    {"id": "7", "object": "chat.completion"},
])  # fmt: skip
def test_the_id_of_a_response_is_that_of_the_output(output):
    other = client(output["id"], (0.1, 29), tokens=8, scope="opentelemetry.instrumentation.openai_v2")
    assert turns(framework(json.dumps(output)), other) == 1


def test_an_id_in_an_answer_that_is_json_is_no_id_of_a_response():
    answer = json.dumps({"id": "7", "name": "Ann"})
    assert turns(framework(answer, tokens=5), framework(answer, tokens=9, trace="bb")) == 2


@pytest.mark.parametrize("tokens", [2, 3, 4])
@pytest.mark.parametrize("end", [5.5, 30, 300])
@pytest.mark.parametrize("provider", ["anthropic", "Anthropic", ""])
def test_a_client_span_in_the_time_of_a_framework_span_is_the_same_call(tokens, end, provider):
    assert turns(framework(at=(0, end), tokens=tokens, provider=provider), client()) == 1


@pytest.mark.parametrize("other", [
    client(tokens=5),
    client(at=(0.1, 31)),
    client(service="other"),
])  # fmt: skip
def test_a_client_span_with_other_figures_time_or_service_is_another_call(other):
    assert turns(framework(), other) == 2


def test_a_client_span_with_another_id_is_another_call():
    assert turns(framework('{"id": "msg_02", "usage": {}}'), client("msg_01")) == 2


def test_a_framework_span_has_one_client_span_with_about_its_figures():
    assert turns(framework(tokens=3), client(tokens=3), client("msg_02", tokens=4, trace="cc")) == 2
    assert turns(framework(tokens=3), client(tokens=4), client("msg_02", tokens=4, trace="cc")) == 2


def test_parallel_calls_have_a_client_span_each():
    spans = [framework(tokens=3), framework(tokens=4, trace="ab"), framework(tokens=5, trace="ac")]
    clients = [client(f"msg_{n}", tokens=n, trace=f"{n}b") for n in (3, 4, 5)]
    assert turns(*spans, *clients) == 3
