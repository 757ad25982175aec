"""A project with evaluations, and its leaderboard for a signed-in member."""

import json
import re
from html import unescape
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import Project
from tests.dashboard.pages.leaderboard.expected_standings import evaluation, sixty

TAPES = Path(__file__).parents[3] / "tapes" / "phi-core"


@pytest.fixture
def project(db):
    return Project.objects.create(slug="default")


@pytest.fixture
def feed(project):
    def feed(*events, into=project):
        lines = [json.dumps(event).encode() for event in events]
        assert ingest(Batch(project=into.pk, producer=None, first=None, lines=lines)).rejected == []

    return feed


@pytest.fixture
def four(feed):
    """Feed the sixty judged groups of four.py, five that a rule decided and three that fell back."""
    ruled = [event for n in range(100, 105) for event in evaluation(n, "ABCD", 0, judge=None)]
    fallen = [event for n in range(200, 203) for event in evaluation(n, "ABCD", 0, reply="All are fine.")]
    feed(*sixty(), *ruled, *fallen)


class Page:
    """One response and its content."""

    def __init__(self, html):
        self.html = html
        self.text = re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", html)))

    def section(self, name):
        """Return the rows of the table below a heading, cell by cell."""
        part = self.html.split(f'id="{name}"', 1)[1].split("</section>", 1)[0]
        return rows(part)

    @property
    def table(self):
        return rows(self.html.split('aria-label="Configs"', 1)[1].split("</table>", 1)[0])


def rows(html):
    body = html.split("<tbody>", 1)[1].split("</tbody>", 1)[0]
    return [
        [Page(cell).text.strip() for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S)]
        for row in re.findall(r"<tr[^>]*>(.*?)</tr>", body, re.S)
    ]


@pytest.fixture
def member(client, project):
    user = User.objects.create_user("reader")
    project.memberships.create(user=user)
    client.force_login(user)
    return client


@pytest.fixture
def see(member):
    def see(query=""):
        answer = member.get(f"/p/default/leaderboard{query}")
        assert answer.status_code == 200
        return Page(answer.content.decode())

    return see
