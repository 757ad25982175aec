"""A turn of many messages in a browser: groups open, `e` enters them, a redraw keeps them."""

from tests.support import build


def messages(*numbers, failed=()):
    for n in numbers:
        if n in failed:
            yield build.ours("ErrorRaised", message=f"word {n}.", code="x", scope="loop")
        else:
            yield build.message_end(message=build.assistant(f"word {n}."))


def test_an_opened_passage_stays_as_it_was_loaded_and_errors_in_it_are_found(server, window):
    agent = server.agent()
    agent.send(build.agent_start(), build.turn_start(), *messages(*range(65), failed={7, 62}))
    one = window()
    page = one.open(server.session_url("s"))
    assert page.locator(".turn .message").count() == 4

    page.keyboard.press("e")
    page.locator(".turn").get_by_text("word 7.").wait_for()
    assert page.locator(".call-group[open]").count() == 1
    assert page.locator(".turn .message").count() == 23

    page.locator(".call-group:not([open]) > summary").first.focus()
    page.keyboard.press("Enter")
    page.locator(".turn").get_by_text("word 20.").wait_for()
    agent.send(*messages(*range(65, 90)))
    page.locator(".turn").get_by_text("word 89.").wait_for()
    page.wait_for_function("() => document.querySelectorAll('.call-group').length == 4")
    assert page.locator(".call-group[open]").count() == 2
    assert page.locator(".turn").get_by_text("word 7.").is_visible()
    assert page.locator(".turn").get_by_text("word 20.").is_visible()
    assert page.evaluate("document.activeElement.closest('.call-group[open]') != null")
    assert one.faults == []
