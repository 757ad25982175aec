"""Rebuild, check and prune: records are derived from the journal, and inconsistencies are reported."""

import json
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.utils import timezone

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import (
    Approval,
    Compaction,
    EventRecord,
    JournalEvent,
    LoopRecord,
    ModelConfig,
    ParallelGroupRecord,
    Project,
    QuarantinedLine,
    Session,
    TextBlock,
    ToolCall,
    Turn,
)
from recorder.operations.integrity_check import findings
from tests.recorder.journal.tamper import tampering
from tests.support.project_digest import digest

PHI_CORE = Path(__file__).parents[2] / "tapes" / "phi-core"
SCENARIOS = sorted(path.name.removesuffix(".events.jsonl") for path in PHI_CORE.glob("*.events.jsonl"))

pytestmark = pytest.mark.django_db(transaction=True)


def lines_of(scenario):
    return (PHI_CORE / f"{scenario}.events.jsonl").read_bytes().splitlines()


def play(project, scenario, *, flush=False):
    ingest(Batch(project=project.pk, producer=scenario, first=0, lines=lines_of(scenario), flush=flush))


def rebuild(**options):
    call_command("rebuild", stdout=StringIO(), stderr=StringIO(), **options)


def keys():
    """Return the primary keys that addresses hold."""
    return {
        "sessions": dict(Session.objects.values_list("session_id", "pk")),
        "loops": {
            (session, loop, run): pk
            for session, loop, run, pk in LoopRecord.objects.values_list("session", "loop_id", "run", "pk")
        },
        "groups": sorted(ParallelGroupRecord.objects.values_list("pk", "session", "ordinal")),
        "turns": sorted(Turn.objects.values_list("pk", "loop", "ordinal")),
        "tools": sorted(ToolCall.objects.values_list("pk", "loop", "start_event", "end_event")),
        "compactions": sorted(Compaction.objects.values_list("pk", "loop", "start_event", "end_event")),
        "approvals": sorted(Approval.objects.values_list("pk", "session", "approval_id")),
        "colours": sorted(ModelConfig.objects.values_list("pk", "key", "slot")),
    }


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_what_is_rebuilt_is_what_was_recorded(project, scenario):
    play(project, scenario, flush=True)
    before, places = digest(project), keys()
    rebuild()
    assert digest(project) == before
    assert keys() == places
    assert list(findings()) == []


def test_everything_together_survives_a_rebuild_in_small_batches(project, monkeypatch):
    for scenario in SCENARIOS:
        play(project, scenario, flush=scenario.startswith("09"))
    before, places = digest(project), keys()
    monkeypatch.setattr("recorder.projection.rebuild.BATCH", 7)
    rebuild()
    assert digest(project) == before
    assert keys() == places


def test_text_that_was_streaming_when_the_agent_died_survives(project):
    lines = lines_of("01-tools-two-prompts")[:9]
    ingest(Batch(project=project.pk, producer="p", first=0, lines=lines, flush=True))
    text = [block.text for block in TextBlock.objects.order_by("pk")]
    assert text
    rebuild()
    assert [block.text for block in TextBlock.objects.order_by("pk")] == text


@pytest.mark.parametrize("batch", [1, 500])
def test_approvals_keep_their_keys_whichever_half_came_first(project, monkeypatch, batch):
    half = {"session_id": "s", "loop_id": "s.1", "timestamp": "2026-01-01T12:00:01Z"}
    requests = [{**half, "type": "ApprovalRequested", "approval_id": name} for name in ("a", "b")]
    decisions = [
        {**half, "type": "ApprovalResolved", "approval_id": name, "decision": "granted"} for name in "ba"
    ]
    first = {**half, "type": "AgentStart", "agent_id": "x"}
    lines = [json.dumps(event).encode() for event in (first, requests[0], *decisions, requests[1])]
    for number, line in enumerate(lines):
        ingest(Batch(project=project.pk, producer="p", first=number, lines=[line]))
    assert Approval.objects.exists()
    before = keys()
    monkeypatch.setattr("recorder.projection.rebuild.BATCH", batch)
    rebuild()
    assert keys() == before


