"""The window of turns on an open page: it equals a reload and keeps the turns that the reader uses."""

from tests.browser.played_socket import turn


def opened(open_page, *numbers, earlier=""):
    size = 'data-limit="5" data-bytes="100000"'
    window = f'data-window data-first="{numbers[0]}" {size} data-url="/loops/1"'
    turns = "".join(turn(n, oob=False, css="turn") for n in numbers)
    page, wire = open_page(f'<div id="session-turns-1" {window}>{earlier}{turns}</div>')
    page.requested = []
    page.route("**/loops/1?before=*", lambda route: answer(page, route))
    page.evaluate("document.querySelector('#session-turns-1').className = 'turns'")
    return page, wire


def answer(page, route):
    """Respond with the five turns before one, as the server does."""
    before = int(route.request.url.split("before=")[1].split("#")[0])
    page.requested.append(before)
    turns = "".join(turn(n, oob=False, css="turn") for n in range(max(0, before - 5), before))
    route.fulfill(body=f'<div class="turns">{turns}</div>', content_type="text/html")


def shown(page):
    """Return the items of the list: turns by number, links to other turns by text."""
    return page.evaluate(
        """() => [...document.querySelector("#session-turns-1").children]
          .map((each) => ("gap" in each.dataset ? each.textContent : Number(each.dataset.order)))"""
    )


def until(page, wire, expected):
    wire.until(lambda: page.wait_for_timeout(20) or shown(page) == expected)


def test_following_keeps_the_newest_turns_and_a_link_to_the_others(open_page):
    page, wire = opened(open_page, 0, 1, 2, 3, 4)
    page.keyboard.press("f")
    for n in range(5, 60):
        wire.send(turn(n, css="turn"))
    until(page, wire, ["Earlier turns", 55, 56, 57, 58, 59])
    assert page.evaluate("pane.scrollTop + pane.clientHeight >= pane.scrollHeight - 1")
    assert page.locator("[data-follow]").get_attribute("aria-pressed") == "true"

    wire.send(turn(12, css="turn"))  # redrawn, but outside the window
    until(page, wire, ["Earlier turns", 55, 56, 57, 58, 59])

    page.get_by_text("Earlier turns").click()
    until(page, wire, ["Earlier turns", *range(50, 60)])
    assert page.requested == [55]
    wire.send(turn(60, css="turn"))
    until(page, wire, ["Earlier turns", *range(50, 61)])  # the reader has scrolled up


def test_the_servers_link_to_earlier_turns_stays_until_its_target_changes(open_page):
    link = (
        '<div data-gap data-order="9.5"><a class="button" href="/loops/1?before=10">Earlier turns</a></div>'
    )
    page, wire = opened(open_page, 10, 11, 12, 13, earlier=link)
    wire.send(turn(14, css="turn"))
    until(page, wire, ["Earlier turns", 10, 11, 12, 13, 14])
    page.keyboard.press("f")
    wire.send(turn(15, css="turn"))
    until(page, wire, ["Earlier turns", 11, 12, 13, 14, 15])
    assert page.get_by_text("Earlier turns").count() == 1


def test_reading_further_up_is_not_disturbed_by_new_turns(open_page):
    page, wire = opened(open_page, 0, 1, 2, 3, 4)
    page.evaluate("pane.scrollTop = 150")
    before = page.evaluate("document.querySelector('#x-2').getBoundingClientRect().top")
    for n in range(5, 200):
        wire.send(turn(n, css="turn"))
    wire.until(lambda: page.wait_for_timeout(20) or len(shown(page)) <= 21)

    there = shown(page)
    assert there[:6] == [0, 1, 2, 3, 4, 5]
    assert there[-5:] == [195, 196, 197, 198, 199]
    (link,) = [item for item in there if isinstance(item, str)]
    assert link.startswith("Turns 7 to ")
    assert page.evaluate("document.querySelector('#x-2').getBoundingClientRect().top") == before

    page.get_by_text(link).click()
    wire.until(lambda: page.wait_for_timeout(20) or 10 in shown(page))
    assert shown(page)[:11] == list(range(11))
    assert page.requested == [11]


def test_a_turn_in_which_the_reader_opened_something_stays(open_page):
    page, wire = opened(open_page, 0, 1, 2, 3, 4)
    details = "<details><summary>More</summary>inside</details>"
    wire.send(turn(1, css="turn").replace("turn 1<", f"{details}<"))
    page.get_by_text("More").click()
    page.keyboard.press("f")
    for n in range(5, 12):
        wire.send(turn(n, css="turn"))
    until(page, wire, ["Earlier turns", 1, "Turns 3 to 7", 7, 8, 9, 10, 11])
    assert page.evaluate("document.querySelector('#x-1 details').open")


def test_turns_during_a_lost_connection_become_a_link_and_a_running_one_is_redrawn(open_page):
    page, wire = opened(open_page, 0, 1, 2)
    wire.send(
        turn(2, css="turn").replace("turn 2", "runs").replace("data-into", 'aria-busy="true" data-into')
    )
    wire.send("".join(turn(n, css="turn") for n in range(40, 45)))
    until(page, wire, [0, 1, 2, "Turns 4 to 40", 40, 41, 42, 43, 44])
    page.get_by_text("turn 2").wait_for()
    assert page.requested == [3]
    assert page.locator("#x-2").get_attribute("aria-busy") is None


def test_large_turns_are_fewer(open_page):
    page, wire = opened(open_page, 0)
    page.keyboard.press("f")
    for n in range(1, 5):
        wire.send(turn(n, css="turn").replace(f"turn {n}", "x" * 40_000))
    until(page, wire, ["Earlier turns", 3, 4])
