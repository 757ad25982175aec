"""A turn of many calls in a browser: groups open, keys enter them, a redraw keeps them."""

from tests.support import build


def calls(*numbers, failed=()):
    for n in numbers:
        result = {"content": [{"type": "text", "text": f"result {n}."}], "details": None}
        yield build.tool_start(call=f"c{n}")
        yield build.tool_end(call=f"c{n}", is_error=n in failed, result=result)


def test_errors_in_folded_calls_are_found_and_an_opened_group_stays_as_it_was_loaded(server, window):
    agent = server.agent()
    agent.send(build.agent_start(), build.turn_start(), *calls(*range(65), failed={7, 31, 62}))
    one = window()
    page = one.open(server.session_url("s"))
    assert page.locator(".tool").count() == 5

    gone_to = []
    for failed in (7, 31, 62):
        page.keyboard.press("e")
        page.locator(".tool.is-failed summary:focus").wait_for()
        page.wait_for_function(
            "(n) => document.activeElement.closest('.tool')?.innerText.includes(`result ${n}.`)", arg=failed
        )
        gone_to.append(failed)
    assert gone_to == [7, 31, 62]
    assert page.locator(".tool").count() == 45  # the third group holds no error, and was not asked for

    agent.send(*calls(*range(65, 90)), build.turn_end())
    page.get_by_text("Calls 61 to 80").wait_for()
    assert page.locator(".call-group[open]").count() == 2
    assert page.get_by_text("result 7.").is_visible()
    assert page.locator(".tool").count() == 50
    assert one.faults == []
