"""Take the pictures of this folder again: `make screenshots`. Plays the demo into a server of its own."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import IO
from urllib.error import URLError
from urllib.request import urlopen

from playwright.sync_api import Browser, Page, sync_playwright

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))

from tests.dashboard.pages.leaderboard.expected_standings import sixty  # noqa: E402
from tests.support.build import line  # noqa: E402

WIDE, PHONE = (1440, 900), (390, 844)
SHARP = 1.5  # pixels of a picture for one of the page
PATIENCE_S = 240  # the demo takes about two minutes
FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")


class Studio:
    """A signed-in browser on a server that only this program uses."""

    def __init__(self, browser: Browser, server: str, link: str) -> None:
        self._browser, self.server = browser, server
        page = browser.new_page()
        page.goto(link)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/p/default/**")
        self._state = page.context.storage_state()
        page.close()

    @contextmanager
    def page(
        self, path: str, *, size: tuple[int, int] = WIDE, theme: str = "light", has_socket: bool = True
    ) -> Iterator[Page]:
        """Open a page; wait until it is live if it has a socket."""
        width, height = size
        context = self._browser.new_context(
            viewport={"width": width, "height": height},
            device_scale_factor=SHARP,
            color_scheme="dark" if theme == "dark" else "light",
            reduced_motion="reduce",
            storage_state=self._state,
        )
        page = context.new_page()
        page.goto(self.server + path)
        if has_socket:
            page.locator("[data-connection=live]").first.wait_for()
        yield page
        context.close()

    def shoot(
        self, name: str, path: str, *, size: tuple[int, int] = WIDE, themes: tuple[str, ...] = ("light",)
    ) -> None:
        """Save a page as a picture of each theme."""
        for theme in themes:
            with self.page(path, size=size, theme=theme) as page:
                picture = f"{name}-{theme}.png" if len(themes) > 1 else f"{name}.png"
                page.screenshot(path=HERE / picture)

    def path_of(self, session: str) -> str:
        """Return where a session of the demo is shown, once it is there."""
        with self.page(f"/p/default/sessions?q={session.replace(' ', '+')}") as page:
            href = page.get_by_role("link", name=session).first.get_attribute("href")
        assert href is not None
        return href


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, str]]:
    """Run a server on a data folder; give its address and a sign-in link."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    os.environ["LOOPSCOPE_DATA"] = str(folder)
    log = folder / "server.log"
    with log.open("wb") as out:
        server = _manage("up", "--port", str(port), out=out)
        try:
            _wait_for(f"http://127.0.0.1:{port}/readyz")
            (link,) = re.findall(r"http\S+/signin/\S+", log.read_text())
            yield f"http://127.0.0.1:{port}", link
        finally:
            server.terminate()
            server.wait()


def main() -> None:
    """Take all pictures."""
    with (
        TemporaryDirectory() as folder,
        served(Path(folder)) as (server, link),
        sync_playwright() as browsers,
    ):
        browser = browsers.chromium.launch(executable_path=shutil.which("chromium"), args=[*FLAGS])
        studio = Studio(browser, server, link)
        studio.shoot("connect", "/p/default/connect")
        demo = _manage("demo", out=subprocess.DEVNULL)
        try:
            while_it_runs(studio)
            demo.wait(PATIENCE_S)
        finally:
            demo.kill()
        when_it_ended(studio)
        after_a_compaction(studio)
        with_a_team(studio)
        after_many_evaluations(studio, Path(folder))


def while_it_runs(studio: Studio) -> None:
    """Show work going on: a session that waits for an approval, then a list in which one waits again."""
    with studio.page("/p/default/sessions") as page:
        page.locator(".nav-live .status-approval").wait_for(timeout=PATIENCE_S * 1000)
        studio.shoot("session-dark", studio.path_of("Roll staging back"), themes=("dark",))
        page.locator(".nav-live .status-approval").wait_for(state="detached", timeout=PATIENCE_S * 1000)
        page.locator(".nav-live .status-approval").wait_for(timeout=PATIENCE_S * 1000)
    studio.shoot("attention", "/p/default/attention")
    studio.shoot("sessions", "/p/default/sessions", themes=("light", "dark"))
    studio.shoot("sessions-390", "/p/default/sessions", size=PHONE)


