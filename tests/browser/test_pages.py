"""Every page in a browser: for everyone, at every width, without scripts, and deaf to hostile text."""

import json
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import pytest

from tests import build
from tests.dashboard.attention.moments import asking, failing
from tests.dashboard.leaderboard.four import evaluation

TESTS = Path(__file__).parents[1]
AXE = (TESTS / "vendor" / "axe.min.js").read_text()
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
WIDTHS = (390, 768, 1024, 1440)
TAPE = TESTS / "tapes" / "hostile.events.jsonl"
MARKUP = '"><img src=x onerror="window.__pwned=3">'
HOSTILE = json.loads(TAPE.read_text().splitlines()[0])["session_id"]
PAGES = [
    "sessions",
    "session",
    "failed",
    "tree",
    "running",
    "past",
    "timeline",
    "events",
    "json",
    "costs",
    "costs-sessions",
    "leaderboard",
    "attention",
    "evaluations",
    "evaluation",
    "compactions",
    "compaction",
    "passes",
    "insights",
    "integrity",
    "find",
    "search",
    "two-sessions",
    "accounts",
    "welcome",
    "settings",
    "signin",
    "missing",
]


@pytest.fixture(scope="module")
def addresses(server):
    """Where every page is, once the hostile tape has been recorded."""
    server.agent().send(*TAPE.read_text().splitlines())
    server.agent().send(*spending())
    server.agent().send(*asking("asks", MARKUP, risk=MARKUP, warnings=[MARKUP]), *failing("fails", MARKUP))
    turns = ("ABCD"[n % 4 :] + "ABCD"[: n % 4] for n in range(24))
    ended = [evaluation(n, turned, 0) for n, turned in enumerate(turns)]
    server.agent().send(*(build.line(event).decode() for events in ended for event in events))
    server.agent().send(*learning())
    server.manage("consolidate")
    session = next(item for item in server.read("/api/v1/sessions")["items"] if item["session_id"] == HOSTILE)
    tree = next(
        item
        for item in server.read("/api/v1/sessions")["items"]
        if item["groups"] and item["session_id"] != HOSTILE
    )
    loops = [loop for loop in server.read("/api/v1/loops")["items"] if loop["session_id"] == HOSTILE]
    group = next(each for each in server.read("/api/v1/groups")["items"] if each["session_id"] == HOSTILE)
    shortened = next(
        each for each in server.read("/api/v1/compactions")["items"] if each["session_id"] == HOSTILE
    )
    spent = next(
        loop["url"] for loop in server.read("/api/v1/loops")["items"] if loop["loop_id"] == "spent.0"
    )
    one, other = (each["url"].rpartition("/")[2] for each in (session, tree))
    first, running = loops[0]["url"], next(loop["url"] for loop in loops if loop["status"] == "running")
    return {
        "sessions": "/p/default/sessions",
        "session": session["url"],
        "failed": spent,
        "tree": tree["url"],
        "running": running,
        "past": f"{session['url']}/step?to=previous",
        "timeline": f"{first}?tab=timeline",
        "events": f"{first}?tab=events",
        "json": f"{first}?tab=json",
        "costs": "/p/default/costs",
        "costs-sessions": "/p/default/costs?by=session&since=24h",
        "leaderboard": "/p/default/leaderboard",
        "attention": "/p/default/attention",
        "evaluations": "/p/default/evaluations",
        "evaluation": f"/p/default/evaluations/{group['id']}",
        "compactions": "/p/default/compactions",
        "compaction": f"{session['url']}/compactions/{shortened['id']}",
        "passes": f"{first}?tab=compactions",
        "insights": "/p/default/insights",
        "integrity": "/p/default/integrity",
        "find": "/p/default/find?q=session",
        "search": f"{session['url']}/search?q=img",
        "two-sessions": f"/p/default/sessions/compare?of={one}&of={other}",
        "accounts": "/p/default/costs/accounts",
        "welcome": "/p/default/welcome",
        "settings": "/p/default/settings",
        "signin": "/signin",
        "missing": "/p/default/no-such-page",
    }


def spending():
    """Return what an agent with hostile names spent a moment ago: with a price, and without."""
    now = datetime.now(UTC).isoformat()
    for n, model in enumerate(("claude-haiku-4-5", MARKUP)):
        name = f"spent.{n}"
        usage = {"input": 1_000_000, "output": 2_000, "cache_read": 3_000}
        message = {
            "role": "assistant",
            "content": [],
            "model": model,
            "provider": "anthropic",
            "usage": usage,
        }
        config = {"model": model, "provider": "anthropic", "api": "anthropic_messages"}
        yield build.agent_start(name, agent_id=MARKUP, timestamp=now, config_snapshot=config)
        yield build.tool_start(name)
        yield build.tool_end(name, is_error=True)  # stands open
        yield build.turn_end(name, timestamp=now, message=message, usage=usage)
        yield build.agent_end(name, timestamp=now, usage=usage)


