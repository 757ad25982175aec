"""The socket of a shared page: who may open it, what it sends, and when it ends."""

import pytest
from django.test import Client

from dashboard.live import consumers
from dashboard.pages.share import mask, opening
from dashboard.security import recheck
from recorder.access import share_links
from recorder.access.share_links import Target, Terms
from recorder.models import Session
from recorder.operations import deletion
from recorder.operations.audit import COMMAND
from tests.dashboard.open_page import ORIGIN, OpenPage, in_thread, socket
from tests.support.small_loop import Loop
from tests.support.wait import LONGEST_S


class SharedPlace:
    """A browser without an account that has a link to the session of a place."""

    def __init__(self, place, view="", **terms) -> None:
        self.place = place
        place.project.memberships.update(role="member")
        self.session = Session.objects.get(session_id="shared")
        target = Target("view", 1, view) if view else Target("session", self.session.pk)
        issued = share_links.issue(place.project, place.user, target, Terms(**terms))
        self.link, self.path, self.client = issued.link, f"/s/{issued.secret}", Client()

    def sessions(self) -> str:
        return ""

    def get(self, path: str) -> str:
        return self.client.get(path).content.decode()

    @property
    def cookie(self) -> tuple[bytes, bytes]:
        return b"cookie", "; ".join(f"{m.key}={m.value}" for m in self.client.cookies.values()).encode()


@pytest.fixture
async def shared(place):
    """Record a session and share it, or a view: `await shared(password="…")`."""
    loop = Loop("shared")
    await in_thread(lambda: place.feed(loop.start(), *loop.whole_turn("first")))

    async def shared(**terms):
        made = await in_thread(lambda: SharedPlace(place, **terms))
        made.loop = loop
        return made

    return shared


async def opened(shared):
    page = OpenPage(shared, shared.path, await in_thread(shared.get, shared.path))
    await page.connect()
    return page


async def refused(path, *headers):
    """Return the code; that of an ended link comes after the handshake, so that a browser reads it."""
    connection = socket(path, ORIGIN, *headers)
    connected, code = await connection.connect(timeout=LONGEST_S)
    if not connected:
        assert code != consumers.SIGNED_OUT or path.startswith("/p/")
        return code
    answer = await connection.receive_output(LONGEST_S)
    assert (answer["type"], answer["code"]) == ("websocket.close", consumers.SIGNED_OUT)
    return answer["code"]


async def test_what_is_pushed_is_what_a_reload_shows(place, shared, monkeypatch):
    monkeypatch.setattr(mask, "all_rules", lambda _project: lambda text: text.replace("second", "[masked]"))
    visitor = await shared()
    page = await opened(visitor)
    frames = []
    await in_thread(lambda: place.feed(*visitor.loop.whole_turn("second"), visitor.loop.end()))
    receive = page.receive

    async def received() -> str:
        frames.append(await receive())
        return frames[-1]

    page.receive = received
    await page.agree()
    sent = "".join(frames)
    assert "[masked]" in sent
    assert "second" not in sent
    assert "/p/default-project/" not in sent
    assert visitor.path in sent
    await page.close()


async def test_revoking_closes_the_socket_as_signed_out(place, shared, monkeypatch):
    assert recheck.RECHECK_S <= 5
    monkeypatch.setattr(recheck, "RECHECK_S", 0.05)
    visitor = await shared()
    page = await opened(visitor)
    await in_thread(share_links.revoke, visitor.link)
    assert await page.closed() == consumers.SIGNED_OUT


async def test_removing_the_maker_closes_the_socket(place, shared, monkeypatch):
    monkeypatch.setattr(recheck, "RECHECK_S", 0.05)
    page = await opened(await shared())
    await in_thread(place.project.memberships.all().delete)
    assert await page.closed() == consumers.SIGNED_OUT


async def test_a_socket_needs_the_password_of_its_link(place, shared):
    visitor = await shared(password="sesame")
    path = f"{visitor.path}/live/session?session={visitor.session.pk}"
    assert await refused(path) == consumers.SIGNED_OUT
    await in_thread(lambda: visitor.client.post(visitor.path, {"password": "sesame"}))
    assert opening.COOKIE in visitor.client.cookies
    connection = socket(path, ORIGIN, visitor.cookie)
    assert (await connection.connect(timeout=LONGEST_S))[0]
    await connection.disconnect(timeout=LONGEST_S)


