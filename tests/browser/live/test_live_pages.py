"""Open pages while agents work: immediate, the same for all viewers, current after a crash."""

import re
import sys
import threading
import time
from bisect import bisect
from itertools import pairwise
from statistics import quantiles

import pytest
from playwright.sync_api import expect
from websockets.sync.client import connect

from tests.browser.live.settled_pages import RESTING, agrees
from tests.dashboard.pages.attention.loop_states import approval_request, failing
from tests.support import build
from tests.support.small_loop import Loop
from tests.support.wait import LONGEST_S

NUMBERS = re.compile(r"«(\d+)»")
LAST = 249

# Notes when the last «n» of the page's text grows. The text is read after each change, before the next.
STOPWATCH = """() => {
  window.seen = [];
  const look = () => {
    const all = document.querySelector("#main").textContent.match(/«\\d+»/g);
    const last = all ? Number(all.at(-1).slice(1, -1)) : -1;
    if (last > (seen.at(-1)?.[0] ?? -1)) seen.push([last, Date.now()]);
  };
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
}"""

GROWTH = """(selector) => {
  window.texts = [];
  const look = () => {
    const text = [...document.querySelectorAll(selector)].map((block) => block.textContent).join("");
    if (text != texts.at(-1)) texts.push(text);
  };
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
  look();
}"""


@pytest.fixture
def working(server):
    """An agent in the middle of an answer, and the page that shows it."""
    loop, agent = Loop(f"live-{time.monotonic_ns()}"), server.agent()
    agent.send(loop.start(), loop.turn(), *loop.prompt("Write a poem"), loop.answering())
    return loop, agent, server.session_url(loop.session)


class Socket(threading.Thread):
    """A viewer without a browser: acknowledges every frame and notes when numbers arrive."""

    def __init__(self, page, server) -> None:
        super().__init__(daemon=True)
        address = page.locator("[ws-connect]").get_attribute("ws-connect")
        cookies = "; ".join(f"{each['name']}={each['value']}" for each in page.context.cookies())
        self._address = server.url.replace("http", "ws") + address
        self._options = {"additional_headers": {"Cookie": cookies}, "origin": server.url}
        self.seen: list[tuple[int, float]] = [(-1, 0.0)]
        self.start()

    def run(self) -> None:
        with connect(self._address, max_size=None, compression=None, **self._options) as socket:
            while self.seen[-1][0] < LAST:
                frame = socket.recv(timeout=LONGEST_S)
                number = re.match(r"<!--frame (\d+)-->", frame)
                assert number
                last = max((int(n) for n in NUMBERS.findall(frame)), default=-1)
                if last > self.seen[-1][0]:
                    self.seen.append((last, time.time() * 1000))
                socket.send(f'{{"ack":{number[1]}}}')


def shown_at(sent: list[float], seen: list[tuple[int, float]]) -> list[float]:
    """Return when each number was shown; a later number counts for the earlier ones too."""
    found, rest = [], iter(sorted(seen))
    last, at = next(rest)
    for number in range(len(sent)):
        while last < number:
            last, at = next(rest)
        found.append(at)
    return found


def p95_behind(sent: list[float], seen: list[tuple[int, float]]) -> float:
    """Return how many numbers were sent after one before it was shown, at p95."""
    behind = [bisect(sent, at) - 1 - number for number, at in enumerate(shown_at(sent, seen))]
    return quantiles(behind, n=20)[18]


@pytest.mark.alone
def test_at_50_events_a_second_five_pages_are_less_than_25_events_behind(server, window, working, capsys):
    loop, agent, url = working
    page = window().open(url)
    page.evaluate(STOPWATCH)
    others = [Socket(page, server) for _ in range(4)]
    sent, started = [], time.monotonic()
    with agent.stream() as send:
        for number in range(LAST + 1):
            time.sleep(max(0.0, started + number / 50 - time.monotonic()))  # the pace is the test
            sent.append(time.time() * 1000)
            send(loop.delta(f"«{number}» "))
        rate = (LAST + 1) / (time.monotonic() - started)
    page.get_by_text(f"«{LAST}»").wait_for()
    for other in others:
        other.join(timeout=LONGEST_S)
    seen = page.evaluate("seen")
    waits = quantiles([at - begun for at, begun in zip(shown_at(sent, seen), sent, strict=True)], n=20)
    with capsys.disabled():
        sys.stdout.write(f"\n{rate:.0f} events/s: page p50 {waits[9]:.0f} ms, p95 {waits[18]:.0f} ms\n")
    assert p95_behind(sent, seen) < 25
    assert max(p95_behind(sent, other.seen) for other in others) < 25


