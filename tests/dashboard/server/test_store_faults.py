"""A database that cannot write for a while: senders retry, pages stay readable, acknowledged lines stay."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager, suppress
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


def start_again(server):
    """Return a start that is refused."""
    command = [sys.executable, "manage.py", "up", "--port", str(server.port)]
    options = {"capture_output": True, "text": True, "timeout": LONGEST_S}
    return subprocess.run(command, check=False, cwd=ROOT, env=server.environment, **options)


@pytest.mark.parametrize("harm", ["deleted", "replaced", "log deleted"])
def test_a_database_that_is_gone_ends_the_server_before_another_acknowledgement(server, harm):
    path = server.folder / "loopscope.sqlite3"
    until_stored(server, "p", 0, line(agent_start("s.a.1")))
    log = path.with_name(f"{path.name}-wal")
    taken = log if harm == "log deleted" else path
    taken.rename(aside := server.folder / "aside")
    if harm == "replaced":
        path.write_bytes(aside.read_bytes())

    with suppress(OSError):  # the server may have ended
        assert send(server, "p", 1, line(agent_start("s.a.2")))[0] == 503
    assert server.wait() == 1
    assert f"{taken} was deleted or replaced" in server.log()


def test_no_empty_database_is_made_where_one_was(server):
    path = server.folder / "loopscope.sqlite3"
    until_stored(server, "p", 0, line(agent_start("s.a.1")))
    server.stop()
    path.rename(aside := server.folder / "aside")
    for left in (None, b"", sqlite_file(server.folder / "empty")):
        if left is not None:
            path.write_bytes(left)
        refused = start_again(server)
        assert (refused.returncode, "Traceback" in refused.stderr) == (1, False)
        assert "its folder had one" in refused.stderr
        assert "--new-database" in refused.stderr
        assert (path.read_bytes() if path.exists() else None) == left

    aside.rename(path)
    server.start()
    assert server.read("/api/v1/sessions")["items"][0]["session_id"] == "s"


def sqlite_file(path):
    """Return the bytes of a database without tables, as a reader leaves it that comes after the deletion."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode=WAL")
    return path.read_bytes()
