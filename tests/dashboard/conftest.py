"""What tests of pages have: a place, a way to open its pages live, and a way to ask the read API."""

import pytest

from recorder.access import tokens
from tests.dashboard.open_page import OpenPage, Place, in_thread, leave_thread


@pytest.fixture
def place(transactional_db):
    yield Place("default-project")
    leave_thread()


@pytest.fixture
async def open_page(place):
    """Return a way to open a page of the place and have it live."""
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
    """Ask the API as a token of the project may; `get(path, name=value)`."""
    bearer = {"Authorization": f"Bearer {tokens.issue(project, 'reads', ['read'])}"}

    def get(path, *, expect=200, **query):
        answer = client.get(f"/api/v1/{path}", query, headers=bearer)
        assert answer.status_code == expect, answer.content
        return answer.json() if answer["Content-Type"].startswith("application/json") else answer

    return get