def test_200_deltas_grow_the_same_text_in_two_browsers(server, window, working):
    loop, agent, url = working
    pages = [window().open(url), window().open(url)]
    words = [f"word{number} " for number in range(200)]
    for page in pages:
        page.evaluate(GROWTH, ".block .plain")
    for number, word in enumerate(words):
        agent.send(loop.delta(word))
        for page in pages if number < 4 else ():  # so that a page that is slow cannot draw all at once
            page.get_by_text(word.strip()).wait_for()
    for page in pages:
        page.get_by_text("word199").wait_for()
    for page in pages:
        texts = page.evaluate("texts")
        assert texts[-1].split() == "".join(words).split()
        assert len(texts) > 3, "the text came at once, not as it was written"
        assert all(later.startswith(earlier) for earlier, later in pairwise(texts))


def test_a_late_viewer_sees_the_text_so_far(server, window, working):
    loop, agent, url = working
    agent.send(loop.delta("the beginning "))
    page = window().open(url)
    page.get_by_text("the beginning").wait_for()
    agent.send(loop.delta("and the end"))
    page.get_by_text("the beginning and the end").wait_for()


def test_after_a_crash_both_pages_are_true_again_without_a_reload(server, window, working):
    loop, agent, url = working
    session, sessions = window().open(url), window().open("/p/default/sessions")
    for page in (session, sessions):
        page.evaluate("window.sameDocument = true")
    agent.send(loop.delta("before the crash "))
    session.get_by_text("before the crash").wait_for()

    server.kill()
    for page in (session, sessions):
        page.get_by_text(re.compile("Reconnecting")).first.wait_for()
    server.start()
    agent.send(
        loop.delta("after it"), loop.answer("The whole poem."), loop.turn_end("The whole poem."), loop.end()
    )

    for page in (session, sessions):
        page.locator("[data-connection=live]").wait_for()
        assert page.evaluate("window.sameDocument") is True
    session.get_by_text("The whole poem.").first.wait_for()
    assert session.get_by_text("before the crash").count() == 0
    agrees(session, window)


def test_what_was_pushed_is_what_a_reload_shows(server, window):
    loop, agent = Loop(f"reload-{time.monotonic_ns()}"), server.agent()
    agent.send(loop.start())
    page = window().open(server.session_url(loop.session))
    agent.send(loop.turn(), *loop.prompt("List the files"), loop.answering(), loop.delta("I look"))
    page.get_by_text("I look").first.wait_for()
    agent.send(loop.tool("t1", command="ls"), loop.progress("t1", "half way"))
    page.get_by_text("half way").first.wait_for()
    agent.send(
        loop.tool_end("t1", "README.md"), loop.answer("One file."), loop.turn_end("One file."), loop.end()
    )
    page.get_by_text("One file.").first.wait_for()
    agrees(page, window)


def test_what_the_reader_opened_typed_selected_and_scrolled_stays(server, window):
    loop, agent = Loop(f"kept-{time.monotonic_ns()}"), server.agent()
    turns = [event for n in range(12) for event in loop.whole_turn(f"Paragraph {n}. " + "words " * 200)]
    agent.send(loop.start(), *turns)
    agent.send(loop.turn(), loop.tool("t1", command="make test"), loop.progress("t1", "0 of 9"))
    page = window().open(server.session_url(loop.session))
    details = page.locator("details.tool").last
    details.locator("summary").click()
    assert details.get_attribute("open") is not None
    page.evaluate("getSelection().selectAllChildren(document.querySelector('.turn .prose p'))")
    selection = page.evaluate("getSelection().toString()")
    top = page.evaluate("[...document.querySelectorAll('*')].map((el) => el.scrollTop)")

    for n in range(1, 5):
        agent.send(loop.progress("t1", f"{n} of 9"))
    page.get_by_text("4 of 9").first.wait_for()

    assert details.get_attribute("open") is not None
    assert page.evaluate("getSelection().toString()") == selection != ""
    assert page.evaluate("[...document.querySelectorAll('*')].map((el) => el.scrollTop)") == top


def test_a_filter_that_is_being_typed_is_not_touched(server, window, working):
    loop, agent, _ = working
    page = window().open("/p/default/sessions")
    field = page.locator("input[type=search]").first
    field.fill("half a wor")
    agent.send(loop.tool("t1", command="ls"))
    page.get_by_text("ls").first.wait_for()
    assert field.input_value() == "half a wor"
    assert field.evaluate("(field) => document.activeElement === field")


