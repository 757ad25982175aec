"""The end of `.ci/run`: its phases, the slowest tests, and last what failed, why, and how to repeat it.

Reads `phases.tsv` and the JUnit files of a folder. Exits with 1 if a phase failed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from xml.etree import ElementTree as ET

SLOWEST, REASON_CHARS, REPEATED = 10, 160, 20


@dataclass(frozen=True)
class Phase:
    """A phase that ran, with its exit status."""

    name: str
    status: str
    seconds: str


@dataclass(frozen=True)
class Case:
    """A test that ran; `reason` is the first line of why it failed, None if it did not."""

    phase: str
    name: str
    seconds: float
    reason: str | None
    is_skipped: bool


def phases_of(folder: Path) -> list[Phase]:
    return [Phase(*line.split("\t")) for line in (folder / "phases.tsv").read_text().splitlines()]


def cases_of(folder: Path, phase: Phase) -> Iterator[Case]:
    """Yield the tests of a phase; none if it has no tests, or was ended before it wrote its file."""
    file = folder / f"{phase.name}.xml"
    if not file.exists():
        return
    for case in ET.parse(file).iter("testcase"):
        names = [
            case.get("file"),
            case.get("name") if case.get("classname") else None,
        ]  # or a file not collected
        yield Case(
            phase.name,
            "::".join(name for name in names if name),
            float(case.get("time", 0)),
            reason_of(case),
            case.find("skipped") is not None,
        )


def reason_of(case: ET.Element) -> str | None:
    """Return the first line of why a test failed, None if it did not."""
    for kind in ("failure", "error"):
        if (found := case.find(kind)) is not None:
            lines = (found.get("message") or found.text or "").strip().splitlines()
            return lines[0][:REASON_CHARS] if lines else "no reason"
    return None


def table(phases: list[Phase], cases: list[Case]) -> Iterator[str]:
    yield f"{'phase':12}{'status':>8}{'seconds':>9}{'tests':>8}{'failed':>8}{'skipped':>9}"
    for phase in phases:
        own = [case for case in cases if case.phase == phase.name]
        failed, skipped = sum(case.reason is not None for case in own), sum(case.is_skipped for case in own)
        status = {"0": "ok", "124": "too long"}.get(phase.status, phase.status)
        yield f"{phase.name:12}{status:>8}{phase.seconds:>9}{len(own):>8}{failed:>8}{skipped:>9}"


def failures(folder: Path, phases: list[Phase], cases: list[Case]) -> Iterator[str]:
    """Yield each failed test with its reason, and each failed phase with the command that repeats it."""
    for phase in phases:
        failed = {case.name: case.reason for case in cases if case.phase == phase.name and case.reason}
        for name, reason in failed.items():
            yield f"FAILED {phase.name}: {name}\n    {reason}"
        if not failed and phase.status != "0":
            yield f"FAILED {phase.name}: status {phase.status}, see {folder / phase.name}.log"
        if failed:
            names = " ".join(quote(name) for name in list(failed)[:REPEATED])
            services = "DATABASE_URL=… REDIS_URL=… " if phase.name == "postgres" else ""
            yield f"    again: {services}.venv/bin/python -m pytest {names}"
        elif phase.status != "0":
            yield f"    again: .ci/run {phase.name if phase.name != 'services' else 'postgres'}"


def main(folder: Path) -> int:
    phases = phases_of(folder)
    cases = [case for phase in phases for case in cases_of(folder, phase)]
    slowest = sorted(cases, key=lambda case: -case.seconds)[:SLOWEST]
    print("", *table(phases, cases), "", "slowest:", sep="\n")
    print(*(f"{case.seconds:>6.1f} s  {case.phase}: {case.name}" for case in slowest), "", sep="\n")
    for line in failures(folder, phases, cases):
        print(line)
    failed_phases = [phase for phase in phases if phase.status != "0"]
    failed_tests = sum(case.reason is not None for case in cases)
    named = {case.phase for case in cases if case.reason is not None}
    failed = failed_tests + sum(phase.name not in named for phase in failed_phases)
    print(f"{sum(case.reason is None and not case.is_skipped for case in cases)} passed, {failed} failed")
    return int(bool(failed_phases))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
