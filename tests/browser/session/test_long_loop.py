"""A long loop in a browser: its open page stays as small as a reload and shows the same."""

from tests.support import build


def turns(*numbers):
    for n in numbers:
        yield build.turn_start("g.a.1", index=n)
        yield build.turn_end("g.a.1", message=build.assistant(f"Answer {n}."))


def listed(page):
    return page.evaluate(
        "[...document.querySelectorAll('[data-window] > .turn')].map((each) => Number(each.dataset.order))"
    )


def test_a_page_that_is_followed_shows_what_a_reload_shows_and_leads_to_all_before(server, window):
    agent = server.agent()
    agent.send(build.agent_start("g.a.1"), *turns(*range(10)))
    one = window()
    page = one.open(server.session_url("g"))
    assert listed(page) == list(range(10))
    page.keyboard.press("f")

    for start in range(10, 100, 15):
        agent.send(*turns(*range(start, start + 15)))
        page.get_by_text(f"Answer {start + 14}.").wait_for()
    page.wait_for_function("() => document.querySelectorAll('[data-window] > .turn').length == 30")
    assert listed(page) == list(range(70, 100))

    reloaded = window().open(page.url)
    assert listed(reloaded) == list(range(70, 100))

    page.get_by_text("Earlier turns").click()
    page.get_by_text("Answer 40.").wait_for()
    assert listed(page) == list(range(40, 100))
    for first in (30, 0):
        page.get_by_text("Earlier turns").click()
        page.get_by_text(f"Answer {first}.", exact=True).wait_for()
    assert listed(page) == list(range(100))
    assert page.get_by_text("Earlier turns").count() == 0
    agent.send(*turns(100))
    page.get_by_text("Answer 100.").wait_for()
    assert listed(page)[-1] == 100
    assert one.faults == []
