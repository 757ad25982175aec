"""Access that is taken away while a page, a stream or a download is open: the connection ends."""

import pytest
from asgiref.testing import ApplicationCommunicator
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session as SignedInSession
from django.test import AsyncClient
from django.utils import timezone

from dashboard.asgi import application
from dashboard.live import consumers
from dashboard.pages.registry import LIVE_RIGHTS
from dashboard.security import recheck
from dashboard.security.recheck import Bearer, SignIn, until_lost
from dashboard.security.stream_access import AccessLost, while_access_holds
from recorder.access import tokens
from recorder.access.rights import Right
from recorder.database.errors import Busy
from recorder.ingest.websocket import consumers as ingest_socket
from recorder.models import AccessToken, Membership
from tests.dashboard.open_page import HOST, in_thread
from tests.support.endpoint_clients import Client as IngestClient
from tests.support.small_loop import Loop

WITHIN_S = 5.0  # after which nothing of a person or token without access is open
ENDINGS = {
    "sign-out": lambda place: place.client.logout(),
    "session ended": lambda place: SignedInSession.objects.all().delete(),
    "session expired": lambda place: SignedInSession.objects.update(expire_date=timezone.now()),
    "membership removed": lambda place: Membership.objects.all().delete(),
    "user deactivated": lambda place: User.objects.update(is_active=False),
    "user deleted": lambda place: User.objects.all().delete(),
    "password changed": lambda place: User.objects.update(password="!other"),
}
TOKEN_ENDINGS = {
    "revoked": tokens.revoke,
    "expired": lambda token: AccessToken.objects.update(expires_at=timezone.now()),
    "scope taken": lambda token: AccessToken.objects.update(scopes="demo"),
    "maker removed": lambda token: Membership.objects.all().delete(),
    "maker deactivated": lambda token: User.objects.update(is_active=False),
}


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    monkeypatch.setattr(recheck, "RECHECK_S", 0.02)
    monkeypatch.setattr(ingest_socket, "RECHECK_S", 0.02)


@pytest.fixture
async def token(place):
    """Return a token for everything that a member of the project made."""
    made = lambda: tokens.issue(place.project, "t", ["ingest", "read"], user=place.user)  # noqa: E731
    return await in_thread(made)


@pytest.mark.parametrize("ending", ENDINGS)
async def test_a_page_socket_ends(place, open_page, ending):
    page = await open_page(place.sessions())
    await in_thread(ENDINGS[ending], place)

    assert await page.closed() == consumers.SIGNED_OUT


async def test_a_page_socket_ends_with_the_right_that_its_page_takes(place, open_page, monkeypatch):
    monkeypatch.setitem(LIVE_RIGHTS, "settings", Right.MANAGE_MEMBERS)
    await in_thread(lambda: Membership.objects.update(role="admin"))
    page = await open_page(f"/p/{place.project.slug}/settings")
    other = await open_page(place.sessions())
    await in_thread(lambda: Membership.objects.update(role="member"))

    assert await page.closed() == consumers.SIGNED_OUT
    assert not other.socket.future.done(), "members may still read"


async def test_a_superuser_who_is_none_any_more_loses_the_socket(place, open_page):
    await in_thread(lambda: User.objects.update(is_superuser=True))
    await in_thread(lambda: Membership.objects.all().delete())
    page = await open_page(place.sessions())
    await in_thread(lambda: User.objects.update(is_superuser=False))

    assert await page.closed() == consumers.SIGNED_OUT


async def stream_ends(path, header, ending):
    """Open a stream of server-sent events, take the access away, and wait for the end of the response."""
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [HOST, header],
        "http_version": "1.1",
    }
    communicator = ApplicationCommunicator(application, scope)
    await communicator.send_input({"type": "http.request", "body": b""})
    assert (await communicator.receive_output(WITHIN_S))["status"] == 200
    await in_thread(ending)
    while (await communicator.receive_output(WITHIN_S)).get("more_body"):
        pass  # what was sent before
    await communicator.wait(WITHIN_S)


@pytest.mark.parametrize("path", ["/api/v1/lifecycle", "/p/default-project/attention/feed"])
@pytest.mark.parametrize("ending", ENDINGS)
async def test_a_stream_of_a_person_ends(place, path, ending):
    if path == "/api/v1/lifecycle" and ending == "membership removed":
        pytest.skip("a signed-in person without a project keeps an empty stream")
    await stream_ends(path, place.cookie, lambda: ENDINGS[ending](place))


@pytest.mark.parametrize("ending", TOKEN_ENDINGS)
async def test_a_stream_of_a_token_ends(place, token, ending):
    bearer = (b"authorization", f"Bearer {token}".encode())
    await stream_ends("/api/v1/lifecycle", bearer, lambda: TOKEN_ENDINGS[ending](token))


