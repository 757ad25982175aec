"""Text stays readable on narrow screens and with long names."""

import json
from datetime import UTC, datetime, timedelta
from urllib.request import Request, urlopen

import pytest

from tests.browser.pages import post_note
from tests.recorder.ledger import carried_file
from tests.support import build
from tests.support.wait import until

PHONE = {"width": 390, "height": 844}
LONG = "qwen2.5-coder:14b-instruct-q4_K_M"
ENDLESS = "m" * 200
IS_WHOLE = "each => each.scrollWidth <= each.clientWidth || getComputedStyle(each).display == 'inline'"


@pytest.fixture(scope="module")
def recorded(server):
    """Passes of three configs, one with an endless name, and an evaluation."""
    events = []
    for n, (model, heat) in enumerate(((LONG, 0.1), (LONG, 0.9), (ENDLESS, 0.1))):
        config = {"model": model, "provider": "ollama", "api": "openai_completions", "temperature": heat}
        loop = f"narrow{n}.a.1"
        events += [
            build.agent_start(loop, config_snapshot=config),
            build.turn_start(loop),
            build.compaction_started(loop),
            build.compaction_ended(loop),
            build.turn_end(loop),
            build.agent_end(loop),
        ]
    branches = ("both.a.1", "both.a.2")
    events += [
        build.parallel_start(*branches, session="both"),
        *(event for branch in branches for event in build.small_loop(branch)),
        build.parallel_end("both.a.1", session="both"),
    ]
    server.agent().send(*(build.line(event).decode() for event in events))
    return {item["session_id"]: item["url"] for item in server.read("/api/v1/sessions")["items"]}


@pytest.mark.usefixtures("recorded")
def test_on_a_phone_the_sums_of_compactions_name_their_configs_in_full(window):
    page = window(viewport=PHONE).open("/p/default/compactions")
    table = page.get_by_role("group", name="By config")
    for text in table.locator("tbody th :is(.clip, .parameter)").all():
        assert text.evaluate("each => each.scrollWidth <= each.clientWidth")
    names = table.locator("tbody th")
    before = names.first.bounding_box()["x"]
    table.evaluate("each => each.scrollLeft = 200")
    assert table.evaluate("each => each.scrollLeft") > 0
    assert names.first.bounding_box()["x"] == before


@pytest.mark.usefixtures("recorded")
def test_on_a_phone_each_table_of_context_shows_the_figure_that_it_is_about(window, server):
    server.agent().send(*(build.line(event).decode() for event in carried_file.events()))
    carried = 20 * carried_file.FILE_TOKENS  # once the ledger has all calls

    def has_all_calls():
        tools = server.read("/api/v1/context/tools?since=2000-01-01")["tools"]
        return carried in [tool["carried_tokens"] for tool in tools]

    until(has_all_calls, poll_s=0.2)
    page = window(viewport=PHONE).open("/p/default/context?since=2000-01-01")
    tables = page.locator(".scroll-x:has(> .ledger-table)")
    labels = {table.get_attribute("aria-label") for table in tables.all()}
    assert labels >= {"What changed", "Requests that make 90% of the cost", "Tools by carried cost"}
    assert page.locator(".ledger-table th.ledger-figure").count() == len(labels)
    for figure in page.locator(".ledger-table .ledger-figure").all():
        box = figure.bounding_box()
        assert 0 <= box["x"] <= box["x"] + box["width"] <= PHONE["width"]


@pytest.mark.usefixtures("recorded")
def test_on_a_phone_every_menu_and_the_time_range_open_inside_of_the_window(window):
    page = window(viewport=PHONE).open("/p/default/evaluations")
    filters = page.locator(".filter-bar > .filter-menu")
    assert not any(menu.is_visible() for menu in filters.all())
    page.locator(".filter-toggle").click()
    menus = page.locator(".filter-menu").all()
    assert len(menus) == 7  # filters, columns, views and their forms
    for menu in menus:
        menu.locator("summary").click()
        box = menu.locator(".filter-popover").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE["width"]
        page.keyboard.press("Escape")
        assert menu.get_attribute("open") is None


