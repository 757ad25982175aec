"""How long the costs page takes over a million turns of twelve configs.

python -m bench.costs [--turns 1000000] [--requests 20] [--database postgres://…]

The records are put into the tables as if they had come in over the last thirty days: five turns a loop, ten
loops a session, three agents; with the hourly sums that the recorder would have kept of them.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from bench.live import quantiles
from bench.machine import loopscope, report
from bench.viewers import Reader
from tests.browser.server import ROOT

CONFIGS, AGENTS, DAYS = 12, 3, 30
LOOPS_A_SESSION, TURNS_A_LOOP = 10, 5
SEGMENTS = ("single",) * 12 + (
    "winner",
    "losers",
    "losers",
    "judge",
    "sub_agents",
    "reruns",
    "stopped",
    "compaction",
)
TOKENS = ("uncached_tokens", "cache_read_tokens", "cache_write_tokens", "visible_tokens", "reasoning_tokens")
PAGES = (
    "",
    "?since=24h",
    "?since=30d",
    "?since=90d",
    "?by=model",
    "?by=agent",
    "?by=session",
    "?agent=agent-1",
)
COLUMNS = ("page", "**p50 ms**", "**p95 ms**", "KiB")


def main() -> None:
    asked = _asked()
    if asked.fill:
        fill(asked.turns)
        return
    with loopscope(asked.database) as (target, server):
        environment = os.environ | server.environment
        words = (sys.executable, "-m", "bench.costs", "--fill", "--turns", str(asked.turns))
        subprocess.run(words, cwd=ROOT, env=environment, check=True)
        kind = "PostgreSQL" if server.environment.get("DATABASE_URL") else "SQLite"
        size = f"{asked.turns:,} turns of {CONFIGS} configs in {DAYS} days"
        note = f"{size}; {asked.requests} requests a page. Memory afterwards: {target.rss_mib()} MiB."
        report(f"Costs page, {kind}", note, COLUMNS, ask(Reader(server), asked.requests))


def ask(reader: Reader, requests: int) -> list[tuple[str, str, str, str]]:
    """Return what each page took, the kinds of pages in turns."""
    times: dict[str, list[float]] = {query: [] for query in PAGES}
    sizes: dict[str, float] = {}
    for turn in range(requests + 1):
        for query in PAGES:
            started = time.perf_counter()
            sizes[query] = len(reader.get(f"/p/default/costs{query}")) / 1024
            if turn:  # the first one warms caches
                times[query].append((time.perf_counter() - started) * 1000)
    return [
        (f"costs{query}", f"**{p50:.0f}**", f"**{p95:.0f}**", f"{sizes[query]:.0f}")
        for query, (p50, p95) in ((query, quantiles(each)) for query, each in times.items())
    ]


def fill(turns: int) -> None:
    """Put the records into the database that the environment names."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    import django  # noqa: PLC0415

    django.setup()
    from django.db import connection, transaction  # noqa: PLC0415

    with transaction.atomic():
        Filling(turns).run()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


class Filling:
    """The records, made piece by piece; the same each time."""

    def __init__(self, turns: int) -> None:
        from recorder import models  # noqa: PLC0415

        self.models: Any = models
        self.random = random.Random(4)
        self.now = datetime.now(UTC)
        self.sessions = turns // (LOOPS_A_SESSION * TURNS_A_LOOP)
        self.sums: dict[tuple[datetime, int, str, str], dict[str, int]] = defaultdict(
            lambda: defaultdict(int)
        )

    def run(self) -> None:
        models = self.models
        self.project = models.Project.objects.get(slug="default")
        self.producer = models.Producer.objects.create(project=self.project, name="bench")
        self.configs = models.ModelConfig.objects.bulk_create(
            models.ModelConfig(
                project=self.project,
                key=f"k{n}",
                model=f"model-{n // 2}",
                provider="bench",
                config_id=f"c{n}",
                slot=n % 8 + 1,
                snapshot={"model": f"model-{n // 2}", "temperature": n},
            )
            for n in range(CONFIGS)
        )
        for first in range(0, self.sessions, 1_000):
            self._sessions(first, min(1_000, self.sessions - first))
        models.Spending.objects.bulk_create(
            models.Spending(
                project=self.project, hour=hour, config_id=config, agent_id=agent, segment=segment, **sums
            )
            for (hour, config, agent, segment), sums in self.sums.items()
        )

    def _sessions(self, first: int, count: int) -> None:
        models = self.models
        starts = [self.now - timedelta(days=DAYS) * (1 - (first + n) / self.sessions) for n in range(count)]
        sessions = models.Session.objects.bulk_create(
            models.Session(
                project=self.project,
                session_id=f"s{first + n}",
                agent_id=f"agent-{n % AGENTS}",
                created_at=at,
                last_active_at=at,
                last_event_at=at,
                loops=LOOPS_A_SESSION,
                turns=LOOPS_A_SESSION * TURNS_A_LOOP,
                status="completed",
                cost_nano=n * 10**6,
            )
            for n, at in enumerate(starts)
        )
        loops = models.LoopRecord.objects.bulk_create(
            loop for session in sessions for loop in self._loops(session)
        )
        models.Turn.objects.bulk_create(
            (turn for loop in loops for turn in self._turns(loop)), batch_size=500
        )

    def _loops(self, session: Any) -> Iterator[Any]:
        for n in range(LOOPS_A_SESSION):
            config = self.random.choice(self.configs)
            segment = self.random.choice(SEGMENTS)
            ended = session.last_event_at + timedelta(seconds=n)
            self._add(ended, config.pk, session.agent_id, segment, loops=1, failed=int(n == 7))
            yield self.models.LoopRecord(
                session=session,
                loop_id=f"{session.session_id}.{n}",
                producer=self.producer,
                agent_id=session.agent_id,
                config=config,
                segment=segment,
                status="completed",
                outcome="failed" if n == 7 else "completed",
                started_at=session.created_at,
                ended_at=ended,
                duration_ms=self.random.randrange(500, 300_000),
                turns=TURNS_A_LOOP,
            )

    def _turns(self, loop: Any) -> Iterator[Any]:
        for n in range(TURNS_A_LOOP):
            tokens = {name: self.random.randrange(10_000) for name in TOKENS}
            nano = self.random.randrange(10**8)
            self._add(
                loop.ended_at,
                loop.config_id,
                loop.agent_id,
                loop.segment,
                turns=1,
                priced=1,
                cost_nano=nano,
                **tokens,
            )
            yield self.models.Turn(
                loop=loop,
                ordinal=n,
                turn_index=n,
                state="done",
                config_id=loop.config_id,
                started_at=loop.started_at,
                ended_at=loop.ended_at,
                cost_nano=nano,
                cost_source="computed",
                **tokens,
            )

    def _add(self, at: datetime, config: int, agent: str, segment: str, **more: int) -> None:
        sums = self.sums[at.replace(minute=0, second=0, microsecond=0), config, agent, segment]
        for name, each in more.items():
            sums[name] += each


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=1_000_000)
    parser.add_argument("--requests", type=int, default=20)
    parser.add_argument("--database", help="a PostgreSQL server; a new database is made in it")
    parser.add_argument("--fill", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
