"""After pruning: what is left is recognised, found and reported, and recording continues."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.journal.delta.encoding import fingerprint, sources
from recorder.journal.read import Pruned, fingerprints
from recorder.models import EventRecord, JournalEvent, LoopRecord, Project, Session
from recorder.operations import retention
from recorder.operations.integrity_check import findings
from recorder.projection import export
from recorder.projection.as_of import as_of
from recorder.projection.rebuild import BodiesPruned, rebuild
from tests.phi_core.scenarios import FOLDER
from tests.recorder.old_bodies import NOW, bodies, consolidate, play, prune
from tests.support.build import agent_end, agent_start, line, turn_end
from tests.support.long_loop import LongLoop
from tests.support.project_digest import records

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_pruned_line_that_is_sent_again_is_recognized(project):
    lines = play(project, "01-tools-two-prompts", 40, "p")
    consolidate()
    prune(project)
    before = records(project)

    again = ingest(Batch(project.pk, "p", 0, lines))
    other = ingest(Batch(project.pk, "p", 0, [lines[0].replace(b"{", b"{ ", 1), *lines[1:]]))

    assert (again.duplicates, again.rejected, again.upto) == (len(lines), [], len(lines) - 1)
    assert [each.code for each in other.rejected] == ["seq_conflict"]
    assert records(project) == before
    assert fingerprints(JournalEvent.objects.values_list("pk", flat=True)) == {
        pk: fingerprint(raw)
        for pk, raw in zip(
            JournalEvent.objects.values_list("pk", flat=True).order_by("pk"), lines, strict=True
        )
    }


@pytest.mark.parametrize(
    "name", ["phi-core/01-tools-two-prompts.sessions.json", "cagent/store", "aidaemon/store"]
)
def test_importing_again_what_was_pruned_changes_nothing(project, name, tmp_path):
    files = {"cagent/store": "cagent/*.db", "aidaemon/store": "aidaemon/*.db"}
    found = sorted((FOLDER.parent).glob(files.get(name, name)))
    assert found
    call_command("import_runs", *found, stdout=StringIO(), stderr=StringIO())
    consolidate()
    retention.prune(project, NOW + timedelta(days=60))
    assert JournalEvent.objects.exclude(pruned_on=None).exists()
    before, lines = records(project), JournalEvent.objects.count()

    call_command("import_runs", *found, stdout=StringIO(), stderr=StringIO())

    assert JournalEvent.objects.count() == lines
    assert records(project) == before


def test_a_session_says_when_bodies_went(project):
    play(project, "01-tools-two-prompts", 40)
    consolidate()
    assert Session.objects.get().pruned_on is None

    prune(project)

    assert Session.objects.get().pruned_on == NOW.date()


def test_what_needs_bodies_says_that_they_are_gone(project):
    play(project, "01-tools-two-prompts", 40)
    consolidate()
    prune(project)
    session = Session.objects.get()
    event = EventRecord.objects.order_by("-pk").first()
    loop = LoopRecord.objects.first()

    for ask in (
        lambda: export.phi_session(session),
        lambda: export.phi_loop(session, loop.pk),
        lambda: list(export.raw_lines(session)),
        lambda: as_of(session, event.pk).__enter__(),
    ):
        with pytest.raises(Pruned, match=f"bodies pruned on {NOW.day} {NOW:%b %Y}"):
            ask()
    for shape in ("events", "phi-session"):
        with pytest.raises(CommandError, match=r"bodies pruned on .*: the session cannot be exported whole"):
            call_command("export_session", session.session_id, "--as", shape, stdout=StringIO())


def test_a_rebuild_destroys_no_records(project):
    other = Project.objects.create(slug="other")
    play(project, "01-tools-two-prompts", 40)
    play(other, "01-tools-two-prompts", 40)
    consolidate(project=project)
    prune(project)
    before = records(project)

    with pytest.raises(CommandError, match=r"bodies of .* lines of default were pruned"):
        call_command("rebuild", "--project", "default", stdout=StringIO(), stderr=StringIO())
    with pytest.raises(BodiesPruned):
        rebuild(project)
    call_command("rebuild", "--project", "other", stdout=StringIO(), stderr=StringIO())

    assert records(project) == before
    assert list(findings()) == []


def test_a_line_whose_source_was_pruned_is_found(project):
    play(project, list(LongLoop(6).lines()), 40, "p")
    needed = {s for pk, of in JournalEvent.objects.exclude(pieces=None).values_list("pk", "pieces")
              for s in sources(pk, of)}  # fmt: skip
    pk = min(needed)
    JournalEvent.objects.filter(pk=pk).update(own=bytes(16), pieces=None, pruned_on=NOW.date())

    assert any("cannot be restored" in finding for finding in findings())


def test_the_session_goes_on_after_its_bodies_went(project):
    play(
        project,
        [line(agent_start("s.a.1")), line(turn_end("s.a.1", tokens=7)), line(agent_end("s.a.1"))],
        40,
        "p",
    )
    consolidate()
    prune(project)

    ingest(Batch(project.pk, "p", None, [line(agent_start("s.a.2", at=20)), line(agent_end("s.a.2", at=30))]))

    session = Session.objects.get()
    assert (session.loops, session.pruned_on) == (2, NOW.date())
    assert json.loads(bodies()[EventRecord.objects.latest("pk").pk])["loop_id"] == "s.a.2"
    assert list(findings()) == []
