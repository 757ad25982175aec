"""Long sessions: the size of the first response, and the links to the rest."""

import re
from html import unescape

from dashboard.pages.session.page import PAGE_BYTES
from dashboard.pages.session.tree.queries.tree import ROWS
from recorder.models import LoopRecord, Session
from tests.support import build


def test_thirty_turns_are_shown_with_a_link_to_earlier_ones(feed, session, see, reader):
    turns = [
        event
        for n in range(40)
        for event in (build.turn_start(index=n), build.turn_end(message=build.assistant(f"Answer {n}.")))
    ]
    feed(build.agent_start(), *turns)

    page = session()
    assert "Answer 39." in page.text
    assert "Answer 9." not in page.text

    (earlier,) = {href.removesuffix("#loop") for href in page.links if "before=" in href}
    assert "Answer 9." in see(earlier).text
    assert "Answer 10." not in see(earlier).text
    part = reader.get(earlier, headers={"HX-Request": "true"}).content.decode()
    assert "Answer 0." in part
    assert "<html" not in part


def test_a_turn_has_a_url(feed, session, see):
    turns = [
        event
        for n in range(200)
        for event in (build.turn_start(index=n), build.turn_end(message=build.assistant(f"Answer {n}.")))
    ]
    feed(build.agent_start(), *turns)
    loop = LoopRecord.objects.get()

    page = see(f"/p/default/sessions/{loop.session_id}/loops/{loop.pk}?turn=100")

    assert 'id="turn-100"' in page.html


def test_a_long_result_is_shortened_with_a_link_to_the_whole(feed, session, reader):
    result = {"content": [{"type": "text", "text": "x" * 40_000 + "the end"}], "details": None}
    feed(build.agent_start(), build.turn_start(), build.tool_start(), build.tool_end() | {"result": result})

    page = session()
    assert "the end" not in page.text

    (whole,) = {href for href in page.links if "/text?at=" in href}
    plain = reader.get(whole)
    assert plain["Content-Type"].startswith("text/plain")
    assert plain.content.decode().endswith("the end")
    assert "data-loaded" in reader.get(whole, headers={"HX-Request": "true"}).content.decode()


def test_a_large_tree_is_windowed_around_the_selected_loop_with_links_to_all_rows(feed, session, see):
    loops = [build.small_loop(f"s.a.{n}", parent=f"s.a.{n - 1}", kind="Default") for n in range(1, 320)]
    feed(*build.small_loop("s.a.0"), *(event for loop in loops for event in loop))

    page = session()

    assert len(page.html.encode()) <= PAGE_BYTES
    assert len(page.rows) == ROWS
    assert f"{320 - ROWS} rows above" in page.part("loops")
    assert "below" not in page.part("loops")
    seen = set()
    while (found := _rows(page)) - seen:
        seen |= found
        earlier = next((a.attributes["href"] for a in page.root.walk() if "data-earlier" in a.attributes), "")
        page = see(f"/p/default/sessions/{Session.objects.get().pk}{earlier}")
        assert "loop 320 of 320" in page.text
    assert len(seen) == 320


def _rows(page):
    return {each.id for each in page.root.walk() if each.id.startswith("session-loop-row-")}


def test_a_huge_result_is_loaded_on_request_and_in_parts(feed, loop, see, reader):
    text = "".join(f"line {n} of a very long result\n" for n in range(20_000))
    feed(
        build.agent_start("s.a.1"),
        build.turn_start("s.a.1"),
        build.tool_start("s.a.1"),
        build.tool_end("s.a.1", result={"content": [{"type": "text", "text": text}]}),
    )

    page = loop("s.a.1")
    assert len(page.html.encode()) < 60_000
    assert "line 11 of" in page.text
    assert "line 12 of" not in page.text

    url = next(a.attributes["hx-get"] for a in page.root.walk() if "/text?" in a.attributes.get("hx-get", ""))
    got = ""
    while url:
        part = reader.get(url, headers={"hx-request": "true"}).content.decode()
        got += "".join(re.findall(r"<pre>(.*?)</pre>", part, re.S))
        url = unescape((re.findall(r'hx-get="([^"]*)"', part) or [""])[0])
    assert got == text