def test_a_rebuild_repairs_records(project):
    play(project, "01-tools-two-prompts")
    before = digest(project)
    Session.objects.update(title="wrong", turns=99)
    Turn.objects.all().delete()
    assert list(findings()) != []
    rebuild()
    assert digest(project) == before
    assert list(findings()) == []


def test_one_project_can_be_rebuilt_alone(project):
    other = Project.objects.create(slug="other")
    play(project, "01-tools-two-prompts")
    play(other, "01-tools-two-prompts")
    Session.objects.update(title="wrong")
    rebuild(project="other")
    assert Session.objects.get(project=project).title == "wrong"
    assert Session.objects.get(project=other).title == "Why do the tests fail?"


def test_an_unknown_project_is_an_error():
    with pytest.raises(CommandError, match="no project 'nowhere'"):
        rebuild(project="nowhere")


def test_a_rebuild_waits_for_the_server_to_stop(project, monkeypatch):
    server_file = Path(settings.DATA) / "server.json"
    server_file.write_text(json.dumps({"pid": 1, "url": "http://127.0.0.1:8000"}))
    try:
        with pytest.raises(CommandError, match="the server runs"):
            rebuild()
        rebuild(force=True)
        server_file.write_text(json.dumps({"pid": 2**22 + 1}))
        rebuild()
    finally:
        server_file.unlink()


def test_a_colour_stays_although_an_earlier_config_is_gone(project):
    play(project, "03-parallel-judge")
    slots = dict(ModelConfig.objects.values_list("key", "slot"))
    ModelConfig.objects.filter(slot=2).update(slot=8)
    rebuild()
    again = dict(ModelConfig.objects.values_list("key", "slot"))
    assert again == {key: 8 if slot == 2 else slot for key, slot in slots.items()}


def test_a_hole_in_the_numbers_is_found(project):
    play(project, "01-tools-two-prompts")
    JournalEvent.objects.filter(seq__in=(4, 5)).delete()
    found = list(findings())
    assert any("numbers 4 to 5 are neither in the journal nor in quarantine" in each for each in found)


def test_a_quarantined_number_is_no_hole_also_after_it_was_pruned(project):
    lines = [*lines_of("09-process-killed-in-tool")[:3], b"{oops", *lines_of("09-process-killed-in-tool")[3:]]
    ingest(Batch(project=project.pk, producer="p", first=0, lines=lines))
    assert list(findings()) == []
    long_ago = timezone.now() - timedelta(days=8)
    with tampering():
        JournalEvent.objects.update(received_at=long_ago)
    QuarantinedLine.objects.update(received_at=long_ago)
    call_command("prune", stdout=StringIO())
    assert not QuarantinedLine.objects.exists()
    assert list(findings()) == []


def test_what_is_younger_than_a_week_stays_in_quarantine(project):
    ingest(Batch(project=project.pk, producer="p", first=0, lines=[b"{oops"]))
    out = StringIO()
    call_command("prune", stdout=out)
    assert out.getvalue().endswith("\nremoved: 0 bodies and 0 rejected lines\n")
    assert QuarantinedLine.objects.count() == 1


def test_a_line_without_a_place_and_a_wrong_counter_are_found(project):
    play(project, "01-tools-two-prompts")
    EventRecord.objects.order_by("pk").last().delete()
    LoopRecord.objects.update(turns=7)
    found = "\n".join(findings())
    assert "journal: 1 lines have no event record" in found
    assert "turns is 7, but 3 rows exist" in found


def test_a_circle_of_parents_is_found(project):
    play(project, "02-continue-rerun-branch")
    first, second = LoopRecord.objects.order_by("pk")[:2]
    LoopRecord.objects.filter(pk=first.pk).update(parent=second)
    assert any("is its own ancestor" in each for each in findings())


def test_the_command_prints_what_it_finds_and_fails(project):
    play(project, "01-tools-two-prompts")
    out = StringIO()
    call_command("check_integrity", stdout=out)
    assert "nothing found" in out.getvalue()
    Session.objects.update(loops=5)
    with pytest.raises(CommandError, match="1 findings"):
        call_command("check_integrity", stdout=out)
    assert "loops is 5, but 2 rows exist" in out.getvalue()
