"""The conversation of a session that came as spans and as a transcript."""

import pytest

from recorder.models import LoopRecord, Project
from tests.recorder.journal.spans import pairs

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("spans_first", [True, False])
def test_a_turn_shows_its_reported_cost_and_nothing_of_the_merge(admin_client, spans_first):
    project = Project.objects.create(slug="acme")
    record = [pairs.record_spans, pairs.record_transcripts]
    for part in record if spans_first else reversed(record):
        part(project, pairs.BOTH)
    last = LoopRecord.objects.order_by("started_at").last()

    html = admin_client.get(f"/p/acme/sessions/{last.session_id}/loops/{last.pk}").content.decode()
    assert "And tomorrow?" in html
    assert "$0.00080" in html
    assert "Unknown event type" not in html
