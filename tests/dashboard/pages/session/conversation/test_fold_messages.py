"""Long runs of messages and notes: a page shows the last of them and loads the others on request."""

import re
from html import unescape

import pytest

from tests.support import build

LONG = 'Said "twice" and <again>. ' * 90


def messages(*numbers):
    return [build.message_end(message=build.user(f"Words {n}. {LONG}")) for n in numbers]


def notes(*numbers):
    return [build.ours("ErrorRaised", message=f"Words {n}.", code="x", scope="loop") for n in numbers]


def turn(*events):
    return build.agent_start(), build.turn_start(), *events


def shown(html):
    return [int(n) for n in re.findall(r"Words (\d+)\.", html.rpartition('id="loop-scroll"')[2])]


def inside(html):
    return [unescape(url) for url in re.findall(r'hx-get="([^"]*/passage\?[^"]*)"', html)]


def unfolded(html, get):
    """Return all numbers of a page in order: those of its passages, then those shown."""
    found = [n for url in inside(html) for n in unfolded(get(url).content.decode(), get)]
    return found + shown(html)


@pytest.mark.parametrize("lines", [messages, notes])
def test_a_turn_of_500_is_small_and_complete_on_demand(feed, session, reader, lines):
    feed(*turn(*lines(*range(500))))

    page = session()

    assert len(page.html.encode()) < 150_000
    assert shown(page.html) == list(range(480, 500))
    assert ("400 messages" if lines is messages else "400 errors") in page.text
    assert unfolded(page.html, reader.get) == list(range(500))


def test_notes_before_a_turn_are_folded(feed, session, reader):
    ended = build.turn_start(), build.turn_end()
    feed(build.agent_start(), *ended, *notes(*range(60)), build.turn_start(index=1))

    page = session()

    assert shown(page.html) == list(range(40, 60))
    assert unfolded(page.html, reader.get) == list(range(60))


def test_tool_results_are_not_counted_and_calls_and_requests_are_never_folded(feed, session, reader):
    request = build.ours("ApprovalRequested", kind="command", command="rm -rf")
    calls = [
        each for n in range(3) for each in (build.tool_start(call=f"c{n}"), build.tool_end(call=f"c{n}"))
    ]
    results = [build.message_end(message=build.tool_result(f"c{n % 3}", f"message {n}")) for n in range(60)]
    feed(
        *turn(
            *calls,
            *results,
            request,
            *notes(*range(40)),
            build.tool_start(call="last"),
            *notes(*range(40, 64)),
        )
    )

    page = session()

    assert "rm -rf" in page.text
    assert len(inside(page.html)) == 1
    assert shown(page.html) == list(range(20, 64))
    assert unfolded(page.html, reader.get)[:20] == list(range(20))


def test_a_passage_does_not_change_when_lines_are_added(feed, session, reader):
    feed(*turn(*messages(*range(30))))
    before = inside(session().html)
    body = reader.get(before[0]).content
    feed(*messages(*range(30, 60)))

    assert inside(session().html)[:1] == before
    assert reader.get(before[0]).content == body


def test_a_passage_between_folded_calls_is_in_their_group(feed, session, reader):
    calls = [[build.tool_start(call=f"c{n}"), build.tool_end(call=f"c{n}")] for n in range(30)]
    feed(*turn(*calls[0], *messages(*range(50)), *(each for call in calls[1:] for each in call)))

    (group,) = re.findall(r'hx-get="([^"]*/calls\?[^"]*)"', session().html)
    html = reader.get(unescape(group)).content.decode()

    assert shown(html) == list(range(40, 50))
    assert unfolded(html, reader.get) == list(range(50))


@pytest.mark.parametrize("change", [(1, 0), (0, 1), (0, -1), (99_999, 99_999)])
def test_ranges_that_are_no_passage_are_not_found(feed, session, reader, change):
    feed(*turn(*messages(*range(50))))
    url = inside(session().html)[0]
    first, last = (int(re.search(rf"{name}=(\d+)", url)[1]) for name in ("first", "last"))
    assert reader.get(url).status_code == 200
    other = url.replace(f"first={first}", f"first={first + change[0]}").replace(
        f"last={last}", f"last={last + change[1]}"
    )
    assert reader.get(other).status_code == 404
