"""Sessions that repeat each other's texts, some of them with a secret, and the rules that mask it."""

from datetime import timedelta

from django.utils import timezone

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.journal.read import texts
from recorder.masking.matcher import OwnPattern, RuleSettings
from recorder.masking.project_rules import masker_of
from recorder.models import JournalEvent
from tests.support.build import line
from tests.support.small_loop import Loop

NOW = timezone.now()
SECRET = "zanzibar-lighthouse-9417"
RULES = RuleSettings(patterns=(OwnPattern("place", r"zanzibar-[a-z]+-\d+"),))
LONG = "The common system prompt of all sessions. " * 40
SECRET_LONG = f"{LONG}{SECRET} {LONG}"


def play(project, lines, producer="p", at=NOW, **options):
    return ingest(Batch(project.pk, producer, None, lines, received_at=at, **options))


def whole(session, text):
    return list(map(line, Loop(session, "a.1").whole(text)))


def stored(project):
    rows = JournalEvent.objects.filter(project=project, size__gt=0).order_by("pk")
    return texts(rows.values_list("pk", flat=True))


def expected(project, lines):
    """Return lines as they would have been stored by the rules of today."""
    masker = masker_of(project.pk)
    return {pk: masker.mask(raw).line for pk, raw in lines.items()}


def record_sessions(*projects):
    """Record sessions of two producers and days that repeat each other's texts; some have a secret."""
    for n, text in enumerate((LONG, SECRET_LONG, LONG, f"{SECRET} {LONG}", SECRET_LONG, LONG)):
        lines = whole(f"s{n}", f"{text} {n}")
        for project in projects:
            play(project, lines, "pq"[n % 2], NOW - timedelta(days=n // 4))