RANGED = ("sessions", "costs", "evaluations", "compactions", "leaderboard", "integrity")


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("name", RANGED)
def test_on_a_phone_a_long_custom_range_is_not_cut(window, name):
    now = datetime.now(UTC)
    start, end = now - timedelta(days=64), now + timedelta(days=300)
    query = f"since={start:%Y-%m-%d}T10:59:59Z&until={end:%Y-%m-%d}T10:59:59Z"
    page = window(viewport=PHONE, timezone_id="UTC").open(f"/p/default/{name}?{query}")
    button = page.locator(".filter-menu summary", has_text=" to ")
    assert f"{start.day} {start:%b}" in button.inner_text()
    assert f"{end.day} {end:%b}" in button.inner_text()
    box = button.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= PHONE["width"]
    for part in (button, *button.locator("*").all()):
        assert part.evaluate(IS_WHOLE)
    button.click()
    popover = page.locator(".range-form").bounding_box()
    assert popover["x"] >= 0
    assert popover["x"] + popover["width"] <= PHONE["width"]


@pytest.mark.parametrize(
    ("path", "box", "parts"),
    [
        ("/p/default/sessions?tool=bash&has=error&duration=5s", ".search", ".search-token"),
        ("?tab=compactions", ".panel-header", ".panel-header > *"),
    ],
)
def test_on_a_phone_what_wraps_does_not_touch_the_edge_of_its_box(window, recorded, path, box, parts):
    page = window(viewport=PHONE).open(path if path.startswith("/") else recorded["narrow0"] + path)
    edge = page.locator(box).first.bounding_box()
    tops = [each.bounding_box()["y"] for each in page.locator(parts).all()]
    assert tops
    assert min(tops) >= edge["y"] + 4


@pytest.mark.parametrize("width", [390, 1440])
def test_a_config_with_an_endless_name_stays_on_its_line(window, recorded, width):
    page = window(viewport={"width": width, "height": 900}).open(recorded["narrow2"] + "?tab=events")
    strip = page.locator(".loop-config > summary")
    room = strip.bounding_box()
    for part in strip.locator(".config").all():
        box = part.bounding_box()
        assert box["x"] + box["width"] <= room["x"] + room["width"]
    assert (
        strip.locator(".disclosure-icon").bounding_box()["y"]
        < strip.locator(".config").first.bounding_box()["y"] + 20
    )
    assert room["height"] < 60


@pytest.fixture(scope="module")
def problems(server):
    """Two orphan events, of one producer with a long name, an inconsistency, and a rejected line."""
    twice = [build.turn_end("twice.a.1", 5)] * 2
    server.agent().send(build.agent_start("twice.a.1"), *twice, build.turn_start("never.started.1"))
    server.agent().send(build.turn_start(f"{ENDLESS}.a.1"), build.agent_start("twice.a.1"))
    headers = {"Authorization": f"Bearer {server.token}", "X-Producer": ENDLESS, "X-First-Seq": "0"}
    headers["Content-Type"] = "application/x-ndjson"
    with urlopen(Request(f"{server.url}/ingest/v1/events", b"{" + ENDLESS.encode(), headers)) as answer:
        assert json.load(answer)["rejected"]


@pytest.mark.usefixtures("problems")
def test_tables_of_integrity_have_the_same_columns_and_their_examples_in_view(window):
    page = window(viewport={"width": 1440, "height": 900}).open("/p/default/integrity")
    edges = page.get_by_role("table").evaluate_all(
        "all => all.map(one => [...one.querySelectorAll('th')].map(each => each.getBoundingClientRect().x))"
    )
    assert len(edges) > 1
    assert all(each == pytest.approx(edges[0], abs=1) for each in edges)
    for example in page.locator(".record-example").all():
        example.locator("summary").click()
        box = example.bounding_box()
        assert box["height"] > 30, "it is open"
        assert box["x"] + box["width"] <= 1440


@pytest.mark.usefixtures("problems")
@pytest.mark.parametrize("listed", ["", "rejected", "orphans", "inconsistencies"])
def test_on_a_phone_nothing_that_integrity_says_is_cut(window, listed):
    page = window(viewport=PHONE).open(f"/p/default/integrity?list={listed}")
    rows = page.locator(".record-table > tbody > tr")
    assert rows.count() >= (4 if not listed else 1)
    for example in page.locator(".record-example > summary").all():
        example.click()
    said = [*page.locator(".integrity-page .tile :is(dt, dd)").all(), *rows.locator("td, td :not(use)").all()]
    for part in said:
        box = part.bounding_box()
        assert box is not None
        assert box["x"] >= 0, part.inner_text()
        assert box["x"] + box["width"] <= PHONE["width"], part.inner_text()
        assert part.evaluate(IS_WHOLE), part.inner_text()


