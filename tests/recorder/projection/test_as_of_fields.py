"""As of its newest event a session equals the tables: for every field of every event and record."""

from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import EventRecord, Project, Session
from recorder.projection.as_of import as_of
from tests.recorder.projection.event_values import LOOP, accepted, event_types, variations
from tests.support import build
from tests.support.project_digest import records_of

pytestmark = pytest.mark.django_db(transaction=True)


NUMBERS = count(1)


def send(project, *events):
    ingest(Batch(project.pk, "p", None, [build.line(event) for event in events], "native"))


def compare(project, session_id):
    """See a session as of its newest event, and compare it with the present."""
    session = Session.objects.get(project=project, session_id=session_id)
    newest = EventRecord.objects.filter(session=session).latest("pk").pk
    now = records_of(project, [session.pk])
    with as_of(session, newest):
        assert records_of(project, [session.pk]) == now
    assert now


def of_loop(event, loop):
    """Put a loop in the places that name one."""
    return {name: _of_loop(value, loop) for name, value in event.items()}


def _of_loop(value, loop):
    if isinstance(value, list):
        return [loop if each == LOOP else each for each in value]
    return loop if value == LOOP else value


@pytest.mark.parametrize("name", event_types())
def test_every_field_of_an_event_is_the_same_in_the_past(name):
    project = Project.objects.create(slug="default")
    lines = []
    for number, event in enumerate(variations(name)):
        loop = f"s.a.{number}"
        if name != "AgentStart":
            lines += [build.agent_start(loop), build.turn_start(loop), build.tool_start(loop)]
        lines += [of_loop(event, loop), build.progress(loop, "c1", text="Half.")]
    for at in range(0, len(lines), 150):
        send(project, *lines[at : at + 150])
    compare(project, "s")


@st.composite
def events(draw):
    name = draw(st.sampled_from(sorted(event_types())))
    fields = {field: draw(st.sampled_from(values)) for field, values in accepted(event_types()[name]).items()}
    return of_loop({"type": name, **fields}, draw(st.sampled_from(["s.a.1", "s.a.2"])))


@settings(max_examples=40)
@given(st.lists(events(), max_size=40), st.lists(st.integers(1, 9), max_size=12))
def test_whatever_comes_together_is_the_same_in_the_past(lines, sizes):
    project = Project.objects.create(slug=f"project-{next(NUMBERS)}")
    send(project, build.agent_start("s.a.1"), build.turn_start("s.a.1"))
    at = 0
    for size in [*sizes, len(lines)]:
        if lines[at : at + size]:
            send(project, *lines[at : at + size])
        at += size
    compare(project, "s")


KID = [build.agent_start("kid.k.1"), *build.small_loop("kid.k.1", tokens=3)[1:]]
GRAND = [*build.small_loop("grand.g.1", tokens=5)]
NAMED = build.agent_start("kid.k.1", parent="s.a.1")


@pytest.mark.parametrize(
    "lines",
    [
        [
            build.agent_start("s.a.1"),
            build.tool_start("s.a.1"),
            *KID,
            build.tool_end("s.a.1", child="kid.k.1"),
        ],
        [build.agent_start("s.a.1"), NAMED, *KID[1:]],
        [NAMED, *KID[1:], build.agent_start("s.a.1")],
        [
            *KID,
            build.agent_start("s.a.1"),
            build.tool_start("s.a.1"),
            build.tool_end("s.a.1", child="kid.k.1"),
        ],
        [
            build.agent_start("s.a.1"),
            *KID,
            build.ours(
                *("SubAgentLinked", None),
                parent_loop_id="s.a.1",
                child_session_id="kid",
                child_loop_id="kid.k.1",
            ),
        ],
        [
            *(build.agent_start("s.a.1"), build.agent_start("kid.k.1"), build.tool_start("kid.k.1"), *GRAND),
            *(build.tool_end("kid.k.1", child="grand.g.1"), build.agent_end("kid.k.1")),
            *(build.tool_start("s.a.1"), build.tool_end("s.a.1", child="kid.k.1"), build.agent_end("s.a.1")),
        ],
    ],
    ids=["named after its end", "names it", "started before it", "spawned late", "linked", "two levels"],
)
def test_a_sub_agent_keeps_its_spawner_as_of_its_newest_event(lines):
    project = Project.objects.create(slug="default")
    for line in lines:
        send(project, line)
    sub_agents = Session.objects.exclude(parent=None)
    assert sub_agents
    for session in sub_agents:
        assert (session.head.role, session.head.segment) == ("sub_agent", "sub_agents")
        compare(project, session.session_id)
