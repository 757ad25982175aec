"""Time of session pages of several sizes: on the server, and in a browser.

python -m bench.browser.session [--requests 12]

One session of 1,000 loops, one of 5,000, a tree 60 levels deep and a loop of 10,000 events that repeats all
messages in each request. Every page is requested by a reader, then opened in Chromium: the time until its
scripts have run, the longest frame while `j` and `k` are pressed 40 times and the pane scrolls, and the size
of its heap. Then a page is used while its loop receives 100 events a second.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from playwright.sync_api import CDPSession, Page, sync_playwright

from bench.live import quantiles
from bench.support.machine import Target, loopscope, report
from bench.support.viewers import Reader
from tests.browser.chromium import ARGS
from tests.support import build
from tests.support.long_loop import LongLoop
from tests.support.server import Agent, Server

BATCH = 400
COLUMNS = (
    "session",
    "**first paint, server p50 ms**",
    "p95",
    "**CPU ms**",
    "KiB",
    "**interactive ms**",
    "**longest frame ms**",
    "heap MiB",
)
LIVE = (
    "events before",
    "events/s",
    "**longest frame ms**",
    "p99 ms",
    "heap MiB",
    "**layouts/s**",
    "changes/s",
    "KiB/s sent",
    "KiB of a reload",
)
BEFORE, AFTER, RATE, EACH_S = 10_000, 1_500, 100, 0.1  # events, a second
SEEN = "[frames, performance.memory.usedJSHeapSize / 1048576]"
FRAMES = """() => {
  window.frames = [];
  let last = performance.now();
  const tick = (now) => { frames.push(now - last); last = now; requestAnimationFrame(tick); };
  requestAnimationFrame((now) => { last = now; requestAnimationFrame(tick); });
}"""
CHANGES = """() => {
  window.changes = 0;
  const what = { childList: true, attributes: true, characterData: true, subtree: true };
  new MutationObserver((records) => (changes += records.length)).observe(document.body, what);
}"""
READY = "() => performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"


def main() -> None:
    requests = _options().requests
    rows, live = [], []
    with loopscope() as (target, server), sync_playwright() as playwright:
        for _name, lines in tapes():
            send(server.agent(), lines)
        reader = Reader(server)
        chromium = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"),
            args=[*ARGS, "--enable-precise-memory-info"],
        )
        page = chromium.new_page(viewport={"width": 1440, "height": 900})
        server.sign_in(page)
        for name, _ in tapes():
            url = server.session_url(name.split(",")[0])
            times, cpu, size = measure(target, reader, url.removeprefix(server.url), requests)
            p50, p95 = quantiles(times)
            interactive, longest, heap = opened(page, url)
            shown = (
                f"**{p50:.0f}**",
                f"{p95:.0f}",
                f"**{cpu:.0f}**",
                f"{size:.0f}",
                f"**{interactive:.0f}**",
                f"**{longest:.0f}**",
            )
            rows.append((name, *shown, f"{heap:.0f}"))
        live.append(continuing(server, reader, page))
        chromium.close()
    report("Session page at any size", f"{requests} requests a page.", COLUMNS, rows)
    report("Session page of a loop that goes on", "In use during the measurement.", LIVE, live)


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


def send(agent: Agent, lines: Iterator[bytes]) -> None:
    batch: list[bytes] = []
    held = 0
    for line in lines:
        if batch and (len(batch) == BATCH or held + len(line) > 6_000_000):
            agent.send(*batch)
            batch, held = [], 0
        batch.append(line)
        held += len(line)
    agent.send(*batch)


def measure(target: Target, reader: Reader, path: str, requests: int) -> tuple[list[float], float, float]:
    """Return the times of a page without the first, the server's CPU for one request, and its size in KiB."""
    times, size, cpu = [], 0.0, 0.0
    for turn in range(requests + 1):
        cpu = cpu if turn > 1 else target.cpu_s()
        started = time.perf_counter()
        size = len(reader.get(path)) / 1024
        if turn:
            times.append((time.perf_counter() - started) * 1000)
    return times, (target.cpu_s() - cpu) / requests * 1000, size


def opened(page: Page, url: str) -> tuple[float, float, float]:
    """Return when a page is interactive, its longest frame while it is used, and its heap."""
    page.goto(url)
    page.locator("[data-connection=live]").wait_for()
    interactive = page.evaluate(READY)
    page.wait_for_timeout(500)  # until work after loading is done
    page.evaluate(FRAMES)
    use(page)
    frames, heap = page.evaluate(SEEN)
    return interactive, max(frames), heap


def use(page: Page) -> None:
    for key in "k" * 40 + "j" * 40:
        page.keyboard.press(key)
    page.locator("#loop-scroll").hover()
    for step in range(60):
        page.mouse.wheel(0, -400 if step < 30 else 400)
        page.wait_for_timeout(16)  # one frame


def continuing(server: Server, reader: Reader, page: Page) -> tuple[object, ...]:
    """Return the row of a loop of 10,000 events that continues while its page is used."""
    lines, agent = LongLoop(turns=240, deltas=41, session="on").lines(), server.agent()
    send(agent, islice(lines, BEFORE))
    url, sent = server.session_url("on"), []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: sent.append(len(frame))))
    page.goto(url)
    page.locator("[data-connection=live]").wait_for()
    page.wait_for_timeout(500)  # until work after loading is done
    sent.clear()
    for script in (FRAMES, CHANGES):
        page.evaluate(script)
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable")
    with ThreadPoolExecutor(1) as pool:
        before, sending = layouts(devtools), pool.submit(send_steadily, agent, islice(lines, AFTER))
        while not sending.done():
            use(page)
    seconds = sending.result()
    frames, heap = page.evaluate(SEEN)
    ordered, size = sorted(frames), len(reader.get(url.removeprefix(server.url))) / 1024
    longest, p99 = f"**{ordered[-1]:.0f}**", f"{ordered[int(len(ordered) * 0.99)]:.0f}"
    shown = (f"{BEFORE:,}", f"{AFTER / seconds:.0f}", longest, p99, f"{heap:.0f}")
    work = (layouts(devtools) - before, page.evaluate("changes"), sum(sent) / 1024)
    return *shown, *(f"{each / seconds:.0f}" for each in work), f"{size:.0f}"


def layouts(devtools: CDPSession) -> int:
    """Return the number of layouts of a page since its metrics were enabled."""
    metrics = devtools.send("Performance.getMetrics")["metrics"]
    return next(int(each["value"]) for each in metrics if each["name"] == "LayoutCount")


def send_steadily(agent: Agent, lines: Iterator[bytes]) -> float:
    """Send lines at a steady rate; return the seconds that it took."""
    started, due = time.perf_counter(), 0.0
    for part in iter(lambda: list(islice(lines, int(RATE * EACH_S))), []):
        agent.send(*part)
        due += EACH_S
        time.sleep(max(0.0, started + due - time.perf_counter()))  # until the next is due
    return time.perf_counter() - started


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=12)
    return parser.parse_args()


if __name__ == "__main__":
    main()
