"""Plans of any spans: their cost is in proportion to their number, and parents may form circles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorder.core.formats.otlp.plan.tree import loops_of
from recorder.core.formats.otlp.spans.digest import Digest
from tests.recorder.core.formats.otlp.plan.test_work import work

START, SECOND = 10**18, 10**9


def span(kind, name, at=0, lasted=1, **fields):
    start = START + int(at * SECOND)
    fields.setdefault("id", name)
    return Digest(
        trace=fields.pop("trace", "t"), kind=kind, name=name, start=start, end=start + int(lasted * SECOND),
        print=name, **fields
    )  # fmt: skip


def model(number, **fields):
    usage = {"total_in": number, "output": 1}
    return span("model", f"m{number}", 10 * number, usage=usage, model="m", has_text=True, **fields)


def note(name, number, **fields):
    return span("note", f"n{number}", 10 * number, 0, id="", **fields | {"trace": "", "is_log": True})


def framework_and_client(number):
    """Calls that a framework and its client report in two traces."""
    for each in range(number):
        outer = model(each, parent="root", session="s")
        yield outer
        yield Digest(
            id=f"c{each}", trace="of client", kind="model", runtime="anthropic", model="m", print=f"c{each}",
            start=outer.start, end=outer.end, usage=outer.usage,
        )  # fmt: skip


def calls_and_records(number):
    """Calls whose usage log records without a span's id repeat."""
    for each in range(number):
        call = model(each, session="s")
        yield call
        yield note("", each, usage=call.usage, has_text=True, session="s")


def failed_requests(number):
    """Calls before each of which a request failed."""
    for each in range(number):
        call = model(each, session="s", runtime="codex")
        yield call
        yield Digest(
            id="", trace="", kind="note", name="codex.api_request", error="503", is_log=True, session="s",
            runtime="codex", start=call.start, end=call.start, print=f"f{each}",
        )  # fmt: skip


def same_responses(number):
    """Calls that two instrumentations report with the id of the response."""
    for each in range(number):
        yield model(each, response=f"r{each}", id=f"a{each}")
        yield model(each, response=f"r{each}", id=f"b{each}", trace="u")


def tools(number):
    """Calls with a tool each, which has no id."""
    for each in range(number):
        yield model(each, calls=[["", "bash"]])
        yield span("tool", "bash", 10 * each + 2, id=f"x{each}")


def agents(number):
    return (span("agent", f"g{each}", each, session="s") for each in range(number))


def traces(number):
    """Calls of one conversation, each in a trace of its own."""
    return (model(each, trace=f"t{each}", session="s", runtime="gemini-cli") for each in range(number))


def nested(kind):
    def made(number):
        for each in range(number):
            parent = str(each - 1) if each else ""
            yield span(kind, f"{kind}{each}", each / number, 2, id=str(each), parent=parent)

    made.__name__ = f"nested_{kind}"
    return made


SHAPES = (framework_and_client, calls_and_records, failed_requests, same_responses, tools, agents, traces)
NESTED = tuple(nested(kind) for kind in ("agent", "tool", "model"))


@pytest.mark.parametrize("shape", [*SHAPES, *NESTED], ids=lambda shape: shape.__name__)
def test_four_times_the_spans_take_at_most_six_times_the_work(shape):
    few, many = list(shape(100)), list(shape(400))

    assert work(many) < 6 * work(few)


@pytest.mark.parametrize("kind", ["model", "agent", "tool", "frame"])
@pytest.mark.parametrize("size", [1, 2, 3, 40])
def test_spans_whose_parents_form_a_circle_are_planned(kind, size):
    circle = [
        span(kind, f"c{each}", each, parent=f"c{(each + 1) % size}", usage={"total_in": 1, "output": 1})
        for each in range(size)
    ]
    below = span("model", "below", size, parent="c0", usage={"total_in": 2, "output": 1})

    plans = loops_of([*circle, below])

    calls = [source.id for plan in plans for call in plan.calls for source in call.sources]
    # Of frames the one with none below it counts.
    own = circle if kind == "model" else circle[1:2] if kind == "frame" else []
    assert sorted(calls) == sorted(["below", *(each.id for each in own)])


PARENTS = st.tuples(st.sampled_from(["model", "agent", "tool", "frame"]), st.integers(0, 8))


@given(spans=st.lists(PARENTS, min_size=1, max_size=8))
def test_whatever_the_parents_each_model_span_is_in_one_call(spans):
    usage = {"total_in": 1, "output": 1}
    made = [
        span(kind, f"s{each}", each, parent=f"s{parent}", usage=usage if kind == "model" else None)
        for each, (kind, parent) in enumerate(spans)
    ]

    plans = loops_of(made)

    calls = [source.id for plan in plans for call in plan.calls for source in call.sources]
    assert sorted(calls) == [each.id for each in made if each.kind == "model"]


def test_model_spans_in_a_circle_are_one_call():
    circle = [
        span("model", name, parent=parent, usage={"total_in": 1, "output": 1})
        for name, parent in (("a", "b"), ("b", "c"), ("c", "a"), ("d", "b"))
    ]

    (plan,) = loops_of(circle)

    assert [[each.id for each in call.sources] for call in plan.calls] == [["a", "b", "c", "d"]]