def test_labels_of_a_session_are_not_cut_and_leave_its_title_the_width(window, server):
    metadata = {"runtime": "node 22.11", "environment": "staging", "team": "payments"}
    task = {"role": "user", "content": [{"type": "text", "text": "Summarise the trade-offs of each plan"}]}
    start = build.agent_start("labels.a.1", metadata=metadata)
    server.agent().send(start, build.agent_end("labels.a.1", messages=[task]))
    page = window(viewport={"width": 1440, "height": 900}).open("/p/default/sessions?since=all")
    row = page.locator(".session-row", has_text="Summarise the trade-offs")
    title, labels = row.locator("b").first, row.locator(".session-label").all()
    assert len(labels) == len(metadata)
    for part in (title, *labels):
        assert part.evaluate("each => each.scrollWidth <= each.clientWidth")
    cell = row.locator(".session-cell").bounding_box()
    for label in labels:
        box = label.bounding_box()
        assert box["x"] + box["width"] <= cell["x"] + cell["width"]
        assert box["y"] + box["height"] <= cell["y"] + cell["height"]


@pytest.mark.parametrize("is_known", [True, False])
def test_on_a_phone_the_tab_that_is_shown_is_in_view(window, recorded, is_known):
    watched = window(viewport=PHONE)
    if not is_known:  # as a browser without scroll-initial-target has it
        watched.context.route("**/*.css", without_initial_target)
        watched.context.add_init_script("CSS.supports = () => false;")
    page = watched.open(recorded["narrow0"] + "?tab=json")
    strip, tab = (
        page.locator(each).bounding_box() for each in (".loop-nav .tabs", ".loop-nav [aria-current]")
    )
    assert strip["x"] <= tab["x"]
    assert tab["x"] + tab["width"] <= strip["x"] + strip["width"] + 1


@pytest.fixture(scope="module")
def scored(server):
    """A session with a price, whose first turn waited for its cache and has a score."""
    loop, config = "scored.a.1", {"model": "claude-haiku-4-5", "provider": "anthropic"}
    usage = {"input": 12_345, "output": 6_789, "cache_read": 123_456, "cache_write": 7_890}
    message = build.assistant() | {**config, "api": "anthropic_messages", "usage": usage}
    turns = [
        event
        for n in range(3)
        for event in (build.turn_start(loop, index=n), build.turn_end(loop, message=message, usage=usage))
    ]
    server.agent().send(build.agent_start(loop, config_snapshot=config), *turns, build.agent_end(loop))
    server.manage("score", "create", "helpful", "--min", "1", "--max", "5", "--meaning", "It helped.")
    record = next(each for each in server.read("/api/v1/loops")["items"] if each["loop_id"] == loop)
    for turn in range(3):
        target = {"session_id": "scored", "loop": record["id"], "turn": turn}
        post_note(server, target=target, name="helpful", value=5)
    return server.session_url("scored")


@pytest.mark.parametrize("width", [1440, 1024])
def test_the_score_of_a_turn_is_whole_in_its_header(window, scored, width):
    page = window(viewport={"width": width, "height": 900}).open(scored)
    pills = page.locator(".turn-header .mark-pill")
    assert pills.count() == 3
    for pill in pills.all():
        box, room = pill.bounding_box(), pill.locator("..").bounding_box()
        assert room["x"] <= box["x"]
        assert box["x"] + box["width"] <= room["x"] + room["width"]
    for header in page.locator(".turn-header").all():
        assert header.evaluate("each => each.scrollWidth <= each.clientWidth")


def test_on_a_phone_no_fact_in_the_header_of_a_session_is_cut(window, scored):
    page = window(viewport=PHONE).open(scored)
    parts = page.locator(".session-stats :is(dt, dd, a)")
    assert page.locator(".session-stats a", has_text="dearest turn").count() == 1
    for part in parts.all():
        box = part.bounding_box()
        assert box["x"] >= 0, part.inner_text()
        assert box["x"] + box["width"] <= PHONE["width"], part.inner_text()


def test_on_a_phone_what_a_turn_read_from_the_cache_has_the_place_of_its_trigger(window, scored):
    page = window(viewport=PHONE).open(scored)
    assert page.locator(".turn-header", has_text="read from cache").count() == 3
    assert page.locator(".turn-trigger:visible").count() == 0


@pytest.mark.usefixtures("recorded")
def test_a_navigation_higher_than_the_window_starts_with_its_first_link(window):
    page = window(viewport={"width": 1024, "height": 600}).open("/p/default/sessions")
    nav = page.locator(".nav")
    assert nav.evaluate("each => each.scrollHeight > each.clientHeight")
    assert nav.evaluate("each => each.scrollTop") == 0


def without_initial_target(route):
    answer = route.fetch()
    route.fulfill(response=answer, body=answer.text().replace("scroll-initial-target: nearest;", ""))
