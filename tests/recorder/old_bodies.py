"""Bodies that retention deletes: recorded some days ago, consolidated, and pruned now."""

from datetime import timedelta

from django.utils import timezone

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.journal import append
from recorder.journal.read import texts
from recorder.models import JournalEvent
from recorder.operations import retention
from tests.phi_core.scenarios import FOLDER

NOW = timezone.now()


def play(project, tape, days_ago, producer=None):
    lines = tape if isinstance(tape, list) else (FOLDER / f"{tape}.events.jsonl").read_bytes().splitlines()
    name = producer or f"{tape} {days_ago}"
    ingest(Batch(project.pk, name, None, lines, received_at=NOW - timedelta(days=days_ago)))
    return lines


def consolidate(**of):
    keys = JournalEvent.objects.filter(**of).values_list("pk", flat=True)
    append.mark_consolidated(list(keys), NOW)


def prune(project):
    return retention.prune(project, NOW)


def bodies():
    return texts(JournalEvent.objects.filter(size__gt=0).values_list("pk", flat=True))


def left():
    return JournalEvent.objects.filter(pruned_on=None, size__gt=0)