def test_follow_keeps_the_newest_turn_in_view_and_lets_go_on_scrolling_up(server, window):
    loop, agent = Loop(f"follow-{time.monotonic_ns()}"), server.agent()
    turns = [event for n in range(12) for event in loop.whole_turn(f"Turn {n}. " + "words " * 200)]
    agent.send(loop.start(), *turns)
    page = window().open(server.session_url(loop.session))
    button = page.locator("[data-follow]")
    if button.get_attribute("aria-pressed") != "true":
        button.click()
    agent.send(*loop.whole_turn("The newest of all"))
    newest = page.get_by_text("The newest of all", exact=True).last
    newest.wait_for()
    element = newest.element_handle()
    page.wait_for_function("(el) => el.getBoundingClientRect().bottom <= innerHeight", arg=element)

    newest.hover()
    page.mouse.wheel(0, -600)
    page.locator("[data-follow][aria-pressed=false]").wait_for()
    top = newest.evaluate(RESTING)
    agent.send(*loop.whole_turn("One more"))
    page.get_by_text("1 new turn", exact=True).wait_for()
    assert newest.evaluate("(el) => el.getBoundingClientRect().top") == top


def test_new_sessions_wait_behind_a_strip(server, window, working):
    page = window().open("/p/default/sessions")
    rows = page.locator("[id^='sessions-row-']").count()
    place = page.get_by_role("table", name="Sessions").bounding_box()
    loop = Loop(f"new-{time.monotonic_ns()}")
    server.agent().send(loop.start(title="A session that nobody has seen"))
    page.get_by_text(re.compile("1 new session")).wait_for()
    assert page.locator("[id^='sessions-row-']").count() == rows
    assert page.get_by_role("table", name="Sessions").bounding_box()["y"] == place["y"]


def test_a_tree_that_grows_keeps_what_the_reader_folded_and_where_the_focus_is(server, window):
    session = f"grows{time.monotonic_ns()}"
    first, below, last = (f"{session}.a.{n}" for n in (1, 2, 3))
    agent = server.agent()
    branch = build.agent_start(below, parent=first, kind={"Branch": {"tag": "b"}})
    agent.send(*build.small_loop(first), branch, build.agent_end(below))
    page = window().open(server.session_url(session))
    top = page.locator("[role=treeitem][aria-expanded]").first
    top.focus()
    page.keyboard.press("ArrowLeft")
    assert top.get_attribute("aria-expanded") == "false"

    agent.send(build.agent_start(last), build.agent_end(last))
    page.get_by_text("loop 2 of 3").wait_for()

    assert top.get_attribute("aria-expanded") == "false"
    assert top.evaluate("(item) => document.activeElement === item")


def test_items_for_the_user_are_counted_on_the_tab_until_they_are_marked_read(window, server):
    watched = window()
    page = watched.open("/p/default/attention")
    page.locator("[data-feed-state]", has_text="Connected").wait_for()
    fails, asks = (f"{word}-{time.monotonic_ns()}" for word in ("fails", "asks"))

    server.agent().send(*failing(fails), *approval_request(asks))

    expect(page).to_have_title(re.compile(r"^\(2\) Attention"))
    expect(page.locator("link[rel=icon]")).to_have_attribute("href", re.compile("^data:image/svg"))
    expect(page.locator(".feed li", has_text=fails)).to_have_count(2)
    row = page.locator(".failures li", has_text=fails)
    row.get_by_role("button", name=f"Mark as read {fails}").press("Enter")
    expect(page).to_have_title(re.compile(r"^\(1\) Attention"))
    expect(row.get_by_role("button")).to_have_count(0)
    expect(page.locator(".feed li", has_text=fails)).to_have_count(2)
    page.get_by_text("Attention", exact=True).last.click()
    expect(page.locator(".feed li:visible", has_text=fails)).to_have_count(1)
    server.agent().send(build.agent_end(f"{asks}.a.1", outcome="cancelled"))
    expect(page).to_have_title(re.compile(r"^Attention"))
    expect(page.locator("link[rel=icon]")).to_have_attribute("href", re.compile(r"\.svg$"))
    assert watched.faults == watched.violations() == []


def test_an_as_of_page_does_not_change_while_the_session_continues(window, server, working):
    loop, agent, url = working
    live = window().open(url)
    shown = live.locator("#main .session-top").inner_text()
    past = window().open(url)
    past.locator("[role=slider]").focus()
    past.keyboard.press("Home")
    past.locator("[data-replay][data-number='1']").wait_for()
    expect(past.locator("[data-lag]")).to_contain_text("before the end")
    before = past.locator(".split-panes").inner_html()
    behind = past.locator("[data-lag]").inner_text()

    agent.send(loop.answer("A poem"))
    expect(live.locator("#loop")).to_contain_text("A poem")
    expect(past.locator("[data-lag]")).not_to_have_text(behind)
    assert past.locator(".split-panes").inner_html() == before
    assert live.locator("#main .session-top").inner_text().splitlines()[0] == shown.splitlines()[0]

    box = past.locator(".replay-drawing").bounding_box()
    past.mouse.click(box["x"] + box["width"] - 1, box["y"] + 5)
    expect(past.locator("[data-lag]")).to_have_text("Latest")
    expect(past.locator("#loop")).to_contain_text("A poem")
    past.get_by_role("link", name="go to the end").click()
    past.locator("[data-follow]").wait_for()
