"""What changed in the requests of a session is in its sums, and the same when they are made again."""

import json

import pytest
from django.db.models import Sum

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.ledger import follower
from recorder.models import LedgerBlock, LedgerCall, LedgerDay, LedgerRedo, LedgerSum, Session
from recorder.projection.rebuild import rebuild
from tests.recorder.ledger import changing_requests as sent

pytestmark = pytest.mark.django_db(transaction=True)


def record(project, events):
    lines = [json.dumps(event).encode() for event in events]
    assert ingest(Batch(project.pk, "agent", None, lines)).rejected == []
    follower.run_all()


def losses(rows):
    """Return calls, tokens and nano-dollars that were lost, by verdict and change."""
    found = rows.filter(kind="miss", tokens__gt=0).values_list("name", "server")
    return {
        (verdict, change): (calls, tokens, nano)
        for verdict, change, calls, tokens, nano in found.annotate(
            Sum("blocks"), Sum("tokens"), Sum("cost_nano")
        ).order_by()
    }


def test_a_planted_change_is_in_the_sums_with_what_it_lost(project):
    record(project, sent.events())

    assert losses(LedgerSum.objects.all()) == losses(LedgerDay.objects.all()) == sent.LOSSES
    marked = LedgerBlock.objects.filter(detail__startswith="changed: ").order_by("pk")
    assert [(block.kind, block.detail) for block in marked] == sent.MARKED


@pytest.mark.parametrize("again", ["costs", "session", "project"])
def test_changes_are_the_same_when_made_again(project, again):
    record(project, sent.events())
    calls = list(LedgerCall.objects.order_by("pk").values_list("verdict", "lost_tokens"))

    if again == "project":
        rebuild(project)
    else:
        LedgerRedo.mark(Session.objects.values_list("pk", flat=True), is_whole=again == "session")
    follower.run_all()

    assert losses(LedgerSum.objects.all()) == losses(LedgerDay.objects.all()) == sent.LOSSES
    assert list(LedgerCall.objects.order_by("pk").values_list("verdict", "lost_tokens")) == calls
