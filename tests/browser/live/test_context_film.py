"""The tab Context in a browser: keys, pointer and URL choose a turn, and a live update keeps it; 390 px."""

import pytest

from tests.browser.axe import COLOURS, RULES, serious
from tests.recorder.ledger import carried_file
from tests.support import build

PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def context(server):
    """Return the address of the tab of the session computed by hand, once its ledger is made."""
    server.agent().send(*(build.line(event).decode() for event in carried_file.events()))
    return f"{server.session_url('s')}?tab=context"


def open_film(watched, address):
    page = watched.open(address)
    page.locator("[data-connection=live]").wait_for()
    page.locator("[data-film]").wait_for()
    page.locator("[data-film][aria-valuemax='23']").wait_for()
    return page


def open_short_film(watched, server, session):
    """Open the tab of a session of two calls."""
    server.agent().send(*small_loops(session, "a", "b"))
    page = watched.open(f"{server.session_url(session)}?tab=context")
    page.locator("[data-connection=live]").wait_for()
    page.locator("[data-film][aria-valuemax='2']").wait_for()
    return page


def small_loops(session, *names):
    return [build.line(event).decode() for name in names for event in build.small_loop(f"{session}.{name}.1")]


def chosen(page):
    return page.locator("[data-film]").get_attribute("aria-valuenow")


def test_arrow_keys_move_readout_and_url_together(window, context):
    page = open_film(window(), f"{context}&turn=12")
    film = page.locator("[data-film]")
    film.focus()

    page.keyboard.press("ArrowRight")
    page.wait_for_url("**turn=13**")
    assert chosen(page) == "13"
    assert "append only" in film.get_attribute("aria-valuetext")
    assert page.locator("[data-readout] caption").inner_text().startswith("Turn 13")
    assert page.locator("[data-readout] .tone-rejected").count() == 0
    assert "turn=13" in page.get_by_role("link", name="By tool", exact=True).get_attribute("href")
    assert page.locator(".context-filter [name=turn]").input_value() == "13"
    page.keyboard.press("Home")
    page.wait_for_url("**turn=1")
    assert "first call" in page.locator("[data-readout] caption").inner_text()
    page.keyboard.press("End")
    page.wait_for_url("**turn=23**")
    assert "turn=23" in page.locator("[data-turn-link]").get_attribute("href")
    page.reload()
    assert chosen(page) == "23"


def test_a_click_chooses_a_turn_and_a_live_update_keeps_it(window, server, context):
    page = open_film(window(), context)
    box = page.locator("[data-film]").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 4.5 / 23, box["y"] + 100)
    page.wait_for_url("**turn=5**")
    page.mouse.move(0, 0)

    server.agent().send(*(build.line(event).decode() for event in build.small_loop("s.b.1")))
    page.locator("[data-film][aria-valuemax='24']").wait_for()

    page.wait_for_function("document.querySelector('[data-film]').getAttribute('aria-valuenow') == '5'")
    assert page.locator("[data-readout] caption").inner_text().startswith("Turn 5")


def test_a_film_that_has_the_focus_is_drawn_with_a_turn_that_ends(window, server):
    page = open_short_film(window(), server, "focused")
    page.locator("[data-film]").focus()

    server.agent().send(*small_loops("focused", "c"))
    page.locator("[data-film][aria-valuemax='3']").wait_for()

    page.locator(".film-bars svg[viewBox='0 0 30 220']").wait_for(state="attached")
    assert page.evaluate("document.activeElement.matches('[data-film]')")


def test_a_key_chooses_a_turn_under_a_resting_pointer_and_a_live_update_keeps_it(window, server):
    page = open_short_film(window(), server, "resting")
    film = page.locator("[data-film]")
    film.focus()
    box = film.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 100)
    page.wait_for_function("document.querySelector('[data-film]').getAttribute('aria-valuenow') == '1'")
    page.keyboard.press("End")
    page.wait_for_url("**turn=2**")

    server.agent().send(*small_loops("resting", "c"))
    page.locator("[data-film][aria-valuemax='3']").wait_for()

    assert chosen(page) == "2"


def test_on_a_phone_and_on_a_desktop_axe_finds_nothing_and_nothing_scrolls_sideways(window, context):
    page = window(viewport=PHONE, reduced_motion="reduce").open(f"{context}&turn=12")
    page.locator("[data-film]").wait_for()
    for width in (390, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        for scheme, rules in (("light", RULES), ("dark", COLOURS)):
            page.emulate_media(color_scheme=scheme)
            assert serious(page, rules) == []
        assert page.evaluate("document.querySelector('#loop-scroll').scrollWidth") <= width


def test_without_scripts_links_move_through_the_film(window, context):
    page = window(java_script_enabled=False).page
    page.goto(f"{context}&turn=5")

    assert chosen(page) == "5"
    page.get_by_role("link", name="Turn after").click()
    assert chosen(page) == "6"
