"""Units whose keys an earlier version stored, by the id of the call alone, are read and go on."""

import hashlib

import pytest

from recorder.models import Project, SpanKey, SpanTrace
from recorder.operations.integrity_check import findings
from recorder.projection.rebuild import rebuild
from tests.recorder.core.formats.otlp.test_bare_loops import answer, call
from tests.recorder.journal.spans import captures

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_database_with_keys_of_an_earlier_version_goes_on():
    project = Project.objects.create(slug="p")
    old = "k" + hashlib.blake2b(b"call_0", digest_size=16).hexdigest()
    for number, trace in enumerate(("0a", "1a")):
        captures.record(project, [call(trace, 90_000 * number, f"s{number}")])
    SpanKey.objects.filter(key__startswith="k").delete()
    unit = SpanTrace.objects.get(trace="0a" * 16).unit
    SpanKey.objects.create(project=project, key=old, unit=unit)

    for number, trace in enumerate(("0b", "1b")):
        captures.record(project, [answer(trace, 90_000 * number + 2, f"s{number}")])
    assert [session["turns"] for session in captures.shape(project)] == [2, 2]

    rebuild(project)
    assert [(len(each["loops"]), each["turns"]) for each in captures.shape(project)] == [(1, 2), (1, 2)]
    assert list(findings()) == []
