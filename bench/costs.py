"""Time of the costs page with a million turns of twelve configs.

python -m bench.costs [--turns 1000000] [--requests 20] [--database postgres://…]

The records are inserted as if recorded over the last thirty days: five turns a loop, ten loops a session,
three agents; with their rollups.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from typing import Any

from bench.live import quantiles
from bench.support.machine import Target, loopscope, report
from bench.support.viewers import Reader
from tests.support.server import ROOT

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
TURN = {
    "loop_id": "l.id",
    "ordinal": "i",
    "turn_index": "i",
    "config_id": "l.config_id",
    "state": "'done'",
    **dict.fromkeys(("started_at", "ended_at"), "l.ended_at"),
    **{name: f"(l.id * {n + 31} + i * 17) % 10000" for n, name in enumerate(TOKENS)},
    "cost_nano": "(l.id * 7919 + i) % 100000000",
}
PAGES = (
    "integrity",  # nearly empty: the base cost of any page
    "costs",
    *(
        f"costs?{query}"
        for query in (
            *("since=24h", "since=30d", "since=90d", "by=model", "by=agent", "by=session"),
            *("q=model:model-1", "q=errors:0", "q=errors:0&since=24h", "q=session:s7", "q=role:judge"),
            "q=errors:0&since=90d",
        )
    ),
    "costs.csv",
    "costs/accounts",
)
COLUMNS = ("page", "**p50 ms**", "p95 ms", "**CPU ms**", "KiB")


def main() -> None:
    options = _options()
    if options.fill:
        fill(options.turns)
        return
    with loopscope(options.database) as (target, server):
        environment = os.environ | server.environment
        words = (sys.executable, "-m", "bench.costs", "--fill", "--turns", str(options.turns))
        subprocess.run(words, cwd=ROOT, env=environment, check=True)
        kind = "PostgreSQL" if server.environment.get("DATABASE_URL") else "SQLite"
        size = f"{options.turns:,} turns of {CONFIGS} configs in {DAYS} days"
        note = f"{size}; {options.requests} requests a page. Memory afterwards: {target.rss_mib()} MiB."
        report(f"Costs page, {kind}", note, COLUMNS, measure(target, Reader(server), options.requests))


def measure(target: Target, reader: Reader, requests: int) -> list[tuple[str, ...]]:
    """Return the row of each page; a first request warms caches."""
    rows = []
    for path in (f"/p/default/{page}" for page in PAGES):
        reader.get(path)
        times, cpu = [], target.cpu_s()
        for _ in range(requests):
            started = time.perf_counter()
            size = len(reader.get(path)) / 1024
            times.append((time.perf_counter() - started) * 1000)
        p50, p95 = quantiles(times)
        cpu_ms = (target.cpu_s() - cpu) / requests * 1000
        rows.append((path, f"**{p50:.0f}**", f"{p95:.0f}", f"**{cpu_ms:.0f}**", f"{size:.0f}"))
    return rows


def fill(turns: int) -> None:
    """Insert the records into the database that the environment names."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    import django  # noqa: PLC0415

    django.setup()
    from django.db import connection, transaction  # noqa: PLC0415

    with transaction.atomic():
        Filling(turns).run()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


