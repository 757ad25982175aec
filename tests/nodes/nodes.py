"""Nodes of one Loopscope: `manage.py up` on several ports, one PostgreSQL, one Redis, one secret key."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from contextlib import ExitStack, contextmanager, suppress
from http.cookiejar import CookieJar
from pathlib import Path
from time import monotonic

from websockets.sync.client import connect

from tests.support.server import ROOT, Server
from tests.support.wait import LONGEST_S

DIGEST = """
import django, re, sys
django.setup()
from hashlib import sha256
from recorder.models import Project
from tests.support.project_digest import records
words = "\\n".join(records(Project.objects.get(slug=sys.argv[1]).pk))
# When a line came is not what it says: only the times of the events themselves are compared.
text = re.sub(r'"(?!2026-02-11)20\\d\\d-\\d\\d-\\d\\d [^"]*"', '"received"', words)
print(sha256(text.encode()).hexdigest())
"""


def post(node, token, lines, first, producer="p"):
    """Send a batch to a node; return status and JSON."""
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/x-ndjson",
        "X-Producer": producer,
        "X-First-Seq": str(first),
    }
    url = f"{node.url}/ingest/v1/events"
    request = urllib.request.Request(url, b"\n".join(lines), headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=LONGEST_S) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, json.load(refused)


@contextmanager
def ingest_socket(node, token, producer="p"):
    """Connect a producer to a node; yield the socket and its high water."""
    headers = {"Authorization": f"Bearer {token}"}
    with connect(f"ws{node.url.removeprefix('http')}/ingest/v1/ws", additional_headers=headers) as socket:
        socket.send(json.dumps({"op": "hello", "v": 1, "producer": producer}))
        yield socket, json.loads(socket.recv(timeout=LONGEST_S))["high_water"]


def frame(first, lines):
    head = json.dumps({"op": "events", "first": first, "n": len(lines)})
    return "\n".join([head, *(line.decode() for line in lines)])


def project(node, slug):
    """Create a project; return a token for it."""
    node.manage("project", "create", slug)
    words = ("token", "create", "--project", slug, "--scopes", "ingest,read", "--name", "tests of nodes")
    return node.manage(*words)


def digest(node, slug):
    """Return one hash for all records of a project."""
    environment = node.environment | {"DJANGO_SETTINGS_MODULE": "dashboard.settings"}
    command = [sys.executable, "-c", DIGEST, slug]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=LONGEST_S
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


class Nodes:
    """Two nodes, started at once on an empty database."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.all = []
        for name in ("a", "b"):
            (folder / name).mkdir(parents=True)
            self.all.append(Server(folder / name, **settings))

    def __enter__(self) -> Nodes:
        for node in self.all:
            node.launch()
        for node in self.all:
            node.wait_until_it_answers()
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.all:
            node.stop()


class Reader:
    """A signed-in user of a node."""

    def __init__(self, node: Server) -> None:
        self.node = node
        cookies = CookieJar()
        self._open = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(cookies)).open
        path = node.way_in()
        with self._open(node.url + path) as answer:
            page = answer.read().decode()
        field = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        form = urllib.parse.urlencode({"csrfmiddlewaretoken": field[1]}).encode()
        request = urllib.request.Request(node.url + path, form, {"Origin": node.url})
        self._open(request).close()
        self.cookie = "; ".join(f"{each.name}={each.value}" for each in cookies)

    def read(self, path, node=None) -> str:
        """Return the HTML of a page at this node, or another."""
        with self._open((node or self.node).url + path) as answer:
            return answer.read().decode()

    def look(self, path="/p/default/live/sessions", node=None) -> Page:
        """Open a page at this node, or another: signed in at one is signed in at all."""
        return Page(node or self.node, self.cookie, path)


class Page:
    """An open page: its socket, and the frames that came, each acknowledged."""

    def __init__(self, node: Server, cookie: str, path: str) -> None:
        self._url = f"ws{node.url.removeprefix('http')}{path}"
        self._options = {"additional_headers": {"Cookie": cookie}, "origin": node.url, "max_size": None}
        self._open = ExitStack()
        self.frames: list[str] = []

    def __enter__(self) -> Page:
        self._socket = self._open.enter_context(connect(self._url, open_timeout=LONGEST_S, **self._options))
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def next(self, wait=LONGEST_S) -> str:
        """Return what the next frame puts into the page; empty ones only say that the line is warm."""
        while True:
            head, _, body = self.receive(wait).partition("-->")
            self.send_frame(json.dumps({"ack": int(head.rsplit(" ", 1)[1])}))
            if body:
                self.frames.append(body)
                return body

    def drain(self) -> None:
        """Acknowledge the frames that have come: a page that is silent for long is dropped."""
        with suppress(TimeoutError):
            while True:
                self.next(0)

    def receive(self, wait=LONGEST_S) -> str:
        return self._socket.recv(timeout=wait)

    def send_frame(self, text) -> None:
        self._socket.send(text)

    def until(self, true, wait=LONGEST_S) -> str:
        """Return the first frame of which something is so."""
        deadline = monotonic() + wait
        while not true(body := self.next(max(0.01, deadline - monotonic()))):
            pass
        return body
