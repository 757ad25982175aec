"""Runs a server whose system calls fail, under `strace`: a failed sync ends it, other errors do not.

`python -m tests.faults.failing_syscalls sync`, or `io`, or `full`; SQLite only. Nothing acknowledged
may be lost. After a commit's failed sync of the log there must be no other, and the exit status must report
it. A checkpoint syncs the log, too, after each commit has: there is nothing to lose, and SQLite tries again.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.faults.outages import until_served
from tests.faults.support.compare_ledgers import Outcome, compare
from tests.faults.support.producers import at_work, stop
from tests.support.server import Server
from tests.support.wait import until

PRODUCERS = 8
FAILS = {
    "sync": ("fdatasync,pwrite64", "fdatasync:error=EIO:when={n}..{m}"),
    "io": ("pwrite64,pread64", "pwrite64,pread64:error=EIO:when={n}..{m}"),
    "full": ("pwrite64", "pwrite64:error=ENOSPC:when={n}..{m}"),
}
BURST = {"sync": 2, "io": 20, "full": 20}  # calls that fail one after the other; a checkpoint syncs once
SYNCED = re.compile(r"fdatasync\(\d+<[^>]*-wal>")
WRITTEN = re.compile(r"pwrite64\(\d+<[^>]*-wal>")


@dataclass
class Course:
    """The failed calls and their effect. `status` is None for a server that continued."""

    failed: int  # of commits, where syncs fail
    synced_again: int  # after the first failure of a commit
    status: int | None
    outcome: Outcome

    @property
    def is_clean(self) -> bool:
        is_right = self.status is None or (self.status > 0 and self.synced_again == 0)
        return self.failed > 0 and is_right and self.outcome.is_clean


def run(folder: Path, kind: str, after: int, seed: int) -> Course:
    """Let calls fail after `after` calls; restart a server that ended without strace, and compare."""
    server, trace = Server(folder), folder / "trace"
    server.start()
    producers = at_work(PRODUCERS, server.port, server.token, seed)
    server.stop()
    calls, inject = FAILS[kind]
    what = inject.format(n=after, m=after + BURST[kind] - 1)
    options = ["-f", "-y", "-qq", "--seccomp-bpf", "-e", f"trace={calls}", "-e", "signal=none", "-s", "0"]
    if kind == "sync":  # of the log only: a failed sync of the database is repeated, and nothing is lost
        options += ["-P", str(folder / "loopscope.sqlite3-wal")]
    server.under = (shutil.which("strace") or "strace", *options, "-e", f"inject={what}", "-o", str(trace))
    try:
        server.start()
        for producer in producers:
            producer.start()
        until(lambda: _read(trace, kind)[0] > 0, "no call failed")
        status = server.wait() if kind == "sync" else None
        if status is not None:
            server.under = ()
            server.start()
        until_served(producers)
        stop(producers)
        outcome = compare(server, producers)
    finally:
        stop(producers)
        server.kill()
    failed, synced_again = _read(trace, kind)
    return Course(failed, synced_again, status, outcome)


def _read(trace: Path, kind: str) -> tuple[int, int]:
    """Return how many calls failed, and how many syncs of the log came after the first.

    A sync with nothing written to the log since the one before it is a checkpoint's.
    """
    lines = trace.read_text(errors="replace").splitlines()
    if kind != "sync":
        return sum("(INJECTED)" in text for text in lines), 0
    has_written = False
    commits: list[bool] = []  # whether it failed, each sync of a commit
    for text in lines:
        if SYNCED.search(text):
            if has_written:
                commits.append("(INJECTED)" in text)
            has_written = False
        elif "fdatasync resumed" in text and "(INJECTED)" in text:  # a call of another thread came between
            commits[-1] = True
        has_written = has_written or bool(WRITTEN.search(text))
    after = commits[commits.index(True) + 1 :] if True in commits else []
    return sum(commits), len(after)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=FAILS)
    parser.add_argument("--after", type=int, default=25, help="so many of these calls of a thread succeed")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    params = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="loopscope-badcalls-") as folder:
        course = run(Path(folder), params.kind, params.after, params.seed)
    print(json.dumps({**vars(params), **asdict(course)}, indent=1))
    return 0 if course.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
