"""Compactions of the context that a provider makes within a model call."""

import pytest

from tests.recorder.core.formats.otlp.spans.lines import events, of_type, span

CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9}


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.conversation.compacted": True},
        {"gen_ai.response.finish_reasons": ["compaction"]},
        {"gen_ai.output.messages": '[{"role": "assistant", "parts": [], "finish_reason": "compaction"}]'},
    ],
)
def test_a_call_whose_context_was_shortened_has_a_compaction(attributes):
    found = events([span(CHAT), span(CHAT | attributes, number=2, at=2)])

    [compaction] = [event for kind, event in found if kind == "CompactionEnded"]
    assert compaction["messages_before"] is None
    kinds = [kind for kind, _ in found]
    assert kinds.index("CompactionEnded") == len(kinds) - 1 - kinds[::-1].index("TurnEnd") - 1


@pytest.mark.parametrize("value", [False, "false", 0, "true"])
def test_another_value_is_no_compaction(value):
    assert of_type([span(CHAT | {"gen_ai.conversation.compacted": value})], "CompactionEnded") == []


def test_two_spans_of_one_call_have_one_compaction():
    same = CHAT | {"gen_ai.conversation.compacted": True, "gen_ai.response.id": "r"}
    items = [span(same, to=4), span(same, number=2, parent=1, at=1, to=3)]
    assert len(of_type(items, "TurnEnd")) == len(of_type(items, "CompactionEnded")) == 1
