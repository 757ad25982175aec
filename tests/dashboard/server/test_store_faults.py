"""A database that cannot write for a while: senders retry, pages stay readable, acknowledged lines stay."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager
from threading import Thread
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.faults.support import machine
from tests.support.build import agent_start, line
from tests.support.server import ROOT, Server
from tests.support.wait import LONGEST_S, until

pytestmark = pytest.mark.slow

MIB = 1024 * 1024
DISK_BYTES = 48 * MIB


def send(server, producer, first, *lines):
    """Send lines; return the status, the body and the Retry-After header."""
    headers = {
        "Authorization": f"Bearer {server.token}",
        "Content-Type": "application/x-ndjson",
        "X-Producer": producer,
        "X-First-Seq": str(first),
    }
    request = Request(f"{server.url}/ingest/v1/events", b"\n".join(lines), headers, method="POST")
    try:
        with urlopen(request, timeout=LONGEST_S) as response:
            return response.status, json.load(response), None
    except HTTPError as refused:
        with refused:
            return refused.code, json.load(refused), refused.headers["Retry-After"]


def until_stored(server, producer, first, *lines):
    """Send lines again and again while the server is busy; return the receipt."""

    def receipt():
        status, answer, _ = send(server, producer, first, *lines)
        assert status in (200, 503), answer
        return answer if status == 200 else None

    return until(receipt, "the server is still busy")


def ready(server):
    try:
        bearer = {"Authorization": f"Bearer {server.token}"}
        with urlopen(Request(f"{server.url}/readyz", headers=bearer), timeout=LONGEST_S) as response:
            return response.status
    except HTTPError as refused:
        with refused:
            return refused.code


@pytest.fixture
def server(tmp_path):
    server = Server(tmp_path)
    server.folder = tmp_path
    server.start()
    server.token  # noqa: B018  created while the database still writes
    yield server
    server.stop()


def test_a_long_lock_is_busy_and_lines_are_stored_after_it(server):
    receipt = {}
    with closing(sqlite3.connect(server.folder / "loopscope.sqlite3", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        status, refused, again = send(server, "p", 0, line(agent_start("s.a.1")))
        sender = Thread(
            target=lambda: receipt.update(until_stored(server, "q", 0, line(agent_start("s.a.2"))))
        )
        sender.start()
        assert (status, refused["code"], again) == (503, "busy", "1")
        assert ready(server) == 503
        assert server.read("/api/v1/sessions")["items"] == []
        holder.execute("ROLLBACK")
    sender.join()

    assert receipt["upto"] == 0
    assert until_stored(server, "p", 0, line(agent_start("s.a.1")))["accepted"] == 1
    until(lambda: ready(server) == 200, "it is not ready again")


@contextmanager
def small_disk(folder):
    """Mount a file system of a few MiB."""
    options = f"size={DISK_BYTES},mode=0700"
    mounted = (
        os.geteuid() == 0
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True, check=False
        ).returncode
    )
    if not mounted:
        machine.is_missing("root, to mount a small disk")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_loses_nothing_keeps_pages_and_recovers_unaided(tmp_path):
    with small_disk(tmp_path):
        server = Server(tmp_path)
        server.start()
        try:
            fill_and_free(server, tmp_path)
        finally:
            server.stop()


def fill_and_free(server, folder):
    until_stored(server, "p", 0, line(agent_start("s.a.1")))
    filler = folder / "filler"
    with filler.open("wb") as file:
        room = os.statvfs(folder)
        os.posix_fallocate(file.fileno(), 0, room.f_bavail * room.f_frsize - MIB)

    note = json.dumps({"type": "Note", "text": "x" * 200_000}).encode()
    stored = 1

    def refused():
        nonlocal stored
        answer = send(server, "p", stored, note)
        if answer[0] == 200:
            stored += 1
        # Once a second the log is checkpointed, and the space that this frees takes some more events.
        return answer if answer[0] == 503 and ready(server) == 503 else None

    answer = until(refused, "the disk is not full")
    assert (answer[1]["code"], answer[2]) == ("disk_full", "10")
    assert server.read("/api/v1/sessions")["items"][0]["session_id"] == "s"
    assert "sign" in server.manage("signin_link")
    server.manage("prune")

    filler.unlink()
    assert until_stored(server, "p", stored, note)["upto"] == stored
    until(lambda: ready(server) == 200, "it is not ready again")
    assert (folder / "reserve").exists()


@pytest.mark.parametrize("harm", ["truncated", "overwritten"])
def test_a_damaged_database_is_not_served_and_not_touched(tmp_path, harm):
    server = Server(tmp_path)
    server.start()
    server.agent().send(*(agent_start(f"s.a.{n}") for n in range(200)))
    server.stop()
    path = tmp_path / "loopscope.sqlite3"
    content = bytearray(path.read_bytes())
    if harm == "truncated":
        content = content[: len(content) // 2]
    else:
        content[:100] = bytes(100)
    path.write_bytes(content)

    command = [sys.executable, "manage.py", "up", "--port", str(server.port)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=server.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST_S,
    )

    assert done.returncode == 1
    assert "is damaged" in done.stderr
    assert ".recover" in done.stderr
    assert "Traceback" not in done.stderr
    assert path.read_bytes() == content