def when_it_ended(studio: Studio) -> None:
    """Show what stays: an evaluation, sub-agents, what it cost, events."""
    evaluation = studio.path_of("Which model explains")
    with studio.page(evaluation) as page:
        winner = page.locator(".is-winner a").first.get_attribute("href") or evaluation
    studio.shoot("session-light", winner)
    studio.shoot("timeline", f"{winner.partition('#')[0]}?tab=timeline")
    studio.shoot("session-390", evaluation, size=PHONE)
    with studio.page("/p/default/evaluations") as page:
        compared = page.get_by_role("link", name="Our nightly export").first.get_attribute("href")
    assert compared is not None
    studio.shoot("evaluation-light", compared)
    studio.shoot("evaluation-390", compared, size=PHONE)
    studio.shoot("sub-agents", studio.path_of("How should we keep"))
    studio.shoot("costs", "/p/default/costs?since=24h", themes=("light", "dark"))
    what_it_cost(studio)
    studio.shoot("events", f"{studio.path_of('Fix the billing')}?tab=events")
    studio.shoot("search", "/p/default/search?q=error")


def what_it_cost(studio: Studio) -> None:
    """Show the block ledger: of a session, of the project, as boxes, and at other prices."""
    studio.shoot("context", f"{studio.path_of('Update the dependencies')}?tab=context", size=(1440, 1500))
    studio.shoot("context-cache", "/p/default/context", themes=("light", "dark"))
    session = studio.path_of("How should we keep").partition("/loops/")[0]
    studio.shoot("flame", f"{session}/flame")
    with studio.page(session) as page:
        href = page.get_by_role("link", name="what if").first.get_attribute("href")
        page.goto(f"{studio.server}{href}")
        page.screenshot(path=HERE / "what-if.png")


def after_a_compaction(studio: Studio) -> None:
    """Show a pass before and after: that of a recorded run, as the demo's sessions are short."""
    tape = ROOT / "tests/tapes/phi-core/06-compaction-block-based.events.jsonl"
    _manage("import_runs", str(tape), out=subprocess.DEVNULL).wait(PATIENCE_S)
    with studio.page("/p/default/compactions") as page:
        href = page.locator("main a[href*='/compactions/']").first.get_attribute("href")
    assert href is not None
    studio.shoot("compaction", href)


def with_a_team(studio: Studio) -> None:
    """Show people and roles, masking, a link to a session, the audit log and the account."""
    for name, role in (("mira", "admin"), ("jonas", "member"), ("noor", "viewer")):
        for words in (("user", "create", name, "--email", f"{name}@acme.example"), _added(name, role)):
            _manage(*words, out=subprocess.DEVNULL).wait(PATIENCE_S)
    studio.shoot("people", "/p/default/settings/members")
    studio.shoot("masking", "/p/default/settings/masking")
    with studio.page(studio.path_of("Fix the billing")) as page:
        page.get_by_role("link", name="Share").click()
        dialog = page.get_by_role("dialog", name="Share this session")
        dialog.get_by_role("button", name="Make a link").click()
        dialog.get_by_role("button", name="Copy").wait_for()
        page.screenshot(path=HERE / "share.png")
    studio.shoot("audit", "/p/default/settings/audit")
    with studio.page("/account", has_socket=False) as page:
        page.screenshot(path=HERE / "account.png")


def after_many_evaluations(studio: Studio, folder: Path) -> None:
    """Show what sixty evaluations say: the demo has too few to rank a config."""
    tape = folder / "evaluations.jsonl"
    tape.write_bytes(b"\n".join(map(line, sixty())))
    _manage("import_runs", str(tape), out=subprocess.DEVNULL).wait(PATIENCE_S)
    studio.shoot("leaderboard", "/p/default/leaderboard", themes=("light", "dark"))


def _added(name: str, role: str) -> tuple[str, ...]:
    return ("member", "add", name, "--project", "default", "--role", role)


def _manage(*words: str, out: IO[bytes] | int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "manage.py", *words]
    return subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=out)  # noqa: S603  our own words


def _wait_for(address: str) -> None:
    deadline = monotonic() + PATIENCE_S
    while monotonic() < deadline:
        try:
            urlopen(address)  # noqa: S310  our own server
        except URLError:
            sleep(0.2)  # polled: until it has started
        else:
            return
    raise SystemExit("the server does not answer")


if __name__ == "__main__":
    main()
