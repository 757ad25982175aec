"""What tests of live pages have: a place, and a way to open its pages."""

import pytest

from tests.dashboard.opened import OpenPage, Place, in_thread, leave_thread


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