async def test_a_socket_shows_nothing_but_the_record_of_its_link(place, shared):
    visitor = await shared()
    other = Loop("other")
    await in_thread(lambda: place.feed(*other.whole("foreign"), producer="other"))
    foreign = await in_thread(lambda: Session.objects.get(session_id="other"))
    loop = await in_thread(lambda: foreign.loop_records.get().pk)
    own = visitor.session.pk
    live = f"{visitor.path}/live"
    for query in (
        *(f"session?session={foreign.pk}", f"session?session={own}&loop={loop}", "sessions", "session"),
        *(f"session?session={own}&tab=events", f"session?session={own}&notes=all", "attention", "evaluation"),
        *(f"session?session={own}&at=1", f"evaluation?group={own}&session={own}", f"session?session={own}x"),
    ):
        assert await refused(f"{live}/{query}") == consumers.REFUSED, query
    unknown = f"/s/{'A' * 43}/live/session?session={own}"
    assert await refused(unknown) == consumers.SIGNED_OUT
    assert await refused(f"/p/default-project/live/session?session={own}") == consumers.SIGNED_OUT
    connected, code = await socket(f"{live}/session?session={own}", (b"origin", b"http://evil.test")).connect(
        timeout=LONGEST_S
    )
    assert (connected, code) == (False, consumers.REFUSED)


async def test_a_frozen_link_has_no_socket(place, shared):
    event = await in_thread(lambda: Session.objects.get(session_id="shared").eventrecord_set.last().pk)
    visitor = await shared(event=event)
    path = f"{visitor.path}/live/session?session={visitor.session.pk}"
    assert await refused(path) == consumers.REFUSED
    assert await refused(f"{path}&at={event}") == consumers.REFUSED


async def test_the_sockets_of_one_link_are_limited(place, shared, monkeypatch):
    monkeypatch.setattr(consumers, "SOCKETS_PER_USER", 1)
    visitor = await shared()
    page = await opened(visitor)
    path = f"{visitor.path}/live/session?session={visitor.session.pk}"
    assert await refused(path) == consumers.TOO_MANY
    await page.close()
    assert not consumers._sockets


async def test_a_shared_view_is_live_and_drops_a_session_that_no_longer_matches(place, shared):
    visitor = await shared(view="sessions?q=status:running")
    page = await opened(visitor)
    row = f"sessions-row-{visitor.session.pk}"
    assert row in page.shown.root.html()
    await in_thread(lambda: place.feed(*visitor.loop.whole_turn("second")))
    await page.agree()
    shown = " ".join(page.shown.root.html().split())
    assert 'data-column="turns" role="cell"> 2 <' in shown
    other = Loop("new")
    await in_thread(lambda: place.feed(other.start(), *other.whole_turn("first"), producer="new"))
    while "Show 1 new session" not in page.shown.root.html():
        await page.receive()
    await in_thread(lambda: place.feed(visitor.loop.end()))
    while row in page.shown.root.html():
        frame = await page.receive()
        assert "/p/default-project/" not in frame
    await page.close()


async def test_the_socket_of_a_view_shows_no_requested_row_that_does_not_match(place, shared):
    other = Loop("other")
    start = other.start() | {"agent_id": "foreign-agent"}
    await in_thread(lambda: place.feed(start, *other.whole_turn("foreign"), producer="other"))
    foreign = await in_thread(lambda: Session.objects.get(session_id="other").pk)
    for view in ("sessions?q=agent:coder", "evaluations?q=agent:coder"):
        visitor = await shared(view=view)
        page, own = view.partition("?")[0], visitor.session.pk
        path = f"{visitor.path}/live/{page}?q=&agent=&rows={foreign}.{own}&newest=0&session={foreign}"
        connection = socket(path, ORIGIN)
        assert (await connection.connect(timeout=LONGEST_S))[0]
        frame = await connection.receive_from(LONGEST_S)
        assert (f"sessions-row-{own}" in frame) == (page == "sessions")
        assert f"row-{foreign}" not in frame
        assert "foreign" not in frame
        assert "sessions-views" not in frame
        await connection.disconnect(timeout=LONGEST_S)


async def test_the_socket_of_a_view_is_that_of_its_list_alone(place, shared):
    visitor = await shared(view="sessions?q=")
    for page in (
        f"session?session={visitor.session.pk}",
        "evaluations?rows=1",
        "evaluation?group=1",
        "costs",
    ):
        assert await refused(f"{visitor.path}/live/{page}") == consumers.REFUSED, page


async def test_deleting_the_session_closes_the_socket_and_opens_it_no_more(place, shared):
    visitor = await shared()
    page = await opened(visitor)
    gone = await in_thread(deletion.find, place.project, ["shared"])
    await in_thread(deletion.begin, place.project, gone, COMMAND)
    assert await page.closed() == consumers.ABNORMAL
    path = f"{visitor.path}/live/session?session={visitor.session.pk}"
    assert await refused(path) == consumers.SIGNED_OUT, "the link is deleted with its session"
