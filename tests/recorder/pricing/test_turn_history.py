"""History recorded before turns had configs and agents is corrected to the records of a rebuild."""

import re
from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import LoopRecord, ModelConfig, Project, Repricing, Session, Spending, Turn
from recorder.pricing import backfill, rollups, turn_history
from recorder.projection.rebuild import rebuild
from tests.support import build
from tests.support.foreign_tapes import tape
from tests.support.project_digest import records

pytestmark = pytest.mark.django_db(transaction=True)
MIGRATION = import_module("recorder.migrations.0005_turn_configs")
HAIKU, SONNET = "claude-haiku-4-5", "claude-sonnet-4-5"


def play(project, *events, producer="p", form="native"):
    lines = [event if isinstance(event, bytes) else build.line(event) for event in events]
    assert ingest(Batch(project.pk, producer, 0, lines, form)).rejected == []


def failing_fallback(loop="t.a.1"):
    """A loop whose second turn another provider of its model answers, with a failed tool and an error."""
    config = {"model": HAIKU, "provider": "anthropic", "config_id": "fast"}
    other = build.assistant(model=HAIKU, provider="bedrock", stop="error", error="Overloaded.")
    return [
        build.agent_start(loop, config_snapshot=config),
        build.turn_start(loop),
        build.turn_end(loop, tokens=50, message=build.assistant(model=HAIKU)),
        build.turn_start(loop, index=1),
        build.tool_start(loop),
        build.tool_end(loop, is_error=True),
        build.turn_end(loop, tokens=70, message=other),
        build.agent_end(loop, tokens=120),
    ]


def as_recorded_before(project):
    """Give the records what 0.2.0 wrote: each turn has the config, agent and errors of its loop."""
    of_loop = "SELECT l.config_id FROM recorder_looprecord l WHERE l.id = recorder_turn.loop_id"
    statements = (
        f"UPDATE recorder_turn SET agent_id = '', errors = 0, config_id = ({of_loop})",
        "UPDATE recorder_looprecord SET turn_errors = 0, has_switched = FALSE",
    )
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        rollups.delete(project.pk)
        sums = rollups.Sums()
        for record in rollups.ended_records("TRUE"):
            sums.count(record, record.segment if record.__class__.__name__ == "Loop" else record.loop.segment)
        sums.write(project.pk)
        used = "SELECT config_id FROM recorder_looprecord WHERE config_id IS NOT NULL"
        cursor.execute(f"DELETE FROM recorder_modelconfig WHERE id NOT IN ({used})")


def unlabelled(project):
    """Return all records without colours and labels of configs, which go by the order of creation."""
    names = re.compile(r'"(parameter|slot)": [^,]+, ')
    return [names.sub("", record) for record in records(project.pk)]


def correct():
    """Do what the upgrade does: request the correction, then work on it to its end."""
    MIGRATION.request_correction(apps, None)
    while backfill.step():
        pass


@pytest.fixture
def history(project):
    play(project, *build.handed_over("s.a.1"), producer="p1")
    play(project, *failing_fallback(), producer="p2")
    play(project, *build.small_loop("u.a.1", tokens=9), producer="p3")
    play(project, *tape("cagent/all-event-types.hand-made.events.jsonl"), producer="p4", form="cagent")
    return project


def test_a_loop_with_a_hand_off_gets_what_a_rebuild_makes_of_it(history):
    today = unlabelled(history)
    as_recorded_before(history)
    assert unlabelled(history) != today
    assert not Turn.objects.filter(config__model=SONNET, loop__session__session_id="s").exists()

    correct()

    assert unlabelled(history) == today
    corrected = records(history.pk)
    rebuild(history)
    assert records(history.pk) == corrected
    labels = ModelConfig.objects.filter(model=HAIKU).values_list("parameter", flat=True)
    assert len(labels) == len(set(labels)) == 3


def test_the_correction_of_several_batches_can_stop_and_go_on(history, monkeypatch):
    today = unlabelled(history)
    as_recorded_before(history)
    monkeypatch.setattr(turn_history, "BATCH_LOOPS", 1)

    correct()

    assert unlabelled(history) == today
    job = Repricing.objects.get()
    assert (job.stage, job.processed) == ("done", Turn.objects.filter(state="done").count())


def test_each_model_and_agent_has_its_turns_and_money_afterwards(history):
    as_recorded_before(history)
    correct()

    loop = LoopRecord.objects.get(session__session_id="s")
    assert loop.has_switched
    assert [
        (t.config.model, t.agent_id) for t in loop.turn_records.select_related("config").order_by("pk")
    ] == [*((HAIKU, ""), (SONNET, "expert"), (HAIKU, ""))]
    session = Session.objects.get(session_id="s")
    sums = Spending.objects.filter(project=history, span="day", agent_id__in=("agent-a", "expert"))
    sums = sums.filter(config__model__in=(HAIKU, SONNET), config__provider="anthropic", config__config_id="")
    found = {(row.config.model, row.agent_id): (row.turns, row.cost_nano) for row in sums}
    assert {key: turns for key, (turns, _) in found.items()} == {(HAIKU, "agent-a"): 2, (SONNET, "expert"): 1}
    assert sum(nano for _, nano in found.values()) == session.cost_nano


def test_a_project_is_corrected_once_and_no_other(history):
    other = Project.objects.create(slug="other")
    play(other, *build.handed_over("s.a.1"), producer="q")
    before = records(other.pk)
    correct()
    assert set(Repricing.objects.values_list("project__slug", flat=True)) == {"default", "other"}
    assert records(other.pk) == before
