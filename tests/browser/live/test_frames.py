"""How a page applies frames; the test plays the server's end of the socket."""

from tests.browser.played_socket import panel, turn


def test_a_frame_replaces_a_panel_by_its_id_and_is_acknowledged(open_page):
    page, wire = open_page(panel(1, "<b>old</b>", oob=False) + panel(2, "stays", oob=False))
    wire.send(panel(1, "<b>new</b>"))
    assert page.locator("#x-1").inner_html() == "<b>new</b>"
    assert page.locator("#x-1").get_attribute("hx-swap-oob") is None
    assert page.locator("#x-2").inner_text() == "stays"
    assert page.errors == []


def test_a_new_panel_goes_into_its_container_at_its_place(open_page):
    page, wire = open_page(f'<div id="session-turns-1">{turn(2, oob=False)}{turn(10, oob=False)}</div>')
    wire.send(turn(9) + turn(1) + turn(11))
    ids = page.eval_on_selector_all("#session-turns-1 > *", "all => all.map(one => one.id)")
    assert ids == ["x-1", "x-2", "x-9", "x-10", "x-11"]


def test_a_new_panel_sent_twice_is_inserted_once(open_page):
    page, wire = open_page('<div id="session-turns-1"></div>')
    wire.send(turn(1) + turn(1))
    wire.send(turn(1))
    assert page.locator("#x-1").count() == 1


def test_a_panel_may_go_into_a_container_that_came_in_the_same_frame(open_page):
    page, wire = open_page('<div id="session-turns-1"></div>')
    outer = panel(1, '<div id="session-stream-1"></div>', 'data-into="session-turns-1" data-order="1"')
    wire.send(outer + panel(2, "text", 'data-into="session-stream-1" data-order="2"'))
    assert page.locator("#x-1 #x-2").inner_text() == "text"


def test_a_panel_without_a_place_on_the_page_is_ignored(open_page):
    page, wire = open_page("")
    wire.send(panel(5, "elsewhere") + turn(6) + '<div id="x-7" hx-swap-oob="delete"></div>')
    assert page.locator("section").count() == 0
    assert page.errors == []


def test_a_deletion_removes_a_panel(open_page):
    page, wire = open_page(panel(1, "gone soon", oob=False))
    wire.send('<div id="x-1" hx-swap-oob="delete"></div>')
    assert page.locator("#x-1").count() == 0


def test_content_missing_in_a_redrawn_panel_is_removed(open_page):
    block = '<pre id="block-1">streamed</pre>'
    page, wire = open_page(panel(1, f'<div id="session-stream-1">{block}</div>', oob=False))
    wire.send(panel(1, '<div id="session-stream-1"></div><p>The message.</p>'))
    assert page.locator("#block-1").count() == 0
    assert page.locator("#x-1 p").inner_text() == "The message."


def test_what_the_reader_opened_and_typed_stays(open_page):
    def form(n):
        return f"<details id=d><summary>More</summary>{n}</details><input id=note value={n}><b>{n}</b>"

    page, wire = open_page(panel(1, form(1), oob=False))
    page.locator("summary").click()
    page.locator("#note").fill("typed by hand")
    page.evaluate("document.querySelector('#note').setSelectionRange(3, 7)")
    wire.send(panel(1, form(2)))
    assert page.locator("#x-1 b").inner_text() == "2"
    assert page.locator("details").get_attribute("open") is not None
    assert page.locator("#note").input_value() == "typed by hand"
    assert page.evaluate("[document.activeElement.id, document.activeElement.selectionStart]") == ["note", 3]


def test_what_opens_by_itself_opens_and_what_the_reader_closed_stays_closed(open_page):
    def tool(pk, state):
        return f"<details id=d{pk} {state}><summary>Tool {pk}</summary>{state}</details>"

    page, wire = open_page(panel(1, tool(1, "") + tool(2, "open"), oob=False))
    page.get_by_text("Tool 2").click()
    wire.send(panel(1, tool(1, "open") + tool(2, "open") + "<b>new</b>"))
    assert page.evaluate("[d1.open, d2.open]") == [True, False]


def test_an_attribute_that_a_script_owns_stays(open_page):
    item = '<div id="i" role="treeitem" aria-expanded="true" data-keep="aria-expanded">{}</div>'
    page, wire = open_page(panel(1, item.format(1), oob=False))
    page.evaluate("document.querySelector('#i').ariaExpanded = 'false'")
    wire.send(panel(1, item.format(2)))
    assert page.locator("#i").inner_text() == "2"
    assert page.locator("#i").get_attribute("aria-expanded") == "false"


