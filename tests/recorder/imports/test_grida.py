"""Grida's channel: turns become loops, and a session waits from a request until the next turn."""

import json
from datetime import UTC, datetime
from io import StringIO

import pytest
from django.core.management import call_command

from recorder.models import Anomaly, Approval, EventRecord, LoopRecord, Session
from recorder.operations.integrity_check import findings
from recorder.projection.export import phi_session
from tests.support.foreign_tapes import TAPES, send, tape
from tests.support.project_digest import digest

pytestmark = pytest.mark.django_db(transaction=True)

FRAMES = "grida/lifecycle.hand-made.sse"


def frame_line(kind, session="g", **fields):
    return json.dumps({"type": kind, "session_id": session, "at": 1_770_800_000_000, **fields}).encode()


def test_turns_become_loops_with_the_outcome_of_the_channel(project):
    send(project, tape(FRAMES), "grida")
    found = LoopRecord.objects.order_by("pk").values_list(
        "session__session_id", "loop_id", "outcome", "continuation_kind"
    )
    assert list(found) == [
        ("ses_a", "ses_a.1", "completed", "Initial"),
        ("ses_b", "ses_b.1", "completed", "Initial"),
        ("ses_b", "ses_b.2", "failed", "Default"),
        ("ses_a", "ses_a.2", "cancelled", "Default"),
    ]
    first = LoopRecord.objects.order_by("pk").first()
    assert first.started_at == datetime.fromtimestamp(1_770_800_000, UTC)
    assert first.metadata == {"message_id": "m1"}
    assert {session.source for session in Session.objects.all()} == {"grida"}


def test_unknown_types_are_stored_raw(project):
    send(project, tape(FRAMES), "grida")
    assert sorted(Anomaly.objects.values_list("kind", flat=True)) == ["unknown_type", "unknown_type"]
    assert EventRecord.objects.filter(type="turn-retrying", origin="").count() == 1


@pytest.mark.parametrize("frame", [b"data: %b", b"data:%b", b"%b"])
def test_a_session_that_came_as_server_sent_events_is_exported(project, frame):
    lines = [frame_line("turn-started"), frame_line("turn-finished", reason="finish", pending_approval=False)]
    send(project, [frame % line for line in lines], "grida")

    (loop,) = phi_session(Session.objects.get())["loops"]
    assert (loop["loop_id"], loop["status"]) == ("g.1", "Completed")


def test_an_approval_request_makes_a_session_wait_until_its_next_turn(project):
    send(
        project,
        [
            frame_line("turn-started"),
            frame_line("approval-requested"),
            frame_line("turn-finished", reason="finish", pending_approval=True),
        ],
        "grida",
    )
    assert (Session.objects.get().waiting, Approval.objects.get().resolved_at) == (1, None)
    send(project, [frame_line("turn-started", at=1_770_800_009_000)], "grida", producer="later")
    assert (Session.objects.get().waiting, Approval.objects.get().inferred) == (0, True)


def test_a_turn_whose_start_was_missed_is_recorded_at_its_end(project):
    send(project, [frame_line("turn-finished", reason="error")], "grida")
    assert LoopRecord.objects.get().outcome == "failed"


def test_a_turn_that_begins_in_another_ends_it(project):
    send(project, [frame_line("turn-started"), frame_line("turn-started")], "grida")
    assert list(LoopRecord.objects.order_by("pk").values_list("outcome", flat=True)) == ["cancelled", ""]


def test_sent_twice_cut_or_rebuilt_it_is_recorded_once(project):
    lines = tape(FRAMES)
    send(project, lines, "grida", cuts=range(1, len(lines)))
    once = digest(project.pk)
    send(project, lines, "grida")
    call_command("rebuild", stdout=StringIO(), stderr=StringIO())
    assert digest(project.pk) == once
    assert list(findings()) == []


def test_a_file_of_frames_is_imported(project):
    call_command("import_runs", str(TAPES / FRAMES), stdout=StringIO(), stderr=StringIO())
    assert LoopRecord.objects.count() == 4
