"""Calls whose input is less than its cached tokens: the sender leaves those out, and a notice says so."""

import pytest

from tests.recorder.core.formats.otlp.spans.lines import events, span

CACHED = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "m",
    "gen_ai.usage.prompt_tokens": 10,
    "gen_ai.usage.completion_tokens": 3,
    "gen_ai.usage.cache_read_input_tokens": 100,
    "gen_ai.usage.cache_creation_input_tokens": 5,
}
CLAUDE = {"span.type": "llm_request", "input_tokens": 10, "output_tokens": 3, "cache_read_tokens": 100}


def notices(*lines):
    return [event for kind, event in events(lines) if kind == "Notice"]


def test_input_below_its_cached_parts_is_read_as_without_them_and_flagged():
    found = events([span(CACHED)])

    [end] = [event for kind, event in found if kind == "TurnEnd"]
    assert {name: end["usage"][name] for name in ("input", "cache_read", "cache_write")} == {
        "input": 10,
        "cache_read": 100,
        "cache_write": 5,
    }
    [notice] = [event for kind, event in found if kind == "Notice"]
    assert (notice["kind"], notice["code"]) == ("irregular", "input_without_cache")
    assert [kind for kind, _ in found][-2:] == ["Notice", "AgentEnd"]


def test_a_loop_is_flagged_once():
    root = span({"gen_ai.operation.name": "invoke_agent"}, name="invoke_agent a", number=9, to=9)
    calls = [span(CACHED, number=number, parent=9, at=number) for number in (1, 2, 3)]

    assert len(notices(root, *calls)) == 1


@pytest.mark.parametrize(
    "item",
    [
        span(CACHED | {"gen_ai.usage.prompt_tokens": 105}),
        span(CLAUDE, name="claude_code.llm_request", scope="com.anthropic.claude_code.tracing"),
        span({"gen_ai.operation.name": "chat"}),
    ],
)
def test_other_calls_are_not_flagged(item):
    assert notices(item) == []
