"""The page socket: who may open one, and when it ends."""

import json

import pytest

from dashboard.live import consumers, project_topic
from dashboard.security import recheck
from recorder.models import Session
from tests.dashboard.open_page import ORIGIN, Place, in_thread, socket
from tests.support.small_loop import Loop
from tests.support.wait import LONGEST_S


async def refused(path: str, *headers: tuple[bytes, bytes]) -> int:
    connection = socket(path, *headers)
    connected, code = await connection.connect(timeout=LONGEST_S)
    assert not connected
    return code


async def close_code(path: str, *headers: tuple[bytes, bytes]) -> int:
    connection = socket(path, *headers)
    assert (await connection.connect(timeout=LONGEST_S))[0], "browsers read a code only after the handshake"
    answer = await connection.receive_output(LONGEST_S)
    assert answer["type"] == "websocket.close"
    return answer["code"]


async def test_a_visitor_without_a_session_is_refused(place):
    assert await refused("/p/default-project/live/sessions", ORIGIN) == consumers.SIGNED_OUT


async def test_a_page_whose_session_has_ended_gets_the_code_for_it(place):
    ended = (b"cookie", b"loopscope_session=abcdefghijklmnopqrstuvwxyz012345")
    assert await close_code("/p/default-project/live/sessions", ORIGIN, ended) == consumers.SIGNED_OUT


@pytest.mark.parametrize(
    "origin",
    [
        b"http://evil.test",
        b"https://testserver",
        b"http://testserver:81",
        b"http://testserver.evil.test",
        b"null",
    ],
)
async def test_a_page_of_another_origin_is_refused(place, origin):
    assert (
        await refused("/p/default-project/live/sessions", (b"origin", origin), place.cookie)
        == consumers.REFUSED
    )


async def test_a_socket_without_an_origin_is_refused(place):
    assert await refused("/p/default-project/live/sessions", place.cookie) == consumers.REFUSED


async def test_a_page_of_another_users_project_gets_the_code_of_an_unknown_one(place):
    await in_thread(Place, "theirs")
    for name in ("theirs", "unknown"):
        assert await close_code(f"/p/{name}/live/sessions", ORIGIN, place.cookie) == consumers.SIGNED_OUT


async def test_a_session_of_another_project_is_refused(place):
    theirs = await in_thread(Place, "theirs")
    await in_thread(lambda: theirs.feed(Loop().start()))
    foreign = await in_thread(Session.objects.get)
    path = f"/p/default-project/live/session?session={foreign.pk}"
    assert await refused(path, ORIGIN, place.cookie) == consumers.REFUSED


async def test_an_unknown_page_is_refused(place):
    assert await refused("/p/default-project/live/nonsense", ORIGIN, place.cookie) == consumers.REFUSED


async def test_signing_out_closes_the_socket(place, open_page, monkeypatch):
    monkeypatch.setattr(recheck, "RECHECK_S", 0.05)
    page = await open_page(place.sessions())
    await in_thread(place.client.logout)
    assert await page.closed() == consumers.SIGNED_OUT


async def test_a_silent_viewer_is_dropped_with_a_code_that_lets_it_reconnect(place, open_page, monkeypatch):
    monkeypatch.setattr(consumers, "WATCH_S", 0.05)
    monkeypatch.setattr(consumers, "SILENCE_S", 0.2)
    page = await open_page(place.sessions())
    await in_thread(lambda: place.feed(Loop().start()))
    assert await page.closed() == consumers.ABNORMAL


async def test_an_idle_page_is_sent_heartbeats(place, open_page, monkeypatch):
    monkeypatch.setattr(consumers, "WATCH_S", 0.05)
    monkeypatch.setattr(consumers, "HEARTBEAT_S", 0.1)
    page = await open_page(place.sessions())
    await page.frame("")


@pytest.mark.parametrize(
    "message",
    ["{", "null", "[]", '{"ack":"1"}', '{"ack":-1}', '{"ack":1e400}', "[" * 99, '{"a":' * 19, "x" * 9_999],
)
async def test_invalid_messages_from_a_page_are_ignored(place, open_page, message):
    page = await open_page(place.sessions())
    await page.socket.send_to(message)
    await page.socket.send_to(bytes_data=b"\xff\x00")
    await in_thread(lambda: place.feed(Loop().start()))
    await page.agree()
    assert page.shown.frames >= 2


async def test_a_user_has_a_bounded_number_of_sockets_and_leaving_frees_one(place, open_page, monkeypatch):
    monkeypatch.setattr(consumers, "SOCKETS_PER_USER", 2)
    first, _ = await open_page(place.sessions()), await open_page(place.sessions())
    path = "/p/default-project/live/sessions"
    assert await refused(path, ORIGIN, place.cookie) == consumers.TOO_MANY

    other = await in_thread(Place, "another-user")
    assert (await socket("/p/another-user/live/sessions", ORIGIN, other.cookie).connect(timeout=LONGEST_S))[0]
    await first.close()
    await open_page(place.sessions())
    assert await refused(path, ORIGIN, place.cookie) == consumers.TOO_MANY


async def test_a_refused_socket_counts_for_nobody(place):
    for _ in range(3):
        await refused("/p/default-project/live/nonsense", ORIGIN, place.cookie)

    assert not consumers._sockets


async def test_a_flood_of_acknowledgements_draws_nothing(place, open_page, monkeypatch):
    """Only commits and a page that fell behind make the server draw, whatever a page sends."""
    page = await open_page(place.sessions())
    drawn = []
    for name in ("draw", "whole_pages"):
        monkeypatch.setattr(project_topic, name, drawn.append)
    for number in range(500):
        await page.socket.send_to(json.dumps({"ack": number}))
        await page.socket.send_to('{"subscribe":"sessions"}')
    assert await page.socket.receive_nothing(0.3)

    assert drawn == []