def learning():
    """Return loops from which something with hostile names is learned."""
    for n in range(3):
        loop = f"learned{n}.a.1"
        yield build.agent_start(loop, agent_id=MARKUP)
        for call, is_error in (("c1", True), ("c2", False), ("c3", False)):
            name = "edit" if call == "c2" else MARKUP
            yield build.tool_start(loop, call, name, {"path": MARKUP + name})
            yield build.tool_end(loop, call, name, is_error=is_error) | {"result": f"error {MARKUP}"}
        yield build.agent_end(loop)


def open_page(window, addresses, name, **options):
    """Open a page, `signin` as a stranger."""
    state = {"state": None} if name == "signin" else {}
    watched = window(**state, **options)
    return watched, watched.open(addresses[name])


@pytest.mark.parametrize("name", PAGES)
def test_text_from_events_does_nothing_but_stand_there(window, addresses, name):
    watched, page = open_page(window, addresses, name)
    for summary in page.locator("summary").all():
        if summary.is_visible():
            summary.click()
    page.wait_for_load_state("networkidle")
    assert page.evaluate("window.__pwned") is None
    assert watched.faults == []
    assert watched.violations() == []
    assert page.locator("#main, main").count() == 1


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(window, addresses, name):
    _, page = open_page(window, addresses, name, reduced_motion="reduce")
    page.evaluate(AXE)
    serious = []
    for width, scheme in product((390, 1440), ("light", "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        found = page.evaluate("(rules) => axe.run({runOnly: rules})", RULES)["violations"]
        serious += [
            f"{width} {scheme} {each['id']}: {node['html'][:200]} ({node['failureSummary'][:300]})"
            for each in found
            if each["impact"] in ("serious", "critical")
            for node in each["nodes"]
        ]
    assert serious == []


@pytest.mark.parametrize("name", PAGES)
def test_no_page_scrolls_sideways(window, addresses, name):
    _, page = open_page(window, addresses, name)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        wide, inner = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert wide <= inner, width


def test_on_a_phone_an_address_that_names_a_view_opens_at_the_loop(window, addresses):
    page = window(viewport={"width": 390, "height": 844}).open(addresses["json"])
    for shown in (page.locator("#loop-scroll"), page.get_by_role("link", name="JSON")):
        box = shown.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 391


def test_on_a_phone_every_page_can_be_gone_to(window, addresses):
    page = window(viewport={"width": 390, "height": 844}).open(addresses["integrity"])
    for link in page.get_by_role("navigation", name="Main").locator(".nav-pages a").all():
        box = link.bounding_box()
        assert box["width"] >= 24
        assert box["x"] >= 0
        assert page.evaluate(
            "([x, y]) => Boolean(document.elementFromPoint(x, y).closest('.nav-pages a'))",
            [box["x"] + box["width"] - 2, box["y"] + 20],
        )


def test_what_is_cut_tells_the_whole_by_its_title(window, addresses):
    page = window(viewport={"width": 1024, "height": 844}).open(addresses["events"])
    cut = page.locator(".ev-s.clip").first
    assert cut.evaluate("(cell) => cell.scrollWidth > cell.clientWidth")
    cut.hover()
    assert cut.get_attribute("title") == cut.inner_text()


def test_no_row_of_the_tree_runs_over_its_edge(window, addresses):
    _, page = open_page(window, addresses, "session")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        over = page.locator(".tr").evaluate_all(
            "rows => rows.flatMap(row => [...row.querySelectorAll(':scope > * > :not(.vh)')]"
            ".filter(each => each.getBoundingClientRect().right > row.getBoundingClientRect().right + 0.5)"
            ".map(each => each.outerHTML))"
        )
        assert over == [], width


@pytest.mark.parametrize("name", PAGES)
def test_a_page_reads_well_without_scripts(window, addresses, name):
    state = {"state": None} if name == "signin" else {}
    watched = window(**state, java_script_enabled=False)
    watched.page.goto(watched._server.url + addresses[name])
    assert len(watched.page.locator("main").inner_text().split()) > 5
    assert watched.page.locator("h1").count() == 1
