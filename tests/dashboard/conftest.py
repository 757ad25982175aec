"""Fixtures of page tests: a project with a reader, live pages, and the read API."""

from math import inf

import pytest

from dashboard.live import consumers
from recorder.access import tokens
from tests.dashboard.open_page import OpenPage, Place, in_thread, leave_thread


@pytest.fixture
def place(transactional_db):
    yield Place("default-project")
    leave_thread()


@pytest.fixture
async def open_page(place, monkeypatch):
    """Return a function that opens a page with its socket, which may be silent while others are read."""
    monkeypatch.setattr(consumers, "SILENCE_S", inf)
    pages = []

    async def open_page(path: str) -> OpenPage:
        page = OpenPage(place, path, await in_thread(place.get, path))
        pages.append(page)
        await page.connect()
        return page

    yield open_page
    for page in pages:
        await page.close()


@pytest.fixture
def get(client, project):
    """Return a function that requests the read API with a token: `get(path, expect=200, **query)`."""
    bearer = {"Authorization": f"Bearer {tokens.issue(project, 'reads', ['read'])}"}

    def get(path, *, expect=200, **query):
        answer = client.get(f"/api/v1/{path}", query, headers=bearer)
        assert answer.status_code == expect, answer.content
        return answer.json() if answer["Content-Type"].startswith("application/json") else answer

    return get
