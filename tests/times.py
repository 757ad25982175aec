"""The CPU seconds of each file of the tests: measured by every run, kept in `times.json`, read by the next.

They say which file a worker takes first and which files are quick. CPU seconds, because the time of a busy
machine says little about a test. A file that is not listed counts as a middling one, so that a new file works
without an entry; `python -m tests.times FOLDER...` writes the list from the JUnit files of a run.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import median
from xml.etree import ElementTree as ET

ROOT = Path(__file__).parents[1]
KEPT = Path(__file__).with_name("times.json")
PROPERTY = "cpu_s"  # of a test in a JUnit file
QUICK_S = 60.0  # CPU seconds that all quick files take together: 30 s of two cores
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_s() -> float:
    """Return the CPU seconds of this process and its descendants, also of those that still run (on Linux)."""
    own = os.times()
    return own.user + own.system + own.children_user + own.children_system + _running_s(Path("/proc/self"))


def _running_s(process: Path) -> float:
    return sum(_used_s(child) + _running_s(child) for child in _children(process))


def _children(process: Path) -> Iterator[Path]:
    for thread in _entries(process / "task"):
        try:
            names = (thread / "children").read_text().split()
        except OSError:  # it has ended
            continue
        yield from (Path("/proc") / name for name in names)


def _entries(folder: Path) -> list[Path]:
    """Return what a folder has, nothing if its process has ended."""
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _used_s(process: Path) -> float:
    try:
        stat = (process / "stat").read_text()
    except OSError:
        return 0.0
    return sum(int(ticks) for ticks in stat.rpartition(")")[2].split()[11:15]) / TICKS


@cache
def recorded() -> dict[str, float]:
    """Return the seconds of each file by its path below the root."""
    return json.loads(KEPT.read_text())


def cost_s(file: Path) -> float:
    """Return what a file took, or the median of all if it is not listed."""
    return recorded().get(file.relative_to(ROOT).as_posix(), median(recorded().values()))


@cache
def long_files() -> frozenset[Path]:
    """Return the files that `make test-quick` leaves out: all but the cheapest, which take `QUICK_S`."""
    total, long = 0.0, set()
    for name, cost in sorted(recorded().items(), key=lambda item: item[1]):
        total += cost
        if total > QUICK_S:
            long.add(ROOT / name)
    return frozenset(long)


def measured(results: list[Path]) -> dict[str, float]:
    """Return the seconds of the files in JUnit files; the longest where several phases ran one."""
    longest: dict[str, float] = {}
    for result in results:
        seconds: Counter[str] = Counter()
        for case in ET.parse(result).iter("testcase"):
            for each in case.iterfind(f"properties/property[@name='{PROPERTY}']"):
                seconds[case.get("file", "")] += float(each.get("value", 0))
        for name, cost in seconds.items():
            longest[name] = max(round(cost, 2), longest.get(name, 0.0))
    return longest


def main(folders: list[str]) -> None:
    """Update the list with what was measured; files that are gone lose their entry."""
    results = [result for folder in folders for result in sorted(Path(folder).glob("*.xml"))]
    known = (json.loads(KEPT.read_text()) if KEPT.exists() else {}) | measured(results)
    lines = {name: cost for name, cost in sorted(known.items()) if (ROOT / name).is_file()}
    KEPT.write_text(json.dumps(lines, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