def test_what_the_reader_had_loaded_stays(open_page):
    page, wire = open_page(panel(1, '<i>1</i><div id="more" hx-preserve>first lines</div>', oob=False))
    page.evaluate("document.querySelector('#more').textContent = 'all lines'")
    wire.send(panel(1, '<i>2</i><div id="more" hx-preserve>first lines</div>'))
    assert page.locator("i").nth(1).inner_text() == "2"
    assert page.locator("#more").inner_text() == "all lines"


def test_a_selection_in_growing_text_stays(open_page):
    page, wire = open_page(panel(1, "<pre id=p>the text so far</pre>", oob=False))
    page.evaluate("getSelection().setBaseAndExtent(p.firstChild, 4, p.firstChild, 8)")
    wire.send(panel(1, "<pre id=p>the text so far and on</pre>"))
    assert page.locator("#p").inner_text() == "the text so far and on"
    assert page.evaluate("getSelection().toString()") == "text"


def test_markup_in_a_frame_runs_nothing(open_page):
    page, wire = open_page(panel(1, "", oob=False))
    bad = "<script>window.__pwned = 1</script><img src=x onerror='window.__pwned = 2'>"
    wire.send(panel(1, bad) + "<script>window.__pwned = 3</script>")
    assert page.evaluate("window.__pwned") is None


def test_htmx_works_in_pushed_panels(open_page):
    page, wire = open_page(panel(1, "", oob=False))
    wire.send(panel(1, '<button hx-get="/more" hx-swap="none">More</button>'))
    with page.expect_request("**/more"):
        page.get_by_text("More").click()


def test_the_connection_line_shows_the_state_of_the_socket(open_page):
    page, wire = open_page("")
    line = page.locator("[data-connection]")
    page.get_by_text("Catching up").wait_for()
    wire.send()
    assert line.inner_text() == "Live"
    assert line.get_attribute("data-connection") == "live"
    wire.sockets[0].close(code=1011)
    page.get_by_text("Reconnecting").wait_for()
    assert page.locator(".dot-off").count() == 1
    wire.until(lambda: len(wire.sockets) == 2)
    wire.send()
    page.get_by_text("Live", exact=True).first.wait_for()
    assert page.get_by_role("status").inner_text() in {"Connection lost", "Live again"}


def test_a_lost_connection_shows_since_when_the_page_is_stale(open_page):
    page, wire = open_page("")
    page.clock.install()
    wire.send()
    at = page.evaluate("new Date().toLocaleTimeString('en-GB', {timeStyle: 'short'})")
    wire.is_away = True
    wire.sockets[0].close(code=1011)
    page.get_by_text("Reconnecting").wait_for()
    page.clock.run_for(31_000)
    page.get_by_text(f"Stale since {at}").wait_for()


def test_a_page_that_slept_reconnects(open_page):
    page, wire = open_page("")
    page.clock.install()
    wire.send()
    page.clock.fast_forward(3_600_000)
    page.evaluate("dispatchEvent(new Event('visibilitychange'))")
    wire.until(lambda: len(wire.sockets) == 2)
    wire.send()
    assert page.locator("[data-connection]").inner_text() == "Live"


def test_a_server_that_shuts_down_is_reconnected_to(open_page):
    page, wire = open_page("")
    wire.send()
    wire.sockets[0].close(code=4408)
    wire.until(lambda: len(wire.sockets) == 2)
    wire.send()
    assert page.locator("[data-connection]").inner_text() == "Live"


def test_a_socket_that_closes_before_it_is_open_is_tried_again(open_page):
    page, wire = open_page("", turns_away=1)
    wire.send()
    page.locator("[data-connection=live]").wait_for()
    assert not page.errors


def test_after_signing_out_the_page_says_so_and_does_not_reconnect(open_page):
    page, wire = open_page("")
    wire.send()
    wire.sockets[0].close(code=4401)
    page.get_by_text("Access ended, stale since").wait_for()
    assert len(wire.sockets) == 1


def test_the_live_region_announces_at_most_once_in_five_seconds(open_page):
    page, wire = open_page('<p id="x-1" data-announce=""></p>')
    page.clock.install()
    for n in range(1, 5):
        wire.send(f'<p id="x-1" hx-swap-oob="morph" data-announce="Turn {n} finished"></p>')
    assert page.get_by_role("status").inner_text() == "Turn 1 finished"
    page.clock.run_for(5_100)
    assert page.get_by_role("status").inner_text() == "Turn 4 finished"
