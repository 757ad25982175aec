"""PostgreSQL and Redis processes of one run, which it may kill."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import psycopg

from tests.support.wait import until

LOOK_S = 2  # of one look, which is repeated
POSTGRES_USER = "postgres"  # the server refuses to run as root


class Service:
    """A process on a port of its own; its data survive a kill and a restart."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="loopscope-service-"))
        self.port = _free_port()  # another one if a program takes it before the first start
        self._has_answered = False
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Service:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, at: TracebackType | None) -> None:
        self.kill()
        shutil.rmtree(self.folder)

    def start(self) -> None:
        """Start it, and return when it answers."""
        self._launch()
        until(self._has_started, (self.folder / "log").read_text, poll_s=0.05)

    def _has_started(self) -> bool:
        if self._process is not None and self._process.poll() is not None:
            if not self._has_answered:
                self.port = _free_port()
            self._launch()  # after a kill: its children were still running
        answers = self._answers()
        self._has_answered |= answers
        return answers

    def _launch(self) -> None:
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command(),
                cwd=self.folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
                user=self._user(),
            )

    def kill(self) -> None:
        """Kill it and its children, as a crash would."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _command(self) -> Sequence[str]:
        raise NotImplementedError

    def _answers(self) -> bool:
        """Ask it on the socket in its folder: another program may have the port."""
        raise NotImplementedError

    def _user(self) -> str | None:
        return None


class Redis(Service):
    """Stores nothing: only invalidations go through it."""

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def _command(self) -> Sequence[str]:
        where = ("--port", str(self.port), "--bind", "127.0.0.1", "--unixsocket", str(self.folder / "socket"))
        return ("redis-server", *where, "--save", "")

    def _answers(self) -> bool:
        try:
            with socket.socket(socket.AF_UNIX) as line:
                line.settimeout(LOOK_S)
                line.connect(str(self.folder / "socket"))
                line.sendall(b"PING\r\n")
                return line.recv(16) == b"+PONG\r\n"
        except OSError:
            return False


class Postgres(Service):
    """A PostgreSQL cluster in a temporary folder."""

    def __init__(self) -> None:
        super().__init__()
        self._programs = postgres_programs()
        if os.geteuid() == 0:
            shutil.chown(self.folder, POSTGRES_USER)
        make = [self._programs / "initdb", "-D", self.folder / "cluster", "-A", "trust", "-U", "postgres"]
        subprocess.run(make, cwd=self.folder, check=True, stdout=subprocess.DEVNULL, user=self._user())

    @property
    def url(self) -> str:
        return f"postgres://postgres@127.0.0.1:{self.port}/postgres"

    def _command(self) -> Sequence[str]:
        where = ("-D", str(self.folder / "cluster"), "-p", str(self.port), "-k", str(self.folder))
        return (str(self._programs / "postgres"), *where, "-c", "listen_addresses=127.0.0.1")

    def _answers(self) -> bool:
        try:
            psycopg.connect(
                host=str(self.folder), port=self.port, user=POSTGRES_USER, connect_timeout=LOOK_S
            ).close()
        except psycopg.OperationalError:
            return False
        return True

    def _user(self) -> str | None:
        return POSTGRES_USER if os.geteuid() == 0 else None


def postgres_programs() -> Path:
    """Return the folder of PostgreSQL's own programs: Debian keeps it off the PATH."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    assert folders, "install PostgreSQL's server"
    return folders[-1]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port
