"""Session pages as a signed-in reader sees them; events go in through the real ingest."""

import json
import re
from html import unescape
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from recorder.core.formats.registry import READERS
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import LoopRecord, Project, Session
from tests.dashboard.page_model import parse

TAPES = Path(__file__).parents[3] / "tapes"


@pytest.fixture
def project(db):
    return Project.objects.create(slug="default")


@pytest.fixture
def feed(project, django_capture_on_commit_callbacks):
    """Record events, or the lines of a scenario, as one producer's, and publish as after a commit."""

    def feed(*events, tape="", producer=None, rejects=0, **fields):
        lines = [event if isinstance(event, bytes) else json.dumps(event).encode() for event in events]
        if tape:
            path = next(TAPES.rglob(f"{tape}*.events.jsonl"))
            lines = path.read_bytes().splitlines()
            fields = {"format": path.parent.name if path.parent.name in READERS else "native", **fields}
        batch = Batch(project=project.pk, producer=producer, first=None, lines=lines, **fields)
        with django_capture_on_commit_callbacks(execute=True):
            receipt = ingest(batch)
        assert len(receipt.rejected) == rejects

    return feed


class Page:
    """One response with its text, panels and links."""

    def __init__(self, html: str) -> None:
        self.html = html
        self.root = parse(html)
        self.text = words(html)

    def part(self, dom_id: str) -> str:
        """Return the text of one element."""
        found = self.root.find(dom_id)
        assert found is not None, dom_id
        return words(found.html())

    @property
    def rows(self) -> list[str]:
        """Return the rows of the tree from top to bottom: kind, text and state."""
        rows = [e for e in self.root.walk() if e.id.startswith("session-loop-row-")]
        return [", ".join(_row(row)) for row in rows]

    @property
    def links(self) -> list[str]:
        return [e.attributes["href"] for e in self.root.walk() if e.tag == "a" and "href" in e.attributes]


def _row(row):
    text = words(row.html())
    kinds = [words(e.html()) for e in row.walk() if e.attributes.get("class") == "tree-kind"]
    return [kinds[0] if kinds else text.split()[0], text, row.attributes["data-state"]]


def words(html: str) -> str:
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))).strip()


@pytest.fixture
def reader(client, project):
    user = User.objects.create_user("reader")
    project.memberships.create(user=user)
    client.force_login(user)
    return client


@pytest.fixture
def see(reader):
    """Open a page: `see("/p/default/sessions/1")`."""

    def see(path):
        response = reader.get(path)
        assert response.status_code == 200, (path, response.status_code)
        return Page(response.content.decode())

    return see


@pytest.fixture
def session(see, project):
    """Open the page of a session by its id, or of the only one."""

    def session(session_id=None, query=""):
        found = project.sessions.filter(**({"session_id": session_id} if session_id else {})).get()
        return see(f"/p/default/sessions/{found.pk}{query}")

    return session


@pytest.fixture
def loop(see):
    """Open the page of a loop by the end of its id and its run."""

    def loop(ending, run=1, query=""):
        found = LoopRecord.objects.get(loop_id__endswith=ending, run=run)
        return see(f"/p/default/sessions/{found.session_id}/loops/{found.pk}{query}")

    return loop


@pytest.fixture
def every_page(reader, project):
    """Return the URL of every page of every recorded loop."""

    def every_page():
        tabs = ("?tab=events&scope=session", "?tab=events&kind=errors", "?tab=json", "?tab=json&of=api")
        loops = [
            f"/p/default/sessions/{loop.session_id}/loops/{loop.pk}" for loop in LoopRecord.objects.all()
        ]
        paths = [f"/p/default/sessions/{pk}" for pk in Session.objects.values_list("pk", flat=True)]
        paths += [f"{loops[-1]}{tab}" for tab in tabs]
        paths += [f"{loop}{tab}" for loop in loops for tab in ("", "?tab=events")]
        return [*paths, "/p/default/integrity"]

    return every_page
