"""Lines that are sent again are duplicates, also if they were masked, and if rules changed between."""

import pytest

from recorder.ingest.commit.pipeline import Batch, ingest, record
from recorder.journal.read import texts
from recorder.masking.matcher import OwnPattern, RuleSettings
from recorder.masking.project_rules import save
from recorder.models import JournalEvent, QuarantinedLine
from tests.support.build import line

pytestmark = pytest.mark.django_db(transaction=True)

KEY = "AKIAIOSFODNN7EXAMPLE"
LINES = [line({"type": "X", "note": note}) for note in (KEY, "plain", "ada@example.org T-12")]
NONE = RuleSettings(off=frozenset(("aws-access-key-id",)))
MORE = RuleSettings(on=frozenset(("email",)), patterns=(OwnPattern("ticket", "T-[0-9]+"),))
SETTINGS = [RuleSettings(), NONE, MORE]


def send(project, lines=LINES):
    return ingest(Batch(project.pk, "p", 0, list(lines)))


@pytest.mark.parametrize("before", SETTINGS)
@pytest.mark.parametrize("after", SETTINGS)
def test_a_repeated_batch_is_a_duplicate_under_any_rules(project, before, after):
    save(project.pk, before)
    first = send(project)
    save(project.pk, after)
    second = send(project)

    assert (first.accepted, second.accepted, second.duplicates) == (3, 0, 3)
    assert second.rejected == []
    assert not QuarantinedLine.objects.exists()


def test_another_secret_under_the_same_number_is_a_conflict(project):
    send(project)
    other = [LINES[0].replace(b"7", b"8"), *LINES[1:]]
    assert [(each.seq, each.code) for each in send(project, other).rejected] == [(0, "seq_conflict")]


def test_a_repetition_within_one_batch_group_is_a_duplicate(project):
    first, second = (Batch(project.pk, "p", 0, LINES) for _ in range(2))
    assert record([first, second])[1].duplicates == 3


def test_stored_lines_that_are_sent_again_are_duplicates(project):
    send(project)
    stored = texts(JournalEvent.objects.values_list("pk", flat=True))
    receipt = send(project, [stored[key] for key in sorted(stored)])
    assert (receipt.duplicates, receipt.rejected) == (3, [])


def test_only_lines_that_masking_changed_keep_a_hash_of_what_was_received(project):
    send(project)
    rows = JournalEvent.objects.order_by("pk").values_list("masked", "original")
    assert [(masks, original is not None) for masks, original in rows] == [
        (1, True),
        (None, False),
        (None, False),
    ]
    assert len(rows[0][1]) == 16
