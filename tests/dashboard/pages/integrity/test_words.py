"""Reasons in words: every code that the recorder or an endpoint gives has its sentence."""

import re

from dashboard.pages.integrity.words import INCONSISTENCIES, sentence
from tests.architecture.tree import CODE
from tests.support import build

REPORTED = re.compile(r'context\.anomaly\(\s*"(\w+)"')


def test_every_kind_of_inconsistency_that_the_recorder_reports_has_its_sentence():
    core = [file.read_text() for file in CODE if "core" in file.parts]
    kinds = {kind for source in core for kind in REPORTED.findall(source)}
    assert kinds == set(INCONSISTENCIES)


def test_a_kind_that_an_agent_reports_says_itself_what_it_is():
    assert sentence("inconsistencies", "odd_clock") == ""


def test_a_group_has_the_sentence_and_the_kind_behind_it(feed, see):
    feed(build.turn_start("never.started.1"))
    page = see()
    assert "Events came for a loop that never started" in page
    assert '<code class="text-faint">orphan</code>' in page
