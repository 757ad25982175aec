"""Further bodies of a trace add to what is recorded of it; they do not record it anew."""

import json
import random
from itertools import count

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from recorder.models import JournalEvent, LoopRecord, Project, Session
from recorder.projection.rebuild import rebuild
from tests.recorder.journal.spans import captures

pytestmark = pytest.mark.django_db(transaction=True)
MODEL = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "error.type": "timeout"}
NS = 10**9
AGENT = 9_999  # number of the span above all
NUMBERS = count(1)


@pytest.fixture
def other(project):
    return Project.objects.create(slug="other")


def call(number, failed=False):
    """Return the line of a model call, a second after the one before it."""
    names = MODEL if failed else {name: MODEL[name] for name in MODEL if name != "error.type"}
    attributes = [{"key": name, "value": {"stringValue": value}} for name, value in names.items()]
    attributes.append({"key": "gen_ai.usage.input_tokens", "value": {"intValue": 7}})
    span = {
        "traceId": f"{1:032x}",
        "spanId": f"{number + 1:016x}",
        "name": "chat m",
        "attributes": attributes,
    }
    span |= {
        "startTimeUnixNano": str((10**9 + number) * NS),
        "endTimeUnixNano": str((10**9 + number) * NS + 1),
    }
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()


def lines(project, bodies):
    """Return how many lines the journal has more after some bodies of two calls each."""
    return lines_of(project, [[call(2 * number), call(2 * number + 1)] for number in bodies])


def lines_of(project, bodies):
    before = JournalEvent.objects.count()
    for body in bodies:
        captures.record(project, body)
    return JournalEvent.objects.count() - before


def changed(line, names=(), **fields):
    """Return the line of a span with other fields and attributes."""
    body = json.loads(line)
    (span,) = body["resourceSpans"][0]["scopeSpans"][0]["spans"]
    span |= fields
    if names:
        span["attributes"] = [{"key": name, "value": {"stringValue": value}} for name, value in names]
    return json.dumps(body).encode()


def tool(number):
    """Return the line of a tool's span, at the time of a call with this number."""
    names = (("gen_ai.operation.name", "execute_tool"), ("gen_ai.tool.name", f"tool {number % 3}"))
    return changed(call(number), names, name="execute_tool")


def run(turns, agent):
    """Return the lines of calls without content, each with a tool behind it; `agent`: whether one is above.

    The agent's span comes last, as it ends last. Without it, another span is above that never comes.
    """
    spans = [made(2 * turn + place) for turn in range(turns) for place, made in enumerate((call, tool))]
    spans = [changed(line, parentSpanId=f"{AGENT + 1:016x}") for line in spans]
    if agent:
        names = (("gen_ai.operation.name", "invoke_agent"), ("gen_ai.agent.name", "a"))
        times = {"startTimeUnixNano": str(9 * 10**8 * NS), "endTimeUnixNano": str((10**9 + AGENT) * NS)}
        spans.append(changed(call(AGENT), names, name="invoke_agent", **times))
    return spans


def test_each_body_adds_as_many_lines_as_the_first_ones(project):
    few = lines(project, range(10))
    more = lines(project, range(10, 20))

    assert more <= 1.1 * few
    assert LoopRecord.objects.get().turns == 40


@pytest.mark.parametrize("failed", [(), (3,), (7,), (3, 6)])
def test_a_loop_that_went_on_is_as_if_its_calls_had_come_together(project, other, failed):
    sent = [call(number, number in failed) for number in range(8)]
    for line in sent:
        captures.record(project, [line])
    captures.record(other, sent)

    assert captures.shape(project) == captures.shape(other)
    before = captures.shape(project)
    rebuild(project)
    assert captures.shape(project) == before


def test_a_call_that_began_before_is_recorded_in_its_place(project, other):
    captures.record(project, [call(3)])
    captures.record(project, [call(2)])
    captures.record(other, [call(2), call(3)])

    assert captures.shape(project) == captures.shape(other)


@pytest.mark.parametrize("above", [True, False])
def test_a_body_between_a_call_and_its_tool_adds_as_many_lines_as_the_first_ones(project, above):
    sent = run(20, agent=False) if above else [(call, tool)[number % 2](number) for number in range(40)]
    few = lines_of(project, [[line] for line in sent[:20]])
    more = lines_of(project, [[line] for line in sent[20:]])

    assert more <= 1.1 * few
    loop = LoopRecord.objects.get()
    assert (loop.turns, loop.tool_calls) == (20, 20)


PORTIONS = st.lists(st.integers(1, 4), max_size=12)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(turns=st.integers(1, 4), agent=st.booleans(), portions=PORTIONS, seed=st.none() | st.integers(0, 99))
@example(turns=3, agent=True, portions=[1] * 7, seed=None)
@example(turns=3, agent=False, portions=[1] * 6, seed=None)
def test_a_run_in_any_portions_and_order_gives_the_records_of_one_body(turns, agent, portions, seed):
    sent = run(turns, agent)
    order = sent if seed is None else random.Random(seed).sample(sent, len(sent))
    parts, whole = (Project.objects.create(slug=f"run{next(NUMBERS)}") for _ in range(2))
    for size in [*portions, len(sent)]:
        captures.record(parts, order[:size])
        order = order[size:]
    captures.record(whole, sent)

    assert figures(parts) == figures(whole)
    rebuild(parts)
    assert figures(parts) == figures(whole)


def figures(of):
    """Return the shape of a project, and what else the end of a turn counts."""
    names = (
        "loop_id",
        "activity",
        "context_tokens",
        "turn_errors",
        "uncached_tokens",
        "unpriced",
        "config__key",
    )
    loops = LoopRecord.objects.filter(session__project=of).order_by("started_at", "loop_id")
    sessions = Session.objects.filter(project=of).order_by("session_id")
    return captures.shape(of), [*loops.values(*names)], [*sessions.values("activity", "uncached_tokens")]
