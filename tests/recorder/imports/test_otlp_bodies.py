"""Imported OTLP bodies give the records that the endpoint gives, once."""

import pytest

from bench.limits.span_bodies import field
from recorder.imports.detect import recordings
from recorder.imports.import_files import import_files
from recorder.imports.report import Report
from recorder.models import Project
from tests.recorder.journal.spans import captures

pytestmark = pytest.mark.django_db(transaction=True)


def imported(project, *paths, wanted="auto"):
    report = Report()
    found = recordings(list(paths), wanted, report)
    import_files(project, found, report, lambda size, label: None, flush=True)
    return report


@pytest.mark.parametrize(
    "capture",
    [
        "frameworks/pydantic-ai/06-sub-agent",
        "coding_agents/claude-code-otlp/write",
        "frameworks/vercel-ai-sdk/06-sub-agent",
    ],
)
@pytest.mark.parametrize("wanted", ["auto", "otlp"])
def test_a_folder_of_bodies(capture, wanted, tmp_path):
    for path in (captures.TAPES / capture).glob("[0-9]*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    sent, project = Project.objects.create(slug="sent"), Project.objects.create(slug="imported")
    for batch in captures.lines(capture):
        captures.record(sent, batch)

    report = imported(project, tmp_path, wanted=wanted)

    assert report.problems == []
    assert [*captures.differences(captures.shape(project), captures.shape(sent))] == []
    assert report.loops == len(captures.shape(sent)[0]["loops"])
    again = imported(project, tmp_path, wanted=wanted)
    assert (again.events, again.loops) == (0, 0)


def test_a_file_that_is_no_body_is_a_problem(tmp_path):
    path = tmp_path / "traces.pb"
    path.write_bytes(b"\xff\xff\xff\xff")

    assert "no OTLP export request" in imported(Project.objects.create(slug="p"), path).problems[0]


def test_a_body_over_its_bounds_is_a_problem_and_the_others_are_imported(tmp_path):
    resource = field(1, b"".join(field(1, field(1, b"k")) for _ in range(250_000)))
    (tmp_path / "a-traces.pb").write_bytes(field(1, resource))
    capture = next((captures.TAPES / "frameworks/pydantic-ai/06-sub-agent").glob("[0-9]*"))
    (tmp_path / f"b-{capture.name}").write_bytes(capture.read_bytes())

    report = imported(Project.objects.create(slug="p"), tmp_path)

    assert len(report.problems) == 1
    assert report.loops > 0
