"""Reported shapes of transcripts give the right records, in whichever way and order their lines come."""

import pytest

from recorder.access import tokens
from recorder.models import Project
from recorder.projection.rebuild import rebuild
from tests.recorder.imports.field_cases import cases
from tests.recorder.journal.spans import captures
from tests.support.endpoint_clients import post

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def project():
    return Project.objects.create(slug="p")


@pytest.mark.parametrize("case", cases.CASES)
def test_an_import_shows_the_expected_values_and_a_second_one_changes_nothing(project, case):
    wanted = cases.expected(case)["expect"]
    report = cases.imported(project, cases.folder(case))
    assert [*cases.faults(cases.figures(project), wanted)] == []
    assert report.rejected == wanted.get("rejected", 0)
    before = captures.shape(project)
    again = cases.imported(project, cases.folder(case))
    assert (again.events, captures.shape(project)) == (0, before)
    rebuild(project)
    assert [*captures.differences(captures.shape(project), before)] == []


@pytest.fixture
def token(project):
    return tokens.issue(project, "tests", ["ingest"])


LIVE = [case for case in cases.CASES if not case.startswith("gm04")]  # which is no file of lines


@pytest.mark.parametrize("case", LIVE)
def test_lines_that_come_one_by_one_show_what_they_say(project, token, case):
    """After every line the records agree with each other, and after some lines with what one must see."""
    wanted = cases.expected(case)["expect"]
    looks = {each["after"]: each for each in wanted.get("live", ())}
    sent = cases.streams(case)
    for stream in sent:
        for number, line in enumerate(stream.lines):
            query = f"format={cases.form_of(case)}"
            answer = post(line, token, query=query, x_producer=stream.producer, x_first_seq=number)
            assert answer.status == 200
            assert [*cases.contradictions(project)] == []
            if look := looks.get(f"{stream.name}:{number + 1}"):
                assert [*cases.faults(cases.figures(project), look)] == []
    if look := looks.get("end"):
        assert [*cases.faults(cases.figures(project), look)] == []
    for stream in sent:
        cases.flush(project, stream, cases.form_of(case))
    by_import = {name: value for name, value in wanted.items() if name not in wanted.get("import_only", ())}
    assert [*cases.faults(cases.figures(project), by_import)] == []


@pytest.mark.parametrize("case", LIVE)
def test_files_in_any_order_and_cut_anywhere_give_the_same(case):
    """Each line is the last one of an import for a while: the loops that this cuts off go on."""
    form, sent = cases.form_of(case), cases.streams(case)
    whole = Project.objects.create(slug="whole")
    for stream in sent:
        cases.send(whole, stream, form)
        cases.flush(whole, stream, form)
    wanted = captures.shape(whole)
    for slug, order in (("cut", sent), ("reversed", sent[::-1])):
        project = Project.objects.create(slug=slug)
        for stream in order:
            for number in range(len(stream.lines)):
                cases.send(project, stream, form, number, number + 1)
                if slug == "cut":
                    cases.flush(project, stream, form)
            cases.flush(project, stream, form)
        assert [*captures.differences(captures.shape(project), wanted)] == []
        assert [*cases.contradictions(project)] == []
        rebuild(project)
        assert [*captures.differences(captures.shape(project), wanted)] == []
