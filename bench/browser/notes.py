"""Time from a note on a turn to the page of another browser that shows it.

python -m bench.browser.notes [--notes 60] [--database postgres://…]

A note is posted to the API while a real browser has the session open; the page notes when its text stands
below the turn. Both clocks are those of this machine.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import urllib.request

from playwright.sync_api import Page, sync_playwright

from bench.live import quantiles
from bench.support.machine import loopscope, report
from tests.browser.chromium import ARGS
from tests.support import build
from tests.support.server import Server

COLUMNS = ("notes", "**in the other page, p50 ms**", "**p95**")
EACH_S = 0.3  # so that each note has a redraw of its own
WATCH = """() => {
  window.seen = {};
  new MutationObserver(() => {
    for (const [name] of document.body.innerText.matchAll(/note-\\d+-/g)) window.seen[name] ??= Date.now();
  }).observe(document.body, { childList: true, subtree: true, characterData: true });
}"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--notes", type=int, default=60)
    parser.add_argument("--database")
    given = parser.parse_args()
    with loopscope(given.database) as (_, server), sync_playwright() as playwright:
        loop = "noted.a.1"
        answer = build.turn_end(loop, message=build.assistant("An answer."))
        server.agent().send(build.agent_start(loop), build.turn_start(loop), answer)
        chromium = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=ARGS
        )
        page = chromium.new_page()
        server.sign_in(page)
        page.goto(server.session_url("noted") + "?notes=all")
        page.locator("[data-connection=live]").wait_for()
        page.evaluate(WATCH)
        p50, p95 = quantiles(_times(server, page, given.notes))
        kind = "PostgreSQL" if server.environment.get("DATABASE_URL") else "SQLite"
        report(
            f"Notes, {kind}",
            "One other browser.",
            COLUMNS,
            [(given.notes, f"**{p50:.0f}**", f"**{p95:.0f}**")],
        )


def _times(server: Server, page: Page, notes: int) -> list[float]:
    """Post notes; return the milliseconds until each was shown."""
    sent: dict[str, float] = {}
    (loop,) = server.read("/api/v1/loops?session_id=noted")["items"]
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    target = {"session_id": "noted", "loop": loop["id"], "turn": 0}
    for number in range(notes):
        name = f"note-{number}-"
        sent[name] = time.time() * 1000
        body = json.dumps({"target": target, "text": name}).encode()
        urllib.request.urlopen(urllib.request.Request(f"{server.url}/api/v1/notes", body, headers)).read()
        page.wait_for_timeout(EACH_S * 1000)
    page.wait_for_function("name => name in window.seen", arg=name)
    seen = page.evaluate("window.seen")
    return [seen[name] - at for name, at in sent.items()]


if __name__ == "__main__":
    main()
