"""Outages of disk, database and Redis under load: nothing acknowledged is lost, and the server recovers."""

import subprocess
import sys

import pytest
from django.db import connection

from tests.dashboard.server.test_store_faults import send
from tests.faults import failing_syscalls, outages, redis_outage
from tests.support.build import agent_start, line
from tests.support.server import ROOT, Server, is_idle
from tests.support.wait import until

pytestmark = pytest.mark.slow

may_mount = pytest.mark.usefixtures("mounts")
on_sqlite = pytest.mark.skipif(connection.vendor != "sqlite", reason="about SQLite's files")
on_postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="about PostgreSQL")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("lock", marks=on_sqlite),
        pytest.param("disk", marks=on_sqlite),
        pytest.param("postgres", marks=on_postgresql),
    ],
)
def test_nothing_acknowledged_is_lost_and_producers_are_served_again(request, tmp_path, name):
    if name == "disk":
        request.getfixturevalue("mounts")
    with outages.prepared(name, tmp_path) as (server, outage):
        course = outages.run(server, outage, seconds=3, seed=1)

    assert course.is_clean, course


@on_postgresql
def test_redis_killed_loses_nothing_and_open_pages_of_two_nodes_are_true_again(tmp_path):
    course = redis_outage.run(tmp_path, seconds=5, seed=1)

    assert course.outcome.is_clean, course
    assert len(course.true_again_s) == course.pages  # the time depends on the load of the machine


@on_sqlite
def test_a_failed_sync_ends_the_process_and_is_never_tried_again(tmp_path, traces):
    course = failing_syscalls.run(tmp_path, "sync", after=25, seed=1)

    assert course.is_clean, course
    assert (course.failed, course.status, course.synced_again) == (1, 1, 0)


@on_sqlite
@pytest.mark.parametrize("kind", ["io", "full"])
def test_reads_and_writes_that_fail_for_a_while_are_gone_through(tmp_path, traces, kind):
    course = failing_syscalls.run(tmp_path, kind, after=800, seed=1)

    assert course.is_clean, course
    assert course.failed >= 10


@on_sqlite
@may_mount
def test_a_full_disk_is_started_on_with_the_reserve_and_refused_without(tmp_path):
    with outages.small_disk(tmp_path) as folder:
        server = Server(folder)
        server.start()
        server.agent().send(agent_start("s.a.1"))
        server.stop()
        fill(folder / "filler")

        server.start()
        assert outages.status(server, "/readyz") == 503
        assert outages.status(server, "/api/v1/sessions") == 200
        server.stop()

        fill(folder / "more")
        done = subprocess.run(
            [sys.executable, "manage.py", "up", "--port", str(server.port)],
            cwd=ROOT,
            env=server.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert done.stderr.startswith("CommandError: The disk of ")


@on_sqlite
@may_mount
def test_a_disk_that_turns_read_only_gives_busy_and_nothing_is_lost(tmp_path):
    lines = [line(agent_start(f"s.a.{n}")) for n in range(6)]
    with outages.small_disk(tmp_path) as folder:
        server = Server(folder)
        server.start()
        server.agent("p").send(*lines[:5])
        until(lambda: is_idle(folder))  # a commit whose sync fails would end the server
        subprocess.run(["mount", "-o", "remount,abort", folder], check=True)  # as after a disk error

        status, reply, _ = send(server, "p", 5, lines[5])
        assert (status, reply["code"]) == (503, "busy")
        assert outages.status(server, "/readyz") == 503
        assert outages.status(server, "/api/v1/sessions") == 200
        server.stop()

    image = tmp_path / "disk"
    mended = subprocess.run(["e2fsck", "-fy", image], stdout=subprocess.DEVNULL, check=False)
    assert mended.returncode == 1  # errors were corrected
    with outages.mounted(image, folder):
        server.start()
        assert send(server, "p", 0, *lines)[1]["duplicates"] == 5
        server.stop()


def fill(path):
    """Fill the disk to the last byte."""
    with path.open("wb", buffering=0) as file:
        for size in (outages.MIB, 4096):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                pass
