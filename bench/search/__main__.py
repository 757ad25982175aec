"""Search: what the index costs ingest, how large it is, how far it is behind, and how fast it answers.

python -m bench.search [--messages 100000] [--database postgres://…] [--data FOLDER]

Messages of about 60 words, a tenth of them Chinese, are recorded in batches of 100 through the ingest
pipeline, in turns with and without the steps of indexing that the writer takes under full load. Then the rest
is indexed, and words that are common, medium and rare are searched for through the read API, and the query
box is asked for completions. A folder given is kept, and one that holds a database is searched as it is.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from bench.support.machine import ROOT

if TYPE_CHECKING:
    from recorder.models import Project

BATCH = 100
SESSION_MESSAGES = 100
ROUNDS = 30  # searches of each kind
WORDS = [
    f"{a}{b}{c}"
    for a in "bcdfgklmnprst"
    for b in ("a", "e", "i", "or", "un")
    for c in ("ta", "king", "l", "nd")
]
HAN = "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--database", default="")
    parser.add_argument("--data", default="")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=ROOT / "bench") as made:
        folder = given.data or made
        os.environ |= {"LOOPSCOPE_DATA": folder, "DJANGO_SETTINGS_MODULE": "dashboard.settings"}
        os.environ["LOOPSCOPE_ALLOWED_HOSTS"] = "testserver"
        os.environ.pop("DATABASE_URL", None)
        if given.database:
            os.environ["DATABASE_URL"] = given.database
        import django  # noqa: PLC0415  the folder must be known first

        django.setup()
        from django.core.management import call_command  # noqa: PLC0415

        call_command("migrate", verbosity=0)
        _measure(given.messages)


def _measure(messages: int) -> None:
    from recorder.models import Project  # noqa: PLC0415

    project = Project.objects.filter(slug__startswith="search-").order_by("-pk").first()
    if project is None:
        project = Project.objects.create(slug=f"search-{time.time_ns()}")
        _fill(project.pk, messages)
    _search(project)
    _complete(project)


def _fill(project: int, messages: int) -> None:
    from recorder.search.indexer import run_all  # noqa: PLC0415

    plain, indexed, text = _ingest(project, messages)
    print(f"ingest, events/s with a step of indexing : without  {plain / indexed:.2f}")
    began = time.monotonic()
    run_all()
    print(f"the rest was indexed in {time.monotonic() - began:.1f} s for {messages:,} messages")
    print(f"index bytes : text bytes  {_index_bytes(project) / text:.2f}")


def _ingest(project: int, messages: int) -> tuple[float, float, int]:
    """Record messages; return the seconds of the batches without and with indexing, and the bytes of text."""
    from recorder.ingest.commit.pipeline import Batch, ingest  # noqa: PLC0415
    from recorder.search import pace  # noqa: PLC0415
    from recorder.search.idle import IdleIndexing  # noqa: PLC0415

    draw, seconds, size = random.Random(1), [0.0, 0.0], 0
    pace.BUSY = 0.0  # full load, though making the lines takes time, too
    indexing = IdleIndexing()
    for number in range(messages // BATCH):
        lines, characters = _lines(draw, number)
        size += characters
        began = time.monotonic()
        ingest(Batch(project, f"p{number % 4}", None, lines))
        indexing.pace.wrote(time.monotonic() - began)
        if number % 2:
            indexing.run(lambda: True)
        seconds[number % 2] += time.monotonic() - began
    return seconds[0], seconds[1], size


def _lines(draw: random.Random, number: int) -> tuple[list[bytes], int]:
    from tests.support import build  # noqa: PLC0415

    loop, size = f"s{number}.a.1", 0
    lines = [build.line(build.agent_start(loop)), build.line(build.turn_start(loop))]
    for place in range(SESSION_MESSAGES):
        words = [WORDS[int(draw.random() ** 3 * len(WORDS))] for _ in range(60)]
        if place % 10 == 0:
            words.append("".join(draw.choice(HAN) for _ in range(60)))
        if number % 500 == 0 and place == 5:
            words.append("needle")
        text = "common " + " ".join(words)
        size += len(text.encode())
        lines.append(
            json.dumps({"type": "MessageEnd", "loop_id": loop, "message": build.assistant(text)}).encode()
        )
    return lines, size


def _index_bytes(project: int) -> int:
    from recorder.database import sql  # noqa: PLC0415
    from recorder.search.tables import connection, table  # noqa: PLC0415

    name = table(project)
    if connection.vendor == "postgresql":
        parts = f"pg_total_relation_size('{name}'), pg_total_relation_size('recorder_searchdocument')"
        return sum(sql.read(f"SELECT {parts}")[0])
    condition = f"name LIKE '{name}%%' OR name IN ('recorder_searchdocument', 'documents_of_session')"
    return int(sql.read(f"SELECT SUM(pgsize) FROM dbstat WHERE {condition}")[0][0])


def _search(project: Project) -> None:
    from django.test import Client  # noqa: PLC0415

    from recorder.access import tokens  # noqa: PLC0415

    bearer = {"authorization": f"Bearer {tokens.issue(project, 'bench', ['read'])}"}
    client = Client()

    def get(**query: str) -> Callable[[], object]:
        return lambda: client.get("/api/v1/search", query, headers=bearer)

    searched = {
        "common": "common",
        "medium": WORDS[-1],
        "rare": "needle",
        "two words": f"{WORDS[0]} {WORDS[1]}",
        "two characters": HAN[:2],
        "one character": HAN[0],
        "common and rare": "common needle",
    }
    for name, q in searched.items():
        for sort in ("newest", "best"):
            print(f"{name}, {sort}: p95 {_p95(get(q=q, sort=sort)):.0f} ms")


def _complete(project: Project) -> None:
    """Ask for what the query box shows after a key stroke, as a signed-in person."""
    from django.contrib.auth.models import User  # noqa: PLC0415
    from django.test import Client  # noqa: PLC0415

    client = Client()
    client.force_login(User.objects.create_superuser(f"bench-{time.time_ns()}"))
    for q in ("s", "tool:", "agent:a", "model:", "session:s1", "metadata."):
        url = f"/p/{project.slug}/complete"
        print(f"completion of {q}: p95 {_p95(lambda q=q, url=url: client.get(url, {'q': q})):.0f} ms")


def _p95(call: Callable[[], object]) -> float:
    times = []
    call()  # the first one imports the pages
    for _ in range(ROUNDS):
        began = time.monotonic()
        call()
        times.append((time.monotonic() - began) * 1000)
    return statistics.quantiles(times, n=20)[-1]


if __name__ == "__main__":
    main()
