"""Following the newest turn, and no scrolling without it."""

from tests.browser.played_socket import turn

TURNS = '<div id="session-turns-1">' + "".join(turn(n, oob=False) for n in range(1, 9)) + "</div>"


def at_end(page):
    return page.evaluate("pane.scrollTop + pane.clientHeight >= pane.scrollHeight - 1")


def test_follow_keeps_the_newest_turn_in_view_until_the_reader_scrolls_up(open_page):
    page, wire = open_page(TURNS)
    page.keyboard.press("f")
    assert at_end(page)
    wire.send(turn(9))
    wire.until(lambda: at_end(page))  # it scrolls with the next animation frame

    page.locator("#pane").hover()
    page.mouse.wheel(0, -200)
    wire.until(lambda: page.locator("[data-follow]").get_attribute("aria-pressed") == "false")
    top = page.evaluate("pane.scrollTop")
    wire.send(turn(10) + turn(11))
    assert page.evaluate("pane.scrollTop") == top
    assert page.locator("[data-unseen]").inner_text() == "2 new turns"

    page.locator("[data-unseen]").click()
    assert at_end(page)
    assert page.locator("[data-unseen]").is_hidden()


def test_f_in_a_field_is_a_letter(open_page):
    page, _ = open_page(TURNS)
    page.locator("#search").press("f")
    assert page.locator("[data-follow]").get_attribute("aria-pressed") == "false"


def test_what_grows_above_does_not_move_what_is_read(open_page):
    page, wire = open_page(TURNS)
    page.evaluate("pane.scrollTop = 450")
    before = page.evaluate("document.querySelector('#x-6').getBoundingClientRect().top")
    wire.send(turn(2, css="tall"))
    wire.until(lambda: page.evaluate("pane.scrollTop") > 1000)
    assert page.evaluate("document.querySelector('#x-6').getBoundingClientRect().top") == before
