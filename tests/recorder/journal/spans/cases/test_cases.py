"""Every case of bodies gives its records as sent, span by span in reverse, doubled, and rebuilt."""

import pytest

from recorder.models import Project
from recorder.operations.integrity_check import findings
from recorder.projection.rebuild import rebuild
from tests.recorder.journal.spans import captures
from tests.recorder.journal.spans.cases import cases

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("name", cases.NAMES)
def test_a_case_gives_its_records_in_any_order(name):
    wanted, batches = cases.expected(name), cases.batches(name)
    spans = [[line] for batch in batches for line in batch]
    orders = {
        "as sent": batches,
        "span by span": spans,
        "reversed": spans[::-1],
        "doubled": [*batches, *batches],
        "at once": [[line for batch in batches for line in batch]],
    }
    for order, sent in orders.items():
        project = Project.objects.create(slug=order.replace(" ", "-"))
        for batch in sent:
            captures.record(project, batch)
        assert cases.records(project) == wanted, order
    rebuild(project)
    assert cases.records(project) == wanted
    assert [each for each in findings() if not each.startswith("quarantine")] == []
