"""A turn of many calls: a page shows the last of them and loads the others on request."""

import re
from html import unescape

import pytest

from dashboard.pages.session.conversation import fold_calls
from dashboard.pages.session.conversation.fold_calls import Stretch
from dashboard.pages.session.conversation.queries import lines
from recorder.models import LoopRecord, ToolCall
from tests.support import build

LONG = 'Said "twice" and <again>.\n' * 90


def calls(*numbers, failed=(), size=1):
    for n in numbers:
        result = {"content": [{"type": "text", "text": f"result {n} {LONG * size}"}], "details": None}
        yield build.tool_start(call=f"c{n}", args={"n": n, "text": LONG})
        yield build.tool_end(call=f"c{n}", is_error=n in failed, result=result)


def turn(*events):
    return build.agent_start(), build.turn_start(), *events


def shown(html):
    """Return the numbers of the calls in some HTML, from their results."""
    return [int(n) for n in re.findall(r"<pre>result (\d+) ", html)]


def inside(html):
    return [unescape(url) for url in re.findall(r'hx-get="([^"]*/calls\?[^"]*)"', html)]


def unfolded(html, get):
    """Return all calls of a page in order: those of its groups, then those shown."""
    found = [n for url in inside(html) for n in unfolded(get(url).content.decode(), get)]
    return found + shown(html)


@pytest.mark.parametrize(
    ("number", "groups"),
    [(24, []), (25, [(0, 20)]), (44, [(0, 20)]), (405, [(0, 400)]), (425, [(0, 400), (400, 420)])],
)
def test_all_but_the_last_calls_are_in_groups(number, groups):
    assert fold_calls.groups_of(number) == [Stretch(*each) for each in groups]


def test_a_group_keeps_its_calls_until_twenty_groups_are_merged():
    before = set()
    for number in range(2_000):
        groups = fold_calls.groups_of(number)
        ends = [0, *(each.end for each in groups)]
        assert [each.first for each in groups] == ends[:-1]  # one after the other, from the first call on
        assert ends[-1] == 0 or fold_calls.KEPT <= number - ends[-1] < fold_calls.KEPT + fold_calls.GROUP
        merged = {part for each in groups for part in fold_calls.small_groups(each)}
        assert before <= set(groups) | merged
        before = set(groups)


def test_a_turn_of_500_calls_is_small_and_complete_on_demand(feed, session, reader):
    feed(*turn(*calls(*range(500), size=3), build.turn_end(message=build.assistant("All done."))))

    page = session()

    assert len(page.html.encode()) < 300_000
    assert shown(page.html) == list(range(480, 500))
    assert "20 of 500 calls" in page.text
    assert "Calls 1 to 400" in page.text
    assert "Calls 461 to 480" in page.text
    assert "All done." in page.text
    assert unfolded(page.html, reader.get) == list(range(500))


def test_concurrent_calls_are_folded_with_their_results(feed, session, reader):
    events = list(calls(*range(60)))
    results = [build.message_end(message=build.tool_result(f"c{n}", f"message {n}")) for n in range(60)]
    feed(*turn(*events[::2], *events[1::2], *results, build.turn_end()))

    page = session()

    assert shown(page.html) == list(range(40, 60))
    assert unfolded(page.html, reader.get) == list(range(60))
    assert "message 3" not in page.text


def test_messages_between_folded_calls_are_in_their_group(feed, session, reader):
    messages = [build.message_end(message=build.assistant(f"Words {n}.")) for n in (0, 30, 59)]
    events = [*calls(*range(30)), messages[1], *calls(*range(30, 60)), messages[2]]
    feed(*turn(messages[0], *events, build.turn_end()))

    page = session()

    assert "Words 0." in page.text
    assert "Words 30." not in page.text
    assert "Words 59." in page.text
    _, second = (reader.get(url).content.decode() for url in inside(page.html))
    assert "Words 30." in second
    assert "Words 0." not in second
    assert "Words 59." not in second


def test_the_bodies_of_folded_calls_are_not_read(feed, session, monkeypatch):
    feed(*turn(*calls(*range(100))))
    read = []
    monkeypatch.setattr(lines, "texts", lambda pks, texts=lines.texts: read.extend(pks) or texts(pks))

    session()

    hidden = ToolCall.objects.order_by("pk")[:80]
    assert read
    assert {pk for call in hidden for pk in (call.start_event, call.end_event)}.isdisjoint(read)


def test_a_group_shows_how_many_calls_failed_and_run(feed, session):
    feed(*turn(*calls(*range(19), failed={3, 4}), build.tool_start(call="slow"), *calls(*range(20, 45))))

    page = session()

    assert page.html.count("data-failed") == 1
    assert "Calls 1 to 20 2 failed 1 running" in page.text
    assert "Calls 21 to 40" in page.text


def test_the_url_of_a_group_keeps_the_event_and_the_raw_mode(feed, session, see, reader):
    words = build.message_end(message=build.assistant("**Loud**"))
    feed(*turn(*calls(0), words, *calls(*range(1, 60)), build.turn_end()))
    loop, event = LoopRecord.objects.get(), ToolCall.objects.order_by("pk")[30].end_event
    url = f"/p/default/sessions/{loop.session_id}/loops/{loop.pk}"

    [then] = inside(see(f"{url}?at={event}").html)
    [raw, _] = inside(see(f"{url}?raw=1").html)

    assert f"at={event}" in then
    assert shown(reader.get(then).content.decode()) == list(range(20))
    assert "<strong>Loud</strong>" in reader.get(then).content.decode()
    assert "**Loud**" in reader.get(raw).content.decode()


@pytest.mark.parametrize(
    "query", ["", "first=0&end=60", "first=1&end=21", "first=40&end=60", "first=0&end=0"]
)
def test_ranges_that_are_no_group_are_not_found(feed, reader, query):
    feed(*turn(*calls(*range(50))))
    loop = LoopRecord.objects.get()
    url = f"/p/default/sessions/{loop.session_id}/loops/{loop.pk}/turns"
    assert reader.get(f"{url}/0/calls?{query}").status_code == 404
    assert reader.get(f"{url}/1/calls?first=0&end=20").status_code == 404
    assert reader.get(f"{url}/0/calls?first=0&end=20").status_code == 200
