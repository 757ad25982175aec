"""Jumps to the next error, winner or waiting loop, and search within a session."""

import json
import re
from html import unescape

import pytest

from dashboard.pages.session.navigation import queries
from dashboard.pages.session.navigation.matches import AROUND, Match
from recorder.models import LoopRecord, Project, Session, ToolCall
from tests.dashboard.pages.session.conftest import words
from tests.recorder.journal.spans import captures
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


def test_jumps_find_the_dearest_and_the_slowest_turn_and_the_first_error(feed, jump):
    model = build.assistant(model="claude-sonnet-4-5")
    feed(
        build.agent_start("s.a.1"),
        build.turn_start("s.a.1", index=0, at=1),
        build.turn_end("s.a.1", at=2, message=model, tokens=500),
        build.turn_start("s.a.1", index=1, at=3),
        build.turn_end("s.a.1", at=60, message=model, tokens=10),
        build.turn_start("s.a.1", index=2, at=61),
        build.turn_end("s.a.1", at=62, message=build.assistant(error="overloaded"), tokens=10),
    )
    loop = LoopRecord.objects.get().pk

    assert jump("dearest") == jump("dearest", loop, 3) == f"/loops/{loop}?turn=1#turn-1"
    assert jump("slowest") == f"/loops/{loop}?turn=2#turn-2"
    assert jump("first-error", loop, 3) == f"/loops/{loop}?turn=3#turn-3"


def test_jumps_to_turns_stay_where_there_are_none(feed, jump):
    feed(build.agent_start("s.a.1"))

    assert [jump(to) for to in ("dearest", "slowest", "first-error")] == ["", "", ""]


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


def test_an_excerpt_that_is_cut_has_an_ellipsis_where_it_is():
    around = "x" * AROUND

    assert Match("", f"{around}Word{around}").excerpt("word") == (around, "Word", around)
    assert Match("", f"y{around}Word{around}y").excerpt("word") == (f"…{around}", "Word", f"{around}…")


def test_search_ignores_case(feed, see):
    feed(
        build.agent_start("s.a.1"),
        message("s.a.1", "Why is the QUEUE <b>slow</b>?"),
        message("s.a.1", "Something else"),
    )
    feed(build.agent_start("t.a.1"), message("t.a.1", "another queue"), producer="t")
    session = Session.objects.get(session_id="s").pk

    page = see(f"/p/default/sessions/{session}/search?q=queue+slow")

    assert "1 place in 3 events" in page.text
    assert "<mark>QUEUE</mark>" in page.html
    assert "<b>slow" not in page.html
    assert "another slow" not in page.part("main")
    assert "No matches" in see(f"/p/default/sessions/{session}/search?q=nowhere").text
    assert "Searches prompts, answers, reasoning" in see(f"/p/default/sessions/{session}/search").text


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

    assert "1 place in 2 events" in page.text


def found(see, q):
    """Return what a search finds: what it is, its time, and where it leads."""
    session = Session.objects.get()
    page = see(f"/p/default/sessions/{session.pk}/search?q={q}")
    hits = [each for each in page.root.walk() if each.tag == "a" and "data-row" in each.attributes]
    return [
        (
            words(hit.html()).split()[:2],
            words(hit.html()).split()[-1],
            hit.attributes["href"].partition("/loops")[2],
        )
        for hit in hits
    ]


def test_a_turn_and_a_call_are_found_once_and_opened(feed, see):
    call = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls needle"}}
    answer = build.assistant("I list the haystack.", stop="toolUse")
    answer["content"].append(call)
    feed(
        build.agent_start("s.a.1"),
        build.turn_start("s.a.1", at=1),
        message("s.a.1", "Search the haystack"),
        build.message_end("s.a.1", message=answer),
        build.tool_start("s.a.1", args={"command": "ls needle"}, timestamp=build.time(3)),
        build.tool_end("s.a.1"),
        build.message_end("s.a.1", message=build.tool_result(text="a needle of steel")),
        build.turn_end("s.a.1", at=8, message=answer),
    )
    loop, tool = LoopRecord.objects.get().pk, ToolCall.objects.get().pk

    assert found(see, "needle") == [(["Tool", "call"], "09:00:03", f"/{loop}?turn=1#session-tool-{tool}")]
    assert found(see, "steel") == [(["Tool", "call"], "09:00:03", f"/{loop}?turn=1#session-tool-{tool}")]
    assert found(see, "haystack") == [(["Turn", "1"], "09:00:01", f"/{loop}?turn=1#turn-1")]


def test_spans_that_were_read_again_are_found_once_at_their_own_time(project, see):
    for lines in captures.lines("frameworks/pydantic-ai/06-sub-agent"):
        captures.record(project, lines)
    caller, specialist = LoopRecord.objects.order_by("started_at").values_list("pk", flat=True)

    assert found(see, "Compare+Oslo+and+Lima") == [(["Turn", "1"], "15:11:45", f"/{caller}?turn=1#turn-1")]
    times = [at for _, at, _ in found(see, "Oslo+is+smaller")]
    assert times == [
        "15:11:46",
        "15:11:45",
        "15:11:47",
    ]  # an answer, the call that returns it, another answer
    assert [what for what, *_ in found(see, "get_weather+Oslo")] == [["Tool", "call"]]
    assert f"/{specialist}?turn=" in found(see, "sunny")[0][2]
