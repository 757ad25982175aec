"""Of the states in which a span is sent the newest counts, in whichever order they come."""

import itertools

from tests.recorder.core.formats.otlp.spans.lines import of_type, span

CALL = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}


def state(output, to=1.0, **more):
    usage = {} if output is None else {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": output}
    return span(CALL | usage | more, to=to)


def output_of(states):
    """Return the output tokens of the span, the same in every order of its states."""
    found = {of_type(order, "TurnEnd")[0]["usage"]["output"] for order in itertools.permutations(states)}
    assert len(found) == 1
    return found.pop()


def test_the_newest_state_counts_in_any_order():
    assert output_of([state(None), state(7, 3), state(3, 2)]) == 7  # ends last
    assert output_of([state(None), state(3), state(8)]) == 8  # counts most
    assert output_of([state(9), state(2, **{"gen_ai.response.id": "r"})]) == 2  # has more parts


def test_states_that_are_alike_give_the_same_in_any_order():
    models = [state(5, **{"gen_ai.response.model": model}) for model in ("a", "b", "c")]
    answers = {of_type(order, "TurnEnd")[0]["message"]["model"] for order in itertools.permutations(models)}
    assert len(answers) == 1