@pytest.mark.parametrize("ending", TOKEN_ENDINGS)
async def test_an_ingest_socket_ends(place, token, ending):
    async with IngestClient(token) as client:
        await client.hello()
        await in_thread(TOKEN_ENDINGS[ending], token)

        assert await client.code() in (ingest_socket.TOKEN, ingest_socket.SCOPE)


async def read_into(seen, parts):
    async for part in parts:
        seen.append(part)


async def breaks_off(client, path, ending, **request):
    """Whether a download breaks off after its first part, when the access is taken away then."""
    response = await client.get(path, **request)
    assert response.status_code == 200
    parts = aiter(response.streaming_content)
    await anext(parts)
    await in_thread(ending)
    with pytest.raises(AccessLost):
        await read_into([], parts)


@pytest.mark.parametrize("ending", ENDINGS)
async def test_a_download_of_a_person_breaks_off(place, monkeypatch, ending):
    await in_thread(lambda: place.feed(Loop().start()))
    monkeypatch.setattr(recheck, "RECHECK_S", -1.0)  # before every part
    client = AsyncClient()
    client.cookies = place.client.cookies
    await breaks_off(client, "/p/default-project/sessions.csv", lambda: ENDINGS[ending](place))


@pytest.mark.parametrize("ending", TOKEN_ENDINGS)
async def test_an_export_of_a_token_breaks_off(place, token, monkeypatch, ending):
    await in_thread(lambda: place.feed(Loop().start()))
    session = await in_thread(lambda: place.project.sessions.get().session_id)
    monkeypatch.setattr(recheck, "RECHECK_S", -1.0)
    path = f"/api/v1/sessions/{session}/export?as=html"
    headers = {"authorization": f"Bearer {token}"}
    await breaks_off(AsyncClient(), path, lambda: TOKEN_ENDINGS[ending](token), headers=headers)


@pytest.mark.parametrize("path", ["/p/default-project/sessions", "/api/v1/sessions?project=default-project"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_the_next_request_of_a_person_is_refused(place, path, ending):
    assert place.client.get(path).status_code == 200
    ENDINGS[ending](place)

    assert place.client.get(path).status_code in (302, 401, 404)


@pytest.mark.parametrize("ending", TOKEN_ENDINGS)
def test_the_next_request_of_a_token_is_refused(place, token, client, ending):
    headers = {"authorization": f"Bearer {token}"}
    assert client.get("/api/v1/sessions", headers=headers).status_code == 200
    TOKEN_ENDINGS[ending](token)

    assert client.get("/api/v1/sessions", headers=headers).status_code in (401, 403)


def test_a_check_takes_one_query(place, django_assert_num_queries):
    key = place.client.session.session_key
    token = tokens.issue(place.project, "t", ["read"])
    sign_in, bearer = SignIn.of(place.user, key), Bearer(token)
    with django_assert_num_queries(1):
        assert sign_in.has(place.project.slug, Right.READ)
    with django_assert_num_queries(1):
        assert sign_in.projects(Right.READ) == {place.project.slug: place.project.pk}
    with django_assert_num_queries(1):
        assert bearer.has(place.project.pk, Right.READ)
    assert not sign_in.has(place.project.slug, Right.MANAGE_TOKENS)
    assert not sign_in.has("other", Right.READ)
    assert not bearer.has(place.project.pk, Right.INGEST)
    assert not bearer.has(place.project.pk + 1, Right.READ)


async def test_a_connection_is_checked_after_each_pause_and_survives_an_outage():
    answers, pauses = [True, Busy("busy"), True, False], []

    def check():
        answer = answers.pop(0)
        if isinstance(answer, Busy):
            raise answer
        return answer

    async def pause(seconds):
        pauses.append(seconds)

    await until_lost(check, pause)
    assert pauses == [recheck.RECHECK_S] * 4


async def test_a_stream_is_checked_once_in_each_interval(monkeypatch):
    monkeypatch.setattr(recheck, "RECHECK_S", 2.0)
    times, checked = iter([0, 1, 2, 3, 3, 4, 5, 6, 6]), []

    async def parts():
        for part in range(7):
            yield part

    def check():
        checked.append(True)
        return len(checked) < 2

    seen = []
    with pytest.raises(AccessLost):
        await read_into(seen, while_access_holds(parts(), check, lambda: next(times)))
    assert seen == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("module", ["dashboard.security.recheck", "recorder.ingest.websocket.consumers"])
def test_the_pauses_leave_time_for_the_query_and_the_close(module):
    source = __import__(module, fromlist=["RECHECK_S"]).__spec__.loader.get_source(module)
    pause = next(line for line in source.splitlines() if line.startswith("RECHECK_S = "))

    assert float(pause.split("=")[1].partition("#")[0]) <= WITHIN_S / 2
