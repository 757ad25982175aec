"""Shared by the benchmarks: the servers they measure, their CPU and memory, and the table of results."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.faults.support.databases import fresh
from tests.support.server import ROOT, Server, free_port

RUNS = ROOT / "var/bench/runs.md"  # bench/RESULTS.md has the current figures, copied by hand
TICKS = os.sysconf("SC_CLK_TCK")
FRAME = str(5 * 1024 * 1024)  # Daphne's default limit would close the connection at a large frame


class Target:
    """A server under measurement."""

    def __init__(self, name: str, port: int, pid: int, token: str = "none") -> None:
        self.name, self.port, self.pid, self.token = name, port, pid, token

    def cpu_s(self) -> float:
        """Return the CPU seconds it has used so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def rss_mib(self) -> int:
        return self._status_mib("VmRSS:")

    def reset_peak_mib(self) -> int:
        """Make the memory of now the peak, and return it."""
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")
        return self.peak_mib()

    def peak_mib(self) -> int:
        """Return the most memory it has had since the last reset."""
        return self._status_mib("VmHWM:")

    def _status_mib(self, name: str) -> int:
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition(name)[2].split()[0]) // 1024


@contextmanager
def loopscope(
    database: str | None = None, root: Path = ROOT, **settings: str
) -> Iterator[tuple[Target, Server]]:
    """Start a new Loopscope with an empty database, from the checkout `root`; stop it afterwards.

    It has no limit on the rate of a token: what it can take is measured.
    """
    settings = {"LOOPSCOPE_TOKEN_EVENTS_S": "0", "LOOPSCOPE_TOKEN_BYTES_S": "0"} | settings
    with TemporaryDirectory(prefix="loopscope-bench-", dir=_disk()) as folder, fresh(database) as stores:
        server = Server(Path(folder), from_nothing=root != ROOT, root=root, **stores, **settings)
        server.start()
        try:
            yield Target("loopscope", server.port, server.pid, server.token), server
        finally:
            server.stop()


@contextmanager
def floor(folder: Path | None = None) -> Iterator[Target]:
    """Start the floor: ours, or `floor_phi.py` of another folder; stop it at the end."""
    found = next(folder.rglob("floor_phi.py"), None) if folder else None
    application = "floor_phi:application" if found else "bench.support.floor:application"
    port = free_port()
    words = (sys.executable, "-m", "daphne", "-p", str(port), "--access-log", os.devnull)
    limits = ("--websocket-max-message-size", FRAME, "--websocket-max-frame-size", FRAME)
    with TemporaryDirectory(prefix="loopscope-floor-", dir=_disk()) as data:
        paths = os.pathsep.join(map(str, (found.parent if found else ROOT, ROOT)))
        environment = os.environ | {"FLOOR_DB": f"{data}/floor.db", "PYTHONPATH": paths}
        process = subprocess.Popen(
            [*words, *limits, application],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            _wait_for(port)
            yield Target("floor", port, process.pid)
        finally:
            process.terminate()
            process.wait()


def report(title: str, note: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table and append it to the runs of this checkout, with the machine and the date."""
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    table = [columns, ["---"] * len(columns), *rows]
    text = "\n".join(f"| {' | '.join(str(cell) for cell in row)} |" for row in table)
    section = f"\n## {title}\n\n{now}, at {commit}; {_machine()}. {note}\n\n{text}\n"
    print(section)
    RUNS.parent.mkdir(parents=True, exist_ok=True)
    with RUNS.open("a") as runs:
        runs.write(section)


def _machine() -> str:
    model = Path("/proc/cpuinfo").read_text().partition("model name\t: ")[2].partition("\n")[0]
    python = platform.python_version()
    return f"{os.cpu_count()} cores ({model}), load {os.getloadavg()[0]:.1f}, Python {python}"


def _disk() -> Path:
    """Return a folder on a real disk; a system's temporary folder may be in memory."""
    folder = ROOT / "var/bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _wait_for(port: int) -> None:
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=2):
                return
        except OSError:
            time.sleep(0.05)  # until it has started
    raise TimeoutError("the floor does not answer")
