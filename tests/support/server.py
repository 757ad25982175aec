"""A real server in a subprocess, with the actions of an agent and an administrator."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

from websockets.sync.client import connect

from tests.support.first_start import copy_start, started_folder
from tests.support.wait import LONGEST_S, until

ROOT = Path(__file__).parents[2]
# Recorded streams have fixed times, of which the latest are months ago.
NEVER_STALE = {"LOOPSCOPE_STALE_S": "0", "LOOPSCOPE_STALE_WAITING_S": "0"}
FOLLOWERS = ("search", "waste", "ledger")  # what works behind the writer
LOOK_S = 2  # of one look at a server that starts, which is repeated
NOT_INHERITED = {"DJANGO_SETTINGS_MODULE", "DATABASE_URL", "REDIS_URL"}
# On Linux a server ends with the process that started it, also when that was killed.
_SETPRIV = shutil.which("setpriv")
ENDING_WITH_PARENT = (_SETPRIV, "--pdeathsig", "KILL") if _SETPRIV else ()


class Server:
    """`manage.py up` with a data folder of its own; its port stays the same after a restart.

    In a test run the folder has the files of a first start, unless `from_nothing` is set.
    """

    def __init__(
        self, folder: Path, *, from_nothing: bool = False, root: Path = ROOT, **settings: str
    ) -> None:
        self.root = root  # the checkout that it runs
        self.port = 0
        self.folder = folder
        # The test database's address would be that of the real one in another process.
        inherited = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
        self.environment = (
            inherited
            | NEVER_STALE
            | {"LOOPSCOPE_DATA": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
            | settings
        )
        self.under: tuple[str, ...] = ()  # a command that runs it, such as a tracer
        self._log = folder / "server.log"
        self._from_nothing = from_nothing
        self._process: subprocess.Popen[bytes] | None = None
        self._token = ""
        self._used_link = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the server and return when it answers; one that does not is killed."""
        self.launch()
        try:
            self.wait_until_it_answers()
        except BaseException:
            self.kill()
            raise

    def launch(self) -> None:
        """Start the server in a process group of its own, without waiting.

        Called in the main thread: the server would end with another one.
        """
        if not self._from_nothing and not self._log.exists() and (started := started_folder(_begin)):
            self._token = copy_start(started, self.folder, is_sqlite="DATABASE_URL" not in self.environment)
        serve = [sys.executable, "manage.py", "up", "--host", "127.0.0.1", "--port", str(self.port)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*ENDING_WITH_PARENT, *self.under, *serve],
                cwd=self.root,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait_until_it_answers(self) -> None:
        assert self._process is not None
        process = self._process

        def answers() -> bool:
            assert process.poll() is None, f"the server ended:\n{self.log()}"
            return self._answers()

        until(answers, lambda: f"the server does not answer:\n{self.log()}")

    def kill(self) -> None:
        """Kill it and all its children, as a crash would."""
        assert self._process is not None
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        """End it as an administrator does. Raises TimeoutExpired when it had to be killed."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(LONGEST_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def wait(self) -> int:
        """Return its exit status."""
        assert self._process is not None
        return self._process.wait(LONGEST_S)

    def log(self) -> str:
        return self._log.read_text()

    def manage(self, *words: str) -> str:
        """Run a command beside it and return what it prints."""
        command = [sys.executable, "manage.py", *words]
        done = subprocess.run(
            command, cwd=self.root, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    @property
    def token(self) -> str:
        if not self._token:
            self._token = self.manage(
                "token",
                "create",
                "--project",
                "default",
                "--scopes",
                "ingest,read",
                "--name",
                "browser tests",
            )
        return self._token

    def way_in(self) -> str:
        """Return the path of a one-time link: the one it printed last, and each later time a new one."""
        printed = re.findall(r"/signin/[\w-]{43}", self.log())[-1]  # not the path of a refused request
        path = printed if printed != self._used_link else self.manage("signin_link")
        self._used_link = printed
        return path

    def sign_in(self, page) -> None:
        """Sign a browser in with a one-time link."""
        page.goto(self.url + self.way_in())
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(re.compile("/p/"))

    def read(self, path: str):
        """Return the JSON of a GET of the read API."""
        headers = {"Authorization": f"Bearer {self.token}"}
        with urllib.request.urlopen(urllib.request.Request(self.url + path, headers=headers)) as answer:
            return json.load(answer)

    def session_url(self, session_id: str) -> str:
        items = self.read("/api/v1/sessions?limit=200")["items"]
        return self.url + next(item["url"] for item in items if item["session_id"] == session_id)

    def agent(self, producer: str = "", *, form: str = "native") -> Agent:
        """Return a new producer of lines in a format."""
        return Agent(self, producer or str(uuid4()), form)

    def _answers(self) -> bool:
        self.port = self.port or self._listening_port()
        if not self.port:
            return False
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=LOOK_S) as answer:
                return answer.status == 200
        except OSError:
            return False

    def _listening_port(self) -> int:
        """Return the port from `server.json`; a free port found beforehand may be in use by then."""
        try:
            return urlsplit(json.loads((self.folder / "server.json").read_text())["url"]).port or 0
        except (FileNotFoundError, json.JSONDecodeError):
            return 0


class Agent:
    """A producer that numbers its lines, over HTTP or a WebSocket."""

    def __init__(self, server: Server, producer: str, form: str = "native") -> None:
        self._server = server
        self._producer = producer
        self._form = form
        self.sent = 0

    @contextmanager
    def stream(self) -> Iterator[Callable[[dict], None]]:
        """Yield a function that sends an event over a WebSocket without waiting."""
        headers = {"Authorization": f"Bearer {self._server.token}"}
        address = f"ws{self._server.url.removeprefix('http')}/ingest/v1/ws"
        with connect(address, additional_headers=headers) as socket:
            socket.send(json.dumps({"op": "hello", "v": 1, "producer": self._producer}))
            assert json.loads(socket.recv())["high_water"] == self.sent - 1

            def send(event: dict) -> None:
                socket.send(
                    f"{json.dumps({'op': 'events', 'first': self.sent, 'n': 1})}\n{json.dumps(event)}"
                )
                self.sent += 1

            yield send
            while json.loads(socket.recv()).get("upto") != self.sent - 1:
                pass

    def send(self, *events: dict | str | bytes) -> None:
        """Send events and return when they are durable; each must be accepted."""
        lines = [_line(event) for event in events]
        headers = {
            "Authorization": f"Bearer {self._server.token}",
            "Content-Type": "application/x-ndjson",
            "X-Producer": self._producer,
            "X-First-Seq": str(self.sent),
        }
        url = f"{self._server.url}/ingest/v1/events?format={self._form}"
        request = urllib.request.Request(url, b"\n".join(lines), headers, method="POST")
        with urllib.request.urlopen(request) as answer:
            receipt = json.load(answer)
        assert receipt["accepted"] == len(lines), receipt
        self.sent += len(lines)


def is_idle(folder: Path) -> bool:
    """Return whether search index, waste and ledger have seen everything in a server's SQLite database."""
    last = "(SELECT COALESCE(MAX(id), 0) FROM recorder_journalevent)"
    waiting = [f"SELECT 1 FROM recorder_{name}state WHERE cursor < {last}" for name in FOLLOWERS]
    waiting += ["SELECT 1 FROM recorder_wasteredo", "SELECT 1 FROM recorder_ledgerredo"]
    with closing(sqlite3.connect(f"file:{folder}/loopscope.sqlite3?mode=ro", uri=True)) as database:
        return not database.execute(" UNION ALL ".join(waiting)).fetchall()


def prepare_start() -> subprocess.Popen[bytes]:
    """Begin the first start in a process of its own, so that no test has to wait for the whole of it."""
    make = "from tests.support import server; server.make_start()"
    return subprocess.Popen([*ENDING_WITH_PARENT, sys.executable, "-c", make], cwd=ROOT)


def make_start() -> None:
    """Make the files of a first start, unless another process has."""
    started_folder(_begin)


def _begin(folder: Path) -> str:
    """Start a server in an empty folder and stop it; return its token."""
    server = Server(folder, from_nothing=True)
    server.start()
    try:
        return server.token
    finally:
        server.stop()


def _line(event: dict | str | bytes) -> bytes:
    if isinstance(event, bytes):
        return event
    return (event if isinstance(event, str) else json.dumps(event)).encode()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