class Filling:
    """Inserts the records by SQL; they are the same each time except for the dates."""

    def __init__(self, turns: int) -> None:
        from django.db import connection  # noqa: PLC0415

        from recorder import models  # noqa: PLC0415

        self.models: Any = models
        self.connection = connection
        self.is_sqlite = connection.vendor == "sqlite"
        self.sessions = turns // (LOOPS_A_SESSION * TURNS_A_LOOP)

    def run(self) -> None:
        models = self.models
        project = models.Project.objects.get(slug="default")
        producer = models.Producer.objects.create(project=project, name="bench")
        configs = models.ModelConfig.objects.bulk_create(self._config(project, n) for n in range(CONFIGS))
        self._insert(models.Session, f"{counted(self.sessions)}", self._session(project.pk))
        loops = f"recorder_session s CROSS JOIN {counted(LOOPS_A_SESSION)}"
        self._insert(models.LoopRecord, loops, self._loop(producer.pk, configs[0].pk))
        turns = f"recorder_looprecord l CROSS JOIN {counted(TURNS_A_LOOP)}"
        self._insert(models.Turn, turns, TURN)
        for span in ("hour", "day"):
            self._sum_up(project, span)

    def _sum_up(self, project: Any, span: str) -> None:
        start = f"date_trunc('{span}', l.ended_at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'"
        if self.is_sqlite:
            length, rest = {"hour": (13, ":00:00"), "day": (10, " 00:00:00")}[span]
            start = f"substr(l.ended_at, 1, {length}) || '{rest}'"
        key = (start, "l.config_id", "l.agent_id", "l.segment")
        named = dict(zip(("start", "config_id", "agent_id", "segment"), key, strict=True))
        named["span"] = f"'{span}'"
        sums = {name: f"SUM(t.{name})" for name in (*TOKENS, "cost_nano")}
        counts = {"turns": "COUNT(*)", "priced": "COUNT(*)", "loops": f"COUNT(*) / {TURNS_A_LOOP}"}
        source = f"recorder_turn t JOIN recorder_looprecord l ON l.id = t.loop_id GROUP BY {', '.join(key)}"
        self._insert(self.models.Spending, source, {"project_id": str(project.pk), **named, **sums, **counts})

    def _config(self, project: Any, n: int) -> Any:
        model = f"model-{n // 2}"
        snapshot = {"model": model, "temperature": n}
        return self.models.ModelConfig(
            project=project, key=f"k{n}", model=model, provider="bench", snapshot=snapshot, slot=n % 8 + 1
        )

    def _session(self, project: int) -> dict[str, str]:
        ago = f"{DAYS * 86_400} - {DAYS * 86_400} * i / {self.sessions}"
        at = f"datetime('now', '-' || ({ago}) || ' seconds')"
        at = at if self.is_sqlite else f"now() - ({ago}) * interval '1 second'"
        return {
            "project_id": str(project),
            "session_id": "'s' || i",
            "agent_id": f"'agent-' || i % {AGENTS}",
            **dict.fromkeys(("created_at", "last_active_at", "last_event_at", "last_received_at"), at),
            "status": "'completed'",
            "cost_nano": "i * 7919 % 1000000007",
        }

    def _loop(self, producer: int, config: int) -> dict[str, str]:
        cases = " ".join(f"WHEN {n} THEN '{name}'" for n, name in enumerate(SEGMENTS))
        return {
            "session_id": "s.id",
            "loop_id": "s.session_id || '.' || i",
            "producer_id": str(producer),
            "agent_id": "s.agent_id",
            "config_id": f"{config} + (s.id * 7 + i * 5) % {CONFIGS}",
            "segment": f"CASE (s.id * 3 + i * 11) % {len(SEGMENTS)} {cases} END",
            **dict.fromkeys(("started_at", "ended_at"), "s.last_event_at"),
            "status": "'completed'",
            "outcome": "'completed'",
            "duration_ms": "500 + (s.id * 7919 + i * 104729) % 300000",
        }

    def _insert(self, model: Any, source: str, values_of: dict[str, str]) -> None:
        """Insert a row for each row of a source; other columns have their default."""
        fields = [field for field in model._meta.concrete_fields if field.column not in ("id", *values_of)]
        values = [field.get_db_prep_save(field.get_default(), self.connection) for field in fields]
        columns = ", ".join((*values_of, *(field.column for field in fields)))
        selected = ", ".join(
            (*(value.replace("%", "%%") for value in values_of.values()), *("%s" for _ in fields))
        )
        source = (source if "GROUP BY" in source else f"{source} WHERE true").replace("%", "%%")
        with self.connection.cursor() as cursor:
            table = model._meta.db_table
            cursor.execute(f"INSERT INTO {table} ({columns}) SELECT {selected} FROM {source}", values)


def counted(count: int) -> str:
    """Return a source of the numbers 0, 1, 2, ... as `i`."""
    numbers = f"SELECT CAST(0 AS bigint) AS i UNION ALL SELECT i + 1 FROM counted WHERE i + 1 < {count}"
    return f"(WITH RECURSIVE counted AS ({numbers}) SELECT i FROM counted) numbers"


def _options() -> argparse.Namespace:
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
