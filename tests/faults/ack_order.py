"""Runs a server under `strace` and checks that no acknowledgement is sent before its events are synced.

`python -m tests.faults.ack_order --acks 10000`. SQLite only: PostgreSQL writes its log in another process.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.faults.support.producers import at_work, stop
from tests.faults.support.strace_log import TRACED, Order
from tests.support.server import Server
from tests.support.wait import LONGEST_S, until

PRODUCERS = 16
MOST_LINES = 3
OPTIONS = ("-f", "-y", "-qq", "--seccomp-bpf", "-e", f"trace={TRACED}", "-e", "signal=none", "-s", "70000")


def strace() -> str | None:
    return shutil.which("strace")


def run(folder: Path, acks: int, seed: int) -> Order:
    """Return the order of calls in a trace of `acks` acknowledgements."""
    pipe = folder / "trace"
    os.mkfifo(pipe)
    order = Order()
    reader = threading.Thread(target=_read, args=(pipe, order))
    reader.start()
    server = Server(folder)
    server.under = (strace() or "strace", *OPTIONS, "-o", str(pipe))
    try:
        server.start()
        producers = at_work(PRODUCERS, server.port, server.token, seed)
        for producer in producers:
            producer.most_lines = MOST_LINES
            producer.start()

        def has_enough() -> bool:
            assert any(producer.is_alive() for producer in producers), server.log()
            return sum(producer.acks for producer in producers) >= acks

        until(has_enough, server.log, longest_s=LONGEST_S + acks)
        stop(producers)
        # Killing the tracer would leave the server running; the tracer ends with the server.
        os.kill(json.loads((folder / "server.json").read_text())["pid"], signal.SIGTERM)
        server.wait()
    except BaseException:
        server.kill()
        raise
    reader.join()
    order.violations += [fault for producer in producers for fault in producer.faults]
    return order


def _read(pipe: Path, order: Order) -> None:
    with pipe.open(errors="replace") as lines:
        order.read(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--acks", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    options = parser.parse_args()
    if strace() is None:
        print("strace is missing: install Debian's package of that name", file=sys.stderr)
        return 2
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="loopscope-ackorder-") as folder:
        order = run(Path(folder), options.acks, options.seed)
    found = {"acks": order.acks, "events": order.events, "syncs": order.syncs}
    seconds = round(time.monotonic() - started, 1)
    print(json.dumps({"seed": options.seed, "seconds": seconds, **found, "violations": order.violations}))
    return 1 if order.violations or order.acks < options.acks else 0


if __name__ == "__main__":
    sys.exit(main())
