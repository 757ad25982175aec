"""Further bodies of a trace add to what is recorded of it; they do not record it anew."""

import json

import pytest

from recorder.models import JournalEvent, LoopRecord, Project
from recorder.projection.rebuild import rebuild
from tests.recorder.journal.spans import captures

pytestmark = pytest.mark.django_db(transaction=True)
MODEL = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "error.type": "timeout"}
NS = 10**9


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
    before = JournalEvent.objects.count()
    for number in bodies:
        captures.record(project, [call(2 * number), call(2 * number + 1)])
    return JournalEvent.objects.count() - before


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
