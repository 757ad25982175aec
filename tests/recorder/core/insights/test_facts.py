"""Facts: the prompt, and the check of a model's answer."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorder.core.insights.facts import (
    FACT,
    MOST,
    TEXT,
    TEXTS,
    InvalidAnswer,
    Passage,
    parse_answer,
    prompt_messages,
    select_passages,
)

PASSAGES = [Passage(7, "user", "Use uv, not pip."), Passage(9, "assistant", "Done.")]


def answer(*facts):
    return json.dumps({"facts": list(facts)})


def fact(text="The project uses uv.", events=(7,)):
    return {"fact": text, "events": list(events) if isinstance(events, tuple) else events}


def test_a_fact_has_the_events_that_support_it():
    (found,) = parse_answer("coder", answer(fact(events=[9, 7, 7])), PASSAGES).found

    assert (found.kind, found.statement, found.events, found.times) == (
        "fact",
        "The project uses uv.",
        [7, 9],
        1,
    )


@pytest.mark.parametrize(
    "bad",
    [
        fact(events=[]),
        fact(events=[8]),
        fact(events=[7, 8]),
        fact(events=["7"]),
        fact(events=[7.0]),
        fact(events=7),
        fact(text=""),
        fact(text=" \n "),
        fact(text=3),
        {"fact": "No events."},
        "text",
        None,
    ],
)
def test_a_fact_that_cites_other_events_is_dropped_and_counted(bad):
    parsed = parse_answer("coder", answer(bad, fact()), PASSAGES)

    assert [each.statement for each in parsed.found] == ["The project uses uv."]
    assert parsed.dropped == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Sure.",
        "[]",
        '{"facts": 3}',
        '{"fact": []}',
        "null",
        '{"facts": [',
        "[" * 100_000,
        '{"facts": ["\\ud800"]}',
    ],
)
def test_an_answer_that_is_not_the_requested_json_raises(text):
    with pytest.raises(InvalidAnswer):
        parse_answer("coder", text, PASSAGES)


def test_a_code_fence_around_the_answer_is_ignored():
    assert len(parse_answer("coder", f"```json\n{answer(fact())}\n```", PASSAGES).found) == 1


def test_equal_facts_count_once_and_their_number_is_limited():
    many = [fact(f"Fact {n}.") for n in range(MOST + 5)]
    parsed = parse_answer("coder", answer(fact(), fact(), *many), PASSAGES)

    assert (len(parsed.found), parsed.dropped) == (MOST, 7)


def test_a_long_fact_is_cut_to_one_line():
    (found,) = parse_answer("coder", answer(fact("a\nb " * 500)), PASSAGES).found

    assert len(found.statement) <= FACT
    assert "\n" not in found.statement


@given(st.lists(st.tuples(st.integers(1, 10**12), st.text(max_size=4000)), max_size=40))
def test_the_prompt_is_bounded_and_text_is_sent_as_data(texts):
    chosen = select_passages(Passage(event, "user", text) for event, text in texts)

    assert all(len(each.text) <= TEXT for each in chosen)
    assert sum(len(each.text) for each in chosen) <= TEXTS
    events = json.loads(prompt_messages(chosen)[1]["content"])["events"]
    assert [each["id"] for each in events] == [each.event for each in chosen]
