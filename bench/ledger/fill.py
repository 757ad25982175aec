"""Fills a database with the sums of a ledger of a million turns, without the calls themselves.

Sessions, loops and turns are those of `bench.costs`; each session has a sum for each of PARTS and for the
classes of its turns by cost, and each turn a tool call. The days are added up as the follower does it.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict

from bench.costs import LOOPS_A_SESSION, TURNS_A_LOOP, Filling, counted
from recorder.core.ledger.cost_classes import class_of

TURNS_A_SESSION = LOOPS_A_SESSION * TURNS_A_LOOP
MODELS, VERSIONS = 2, 6
TOOLS = 24
PARTS = (
    *(("tool_definition", f"mcp__server-{n % 4}__tool_{n}", f"server-{n % 4}") for n in range(TOOLS)),
    *(("tool_result", f"mcp__server-{n % 4}__tool_{n}", f"server-{n % 4}") for n in range(6)),
    *(("tool_result", "Bash", command) for command in ("git diff", "git log", "pytest", "ls")),
    *((kind, "", "") for kind in ("system", "user", "assistant", "thinking", "output")),
    *(("miss", verdict, "") for verdict in ("append_only", "first_call", "ttl_lapsed", "tools_changed")),
)


class LedgerFilling(Filling):
    """Inserts the records and the sums by SQL."""

    def run(self) -> None:
        """Insert everything, in one transaction of the caller."""
        super().run()
        from recorder.ledger.state import VERSION, mark_days  # noqa: PLC0415

        models = self.models
        project = models.Project.objects.get(slug="default")
        ended = dict.fromkeys(("started_at", "ended_at"), "t.ended_at")
        call = {"loop_id": "t.loop_id", "turn_id": "t.id", "tool_call_id": "'c' || t.id", **ended}
        state = "CASE t.id % 20 WHEN 0 THEN 'failed' ELSE 'done' END"
        named = {"tool_name": "'tool_' || t.id % 10", "state": state}
        self._insert(models.ToolCall, "recorder_turn t", call | named)
        numbers = f"recorder_session s CROSS JOIN {counted(len(PARTS))}"
        self._insert(models.LedgerSum, numbers, self._sum(project.pk))
        self._insert_requests(project.pk)
        days = models.LedgerSum.objects.values_list("day", flat=True).distinct()
        mark_days({(project.pk, day) for day in days})
        models.LedgerState.objects.update_or_create(project=project, defaults={"version": VERSION})

    def _insert_requests(self, project: int) -> None:
        """Count the turns of each session by the class of their cost, as of the day and model of its sums."""
        turns = self.models.Turn.objects.exclude(cost_nano=None).values_list("loop__session", "cost_nano")
        found: dict[tuple[int, str], list[int]] = defaultdict(lambda: [0, 0])
        for session, nano in turns.iterator(10_000):
            if nano:
                of_class = found[session, class_of(nano)]
                of_class[0] += 1
                of_class[1] += nano
        sums = self.models.LedgerSum
        like = {row.session: row for row in sums.objects.filter(kind="output").iterator(10_000)}
        sums.objects.bulk_create(
            (
                sums(
                    project_id=project,
                    session=session,
                    day=like[session].day,
                    agent_id=like[session].agent_id,
                    version=like[session].version,
                    model=like[session].model,
                    kind="request",
                    name=name,
                    calls=calls,
                    cost_nano=nano,
                )
                for (session, name), (calls, nano) in found.items()
            ),
            batch_size=1_000,
        )

    def _sum(self, project: int) -> dict[str, str]:
        day = "date(s.last_event_at)" if self.is_sqlite else "(s.last_event_at AT TIME ZONE 'UTC')::date"
        part = [" ".join(f"WHEN {n} THEN '{each[at]}'" for n, each in enumerate(PARTS)) for at in range(3)]
        kind, name, server = (f"CASE i {cases} END" for cases in part)
        amount = "(s.id * 7919 + i * 104729)"
        return {
            "project_id": str(project),
            "session": "s.id",
            "day": day,
            "agent_id": "s.agent_id",
            "version": f"'v' || (s.id * {VERSIONS} / {self.sessions + 1})",
            "model": f"'model-' || s.id % {MODELS}",
            "kind": kind,
            "name": name,
            "server": server,
            "calls": str(TURNS_A_SESSION),
            "tokens": f"{amount} % 100000",
            "blocks": "1 + i % 3",
            "block_tokens": f"{amount} % 5000",
            "cost_nano": f"{amount} % 100000000",
        }


def fill(turns: int) -> None:
    """Insert the records into the database that the environment names, and add up the days."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    import django  # noqa: PLC0415

    django.setup()
    from django.db import connection, transaction  # noqa: PLC0415

    from recorder.ledger.sums import add_up_days  # noqa: PLC0415

    with transaction.atomic():
        LedgerFilling(turns).run()
    while add_up_days():
        pass
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


if __name__ == "__main__":
    fill(int(sys.argv[1]))
