"""Evaluation pages of a signed-in user; events are sent through the real ingest."""

import pytest

from recorder.models import ParallelGroupRecord
from tests.dashboard.pages.session.conftest import feed, project, reader, see

__all__ = ["feed", "project", "reader", "see"]


@pytest.fixture
def evaluation(see):
    """Open the page of the last evaluation."""

    def evaluation(query=""):
        pk = ParallelGroupRecord.objects.latest("pk").pk
        return see(f"/p/default/evaluations/{pk}{query}")

    return evaluation


def rows(page):
    """Return the rows of turns as words, cell by cell; a gap is "~"."""
    steps = [e for e in page.root.walk() if e.attributes.get("class") == "steps"]
    every = [row for part in steps for row in part.elements if row.tag == "tr"]
    found = [row for row in every if row.attributes.get("class") != "row-group"]
    return [[text(cell) for cell in row.elements] for row in found]


def text(cell):
    if cell.attributes.get("class") == "turn-gap":
        return "~"
    return " ".join(" ".join(part.split()) for part in strings(cell)).strip()


def strings(element):
    for child in element.children:
        yield from [child] if isinstance(child, str) else strings(child)
