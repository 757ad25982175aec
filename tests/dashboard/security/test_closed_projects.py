"""A project that is archived or deleted while sockets are open: they end, and nothing more is recorded."""

import pytest

from dashboard.live import consumers
from dashboard.security import recheck
from recorder.access import tokens
from recorder.ingest.websocket import consumers as ingest_socket
from recorder.models import JournalEvent
from recorder.operations.audit import COMMAND
from recorder.operations.people import project_deletion, projects
from tests.dashboard.open_page import in_thread
from tests.support.build import line
from tests.support.endpoint_clients import Client as IngestClient
from tests.support.endpoint_clients import post
from tests.support.small_loop import Loop


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    """`test_lost_access` checks that the real pauses are at most 2.5 s."""
    monkeypatch.setattr(recheck, "RECHECK_S", 0.02)
    monkeypatch.setattr(ingest_socket, "RECHECK_S", 0.02)


@pytest.fixture
async def token(place):
    return await in_thread(lambda: tokens.issue(place.project, "t", ["ingest", "read"], user=place.user))


def archive(place):
    projects.archive(place.project, COMMAND)


def delete(place):
    project_deletion.begin(place.project, COMMAND)


ENDINGS = {"archived": (archive, ingest_socket.SCOPE, 403), "deleted": (delete, ingest_socket.TOKEN, 401)}


@pytest.mark.parametrize("ending", ENDINGS)
async def test_an_ingest_socket_ends(place, token, ending):
    end, code, _ = ENDINGS[ending]
    async with IngestClient(token) as client:
        await client.hello()
        await in_thread(end, place)
        assert (await client.until_closed())[1] == code
    async with IngestClient(token) as client:
        assert (await client.until_closed())[1] == code


@pytest.mark.parametrize("ending", ENDINGS)
async def test_what_an_open_socket_sends_before_the_check_is_not_recorded(place, token, ending, monkeypatch):
    monkeypatch.setattr(ingest_socket, "RECHECK_S", 600.0)
    end, _, _ = ENDINGS[ending]
    lines = [line(event) for event in Loop("late").whole("hello")]
    async with IngestClient(token) as client:
        await client.hello()
        await in_thread(end, place)
        await client.send(0, *lines)
        assert (await client.until_closed())[1] == ingest_socket.SCOPE
    assert await in_thread(JournalEvent.objects.count) == 0


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_request_is_refused(place, token, ending):
    end, _, status = ENDINGS[ending]
    body = b"\n".join(line(event) for event in Loop("late").whole("hello"))
    end(place)
    assert post(body, token).status == status
    assert not JournalEvent.objects.exists()


async def test_the_socket_of_a_page_ends_with_the_project_and_stays_while_it_is_archived(place, open_page):
    page = await open_page(place.sessions())
    await in_thread(archive, place)
    other = await open_page(place.sessions())
    assert not page.socket.future.done(), "an archived project may be read"
    await in_thread(delete, place)
    assert await page.closed() == consumers.SIGNED_OUT
    assert await other.closed() == consumers.SIGNED_OUT
