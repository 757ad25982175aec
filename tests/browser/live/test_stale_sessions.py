"""An open page says by itself that a session is stale, and that it is live again."""

import pytest

from tests.support.server import Server
from tests.support.small_loop import Loop
from tests.support.wait import until


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("server"), LOOPSCOPE_STALE_S="5")
    server.start()
    yield server
    server.stop()


def test_a_silent_session_becomes_stale_on_open_pages_and_returns_with_its_next_event(server, window):
    loop, agent = Loop(), server.agent()
    agent.send(loop.start(title="Count the apples"), loop.turn())
    first, second = window(), window()
    page, listed = first.open("/p/default/sessions"), second.open("/p/default/sessions")
    page.get_by_role("link", name="Count the apples").first.click()
    page.locator("[data-connection=live]").wait_for()

    title = page.locator(".session-title .pill").first
    title.get_by_text("Stale").wait_for()
    assert "no events for" in page.locator(".session-title").inner_text()
    listed.locator(".session-row[data-state=stale]").wait_for()
    listed.get_by_text("No running sessions").wait_for()

    running = title.get_by_text("Running"), listed.locator(".session-row[data-state=running]")

    def both_return():
        agent.send(loop.turn_end("Seven."), loop.turn())  # again: after 5 s without one it is stale again
        return all(each.is_visible() for each in running)

    until(both_return, poll_s=0.5, pause=lambda seconds: page.wait_for_timeout(1000 * seconds))
    assert first.faults == second.faults == first.violations() == second.violations() == []
