"""Size of a SQLite file after pruning: bytes a line, free pages, and the size after VACUUM.

python -m bench.space [--plays 9]

The demo is recorded several times with a date forty days ago, consolidated and pruned.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from datetime import UTC, datetime, timedelta

from bench.support.machine import ROOT

AGE = timedelta(days=40)
BATCH = 300


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--plays", type=int, default=9)
    plays = parser.parse_args().plays
    with tempfile.TemporaryDirectory(dir=ROOT / "bench") as folder:
        os.environ |= {"LOOPSCOPE_DATA": folder, "DJANGO_SETTINGS_MODULE": "dashboard.settings"}
        os.environ.pop("DATABASE_URL", None)
        import django  # noqa: PLC0415  the folder must be known first

        django.setup()
        from django.core.management import call_command  # noqa: PLC0415

        call_command("migrate", verbosity=0)
        _measure(plays)


def _measure(plays: int) -> None:
    from django.db import connection  # noqa: PLC0415

    from recorder.insights.consolidate import consolidate  # noqa: PLC0415
    from recorder.models import Project  # noqa: PLC0415
    from recorder.operations import retention  # noqa: PLC0415
    from tests.support.journal_bytes import database_bytes  # noqa: PLC0415

    project = Project.objects.create(slug="space", retention_days=30)
    lines = _record(project.pk, plays)
    consolidate(project, lambda *_: None)
    before = database_bytes()
    retention.prune(project, datetime.now(UTC))
    free = _free()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
    after = database_bytes()
    print(f"{lines:,} lines: a file of {before / 1e6:.1f} MB; pruned, {free / 1e6:.1f} MB are free pages;")
    print(f"after VACUUM {after / 1e6:.1f} MB, {_remaining_bytes() / lines:.0f} bytes a line")


def _record(project: int, plays: int) -> int:
    from recorder.demo.player import _batches, _line  # noqa: PLC0415
    from recorder.demo.schedule import moments  # noqa: PLC0415
    from recorder.ingest.commit.pipeline import Batch, ingest  # noqa: PLC0415

    came, lines = datetime.now(UTC) - AGE, 0
    for n in range(plays):
        sent = 0
        for batch in _batches(list(moments()), BATCH):
            batch_lines = [_line(moment, came, 1) for moment in batch]
            ingest(Batch(project, f"play-{n}", sent, batch_lines, received_at=came))
            sent += len(batch_lines)
        lines += sent
    return lines


def _free() -> int:
    return _number("SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size")


def _remaining_bytes() -> int:
    """Return the bytes of the rows and indexes that stay after pruning."""
    names = (
        "SELECT name FROM sqlite_master WHERE tbl_name IN ('recorder_journalevent', 'recorder_eventrecord')"
    )
    return _number(f"SELECT SUM(pgsize) FROM dbstat WHERE name IN ({names})")


def _number(sql: str) -> int:
    from django.db import connection  # noqa: PLC0415

    with connection.cursor() as cursor:
        cursor.execute(sql)
        return int(cursor.fetchone()[0])


if __name__ == "__main__":
    sys.exit(main())
