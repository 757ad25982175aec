"""How a session page holds at any size: from the server, and in a browser.

python -m bench.session [--requests 12]

One session of 1,000 loops, one of 5,000, a tree 60 levels deep and a loop of 10,000 events that repeats all
messages in each request. Every page is asked for by a reader, then opened in Chromium: when its scripts have
run, the longest frame while `j` and `k` are pressed 40 times and the pane scrolls, and what its heap holds.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator

from playwright.sync_api import Page, sync_playwright

from bench.live import quantiles
from bench.machine import loopscope, report
from bench.viewers import Reader
from tests import build
from tests.browser.conftest import ARGS
from tests.browser.server import Server
from tests.long_loop import LongLoop

BATCH = 400
COLUMNS = (
    "session",
    "**first paint, server p50 ms**",
    "p95",
    "KiB",
    "**interactive ms**",
    "**longest frame ms**",
    "heap MiB",
)
FRAMES = """() => {
  window.longest = 0;
  let last = performance.now();
  const tick = (now) => { longest = Math.max(longest, now - last); last = now; requestAnimationFrame(tick); };
  requestAnimationFrame((now) => { last = now; requestAnimationFrame(tick); });
}"""
READY = "() => performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"


def main() -> None:
    requests = _asked().requests
    rows = []
    with loopscope() as (_, server), sync_playwright() as playwright:
        for _name, lines in tapes():
            send(server, lines)
        reader = Reader(server)
        chromium = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"),
            args=[*ARGS, "--enable-precise-memory-info"],
        )
        page = chromium.new_page(viewport={"width": 1440, "height": 900})
        server.sign_in(page)
        for name, _ in tapes():
            url = server.session_url(name.split(",")[0])
            times, size = ask(reader, url.removeprefix(server.url), requests)
            p50, p95 = quantiles(times)
            interactive, longest, heap = opened(page, url)
            shown = (
                f"**{p50:.0f}**",
                f"{p95:.0f}",
                f"{size:.0f}",
                f"**{interactive:.0f}**",
                f"**{longest:.0f}**",
            )
            rows.append((name, *shown, f"{heap:.0f}"))
        chromium.close()
    report("Session page at any size", f"{requests} requests a page.", COLUMNS, rows)


def tapes() -> Iterator[tuple[str, Iterator[bytes]]]:
    """Yield sessions, and their lines."""
    yield "w1000, 1,000 loops", chain("w1000", 1_000, "Default")
    yield "w5000, 5,000 loops", chain("w5000", 5_000, "Default")
    yield "d60, 60 levels", chain("d60", 60, {"Branch": {"tag": "deeper"}})
    yield "long, 10,000 events", LongLoop(turns=200, deltas=41).lines()


def chain(name: str, loops: int, kind: object) -> Iterator[bytes]:
    for n in range(loops):
        more = {"parent": f"{name}.a.{n - 1}", "kind": kind} if n else {}
        yield from map(build.line, build.small_loop(f"{name}.a.{n}", **more))


def send(server: Server, lines: Iterator[bytes]) -> None:
    agent, batch, held = server.agent(), [], 0
    for line in lines:
        if batch and (len(batch) == BATCH or held + len(line) > 6_000_000):
            agent.send(*batch)
            batch, held = [], 0
        batch.append(line)
        held += len(line)
    agent.send(*batch)


def ask(reader: Reader, path: str, requests: int) -> tuple[list[float], float]:
    """Return how long a page took each time, the first left out, and its size."""
    times, size = [], 0.0
    for turn in range(requests + 1):
        started = time.perf_counter()
        size = len(reader.get(path)) / 1024
        if turn:
            times.append((time.perf_counter() - started) * 1000)
    return times, size


def opened(page: Page, url: str) -> tuple[float, float, float]:
    """Return when a page is interactive, its longest frame while it is used, and its heap."""
    page.goto(url)
    page.locator("[data-connection=live]").wait_for()
    interactive = page.evaluate(READY)
    page.wait_for_timeout(500)
    page.evaluate(FRAMES)
    for key in "k" * 40 + "j" * 40:
        page.keyboard.press(key)
    page.locator("#loop-scroll").hover()
    for _ in range(30):
        page.mouse.wheel(0, -400)
        page.wait_for_timeout(16)
    longest, heap = page.evaluate("[longest, performance.memory.usedJSHeapSize / 1048576]")
    return interactive, longest, heap


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=12)
    return parser.parse_args()


if __name__ == "__main__":
    main()
