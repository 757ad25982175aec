"""The list of sessions of a signed-in user; events are sent through the real ingest."""

import json
import re
from html import unescape
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import Project

TAPES = Path(__file__).parents[3] / "tapes" / "phi-core"


@pytest.fixture
def project(db):
    return Project.objects.create(slug="default")


@pytest.fixture
def feed(project, django_capture_on_commit_callbacks):
    """Record events, or the lines of a scenario, as one producer's, and publish the invalidation."""

    def feed(*events, scenario="", into=project, **fields):
        lines = [json.dumps(event).encode() for event in events]
        if scenario:
            lines = (TAPES / f"{scenario}.events.jsonl").read_bytes().splitlines()
        batch = Batch(project=into.pk, producer=None, first=None, lines=lines, **fields)
        with django_capture_on_commit_callbacks(execute=True):
            receipt = ingest(batch)
        assert receipt.rejected == []

    return feed


class Page:
    """One response and its content."""

    def __init__(self, html: str) -> None:
        self.html = html
        self.text = unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html)))

    @property
    def titles(self) -> list[str]:
        return [unescape(title) for title in re.findall(r'<b class="clip[^>]*>([^<]*)</b>', self.html)]

    @property
    def states(self) -> list[str]:
        return re.findall(r'class="session-row"[^>]*data-state="([a-z]+)"', self.html)

    @property
    def socket(self) -> str:
        return unescape(re.search(r'ws-connect="([^"]*)"', self.html)[1])

    def link(self, words: str) -> str:
        """Return where the link with these words leads."""
        for href, inside in re.findall(r'<a[^>]*?href="([^"]*)"[^>]*>(.*?)</a>', self.html, re.S):
            if words in unescape(re.sub(r"<[^>]+>", "", inside)):
                return unescape(href)
        raise AssertionError(f"no link {words!r}")


@pytest.fixture
def see(client, project):
    """Open the list as a member of the project: `see("?status=running")`."""
    user = User.objects.create_user("reader")
    project.memberships.create(user=user)
    client.force_login(user)

    def see(query="", **params):
        answer = client.get(f"/p/default/sessions{query}", params or None)
        assert answer.status_code == 200
        return Page(answer.content.decode())

    return see
