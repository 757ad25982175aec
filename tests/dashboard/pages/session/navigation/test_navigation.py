"""Jumps to the next error, winner or waiting loop, and search within a session."""

import json
import re
from html import unescape

import pytest

from dashboard.pages.session.navigation import queries
from recorder.models import LoopRecord, Project, Session
from tests.support import build


def failing():
    """Return three loops: turns 2 and 4 of the first fail, the second is fine, the third fails outside."""
    yield build.agent_start("s.a.1")
    for n in range(4):
        yield build.turn_start("s.a.1", index=n)
        yield build.tool_start("s.a.1", call=f"c{n}")
        yield build.tool_end("s.a.1", call=f"c{n}", is_error=n == 1)
        yield build.turn_end("s.a.1", message=build.assistant(error="overloaded" if n == 3 else None))
    yield build.agent_end("s.a.1")
    yield from build.small_loop("s.a.2", parent="s.a.1", kind="Default")
    yield build.agent_start("s.a.3", parent="s.a.2", kind="Default")
    gone = {"loop_id": "s.a.3", "scope": "loop", "message": "gone", "timestamp": build.time(3)}
    yield {"type": "ErrorRaised", **gone}
    yield build.agent_end("s.a.3", outcome="failed")


@pytest.fixture
def jump(reader):
    def jump(to, loop=None, turn=None):
        params = {"to": to} | ({"loop": loop} if loop else {}) | ({"turn": turn} if turn else {})
        response = reader.get(f"/p/default/sessions/{Session.objects.get(session_id='s').pk}/jump", params)
        assert response.status_code == 302
        return re.sub(r".*/sessions/\d+", "", response["Location"])

    return jump


def test_error_jumps_go_from_turn_to_turn_and_wrap_around(feed, jump):
    feed(*failing())
    first, second, third = LoopRecord.objects.order_by("pk").values_list("pk", flat=True)

    assert jump("error") == f"/loops/{first}?turn=2#turn-2"
    assert jump("error", first, 2) == f"/loops/{first}?turn=4#turn-4"
    assert jump("error", first, 4) == f"/loops/{third}#loop"
    assert jump("error", second) == f"/loops/{third}#loop"
    assert jump("error", third) == f"/loops/{first}?turn=2#turn-2"


def test_jumps_find_winners_and_without_a_target_stay(feed, jump):
    feed(tape="03", producer="other")
    feed(build.parallel_start("s.a.1", "s.b.2"), *build.small_loop("s.a.1"), *build.small_loop("s.b.2"))
    one = LoopRecord.objects.get(loop_id="s.b.2").pk

    assert jump("winner", one) == f"/loops/{one}"
    assert jump("waiting") == ""
    feed(build.parallel_end("s.b.2", index=1))
    assert jump("winner") == f"/loops/{one}#loop"


def test_the_jumps_of_a_page_as_of_an_event_go_to_that_event(feed, reader):
    feed(*failing())
    session = Session.objects.get(session_id="s")
    event = session.eventrecord_set.order_by("pk").last().pk
    path = f"/p/default/sessions/{session.pk}"
    page = reader.get(f"{path}?at={event}").content.decode()
    winner, error = (unescape(url) for url in re.findall(r'href="([^"]*)"\s+data-jump=', page))
    assert (winner, error) == (f"{path}/jump?to=winner&at={event}", f"{path}/jump?to=error&at={event}")
    assert f"at={event}" in reader.get(error)["Location"]


def test_a_jump_stays_in_its_session_and_its_project(feed, reader):
    feed(*failing())
    session = Session.objects.get().pk

    assert reader.get(f"/p/default/sessions/{session}/jump?to=moon").status_code == 404
    assert reader.get(f"/p/default/sessions/{session + 1}/jump?to=error").status_code == 404
    Project.objects.create(slug="other")
    for path in ("jump?to=error", "search?q=x"):
        assert reader.get(f"/p/other/sessions/{session}/{path}").status_code == 404


def message(name, text):
    return build.message_end(name, message=build.user(text))


def test_search_ignores_case(feed, see):
    feed(
        build.agent_start("s.a.1"),
        message("s.a.1", "Why is the QUEUE <b>slow</b>?"),
        message("s.a.1", "Something else"),
    )
    feed(build.agent_start("t.a.1"), message("t.a.1", "another queue"), producer="t")
    session = Session.objects.get(session_id="s").pk

    page = see(f"/p/default/sessions/{session}/search?q=queue+slow")

    assert "Found in 1 of 3 events" in page.text
    assert "<mark>QUEUE</mark>" in page.html
    assert "<b>slow" not in page.html
    assert "another slow" not in page.part("main")
    assert "No matches" in see(f"/p/default/sessions/{session}/search?q=nowhere").text
    assert "Searches every recorded line" in see(f"/p/default/sessions/{session}/search").text


def test_a_long_session_is_searched_in_batches(feed, see, monkeypatch):
    monkeypatch.setattr(queries, "SEARCHED", 40)
    monkeypatch.setattr(queries, "BATCH", 15)
    feed(
        build.agent_start("s.a.1"),
        *(message("s.a.1", f"number {n} {'needle' if n % 30 == 0 else ''}") for n in range(100)),
    )
    url = f"/p/default/sessions/{Session.objects.get().pk}/search?q=needle"

    found, path = [], url
    while path:
        page = see(path)
        found += re.findall(r">user: number (\d+)", page.html)
        further = [e.attributes["href"] for e in page.root.walk() if e.attributes.get("rel") == "next"]
        path = url.partition("?")[0] + further[0] if further else ""

    assert found == ["0", "30", "60", "90"]


def test_lines_of_unknown_types_are_searched(feed, see):
    feed(build.agent_start("s.a.1"), json.dumps({"type": "Odd", "loop_id": "s.a.1", "x": "needle"}).encode())

    page = see(f"/p/default/sessions/{Session.objects.get().pk}/search?q=needle")

    assert "Found in 1 of 2 events" in page.text
