"""Export as phi-core's session: what other runtimes do not send, but is recorded, is in it."""

from io import StringIO

import pytest
from django.core.management import call_command

from recorder.models import LoopRecord, Project, Session, ToolCall
from recorder.projection.export import phi_session
from tests.support.foreign_tapes import TAPES, send, tape

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def project(db):
    return Project.objects.create(slug="default")


def results(session):
    """Return turn index and tool results of each turn of an exported session, by loop id."""
    return {
        (loop["loop_id"], turn["turn_id"]["turnIndex"]): turn["tool_results"]
        for loop in phi_session(session)["loops"]
        for turn in loop["turns"]
    }


def assert_all_results_are_exported():
    exported = {}
    for session in Session.objects.all():
        exported |= results(session)
    calls = ToolCall.objects.filter(end_event__isnull=False, turn__state="done").order_by("end_event")
    assert calls.exists()
    for place, found in exported.items():
        loop = LoopRecord.objects.get(loop_id=place[0])
        own = [call for call in calls if (call.loop_id, call.turn.turn_index) == (loop.pk, place[1])]
        assert [(each["toolCallId"], each["toolName"], each["isError"]) for each in found] == [
            (call.tool_call_id, call.tool_name, call.state == "failed") for call in own
        ]
        assert {each["role"] for each in found} <= {"toolResult"}


@pytest.mark.parametrize("name", ["all-event-types.hand-made", "transfer-task.reconstructed"])
def test_tool_results_of_a_cagent_stream(project, name):
    send(project, tape(f"cagent/{name}.events.jsonl"), "cagent", flush=True)
    assert_all_results_are_exported()


def test_tool_results_of_a_cagent_store(project):
    call_command("import_runs", str(TAPES / "cagent/transfer-task.v19.db"), stdout=StringIO())
    assert_all_results_are_exported()
    session = Session.objects.order_by("-tool_calls").first()
    texts = [
        part["text"] for found in results(session).values() for each in found for part in each["content"]
    ]
    assert any(texts)


def test_tool_results_of_phi_core_are_those_of_its_events(project):
    send(project, tape("phi-core/09-process-killed-in-tool.events.jsonl"), "native", flush=True)
    assert {len(found) for found in results(Session.objects.get()).values()} <= {0}
