"""`manage.py tail FILE|-`: send the lines of a growing file or a pipe, so that no runtime needs a client."""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import sys
from argparse import ArgumentParser
from pathlib import Path
from threading import Event
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from loopscope_client import Client
from loopscope_client.transport.tail import LONGEST, Following
from recorder.ingest.auth import FORMATS
from recorder.operations import server_info

POLL_S, LAST_S = 0.2, 30.0


class _Stopped(Exception):
    """Somebody wants it to end before the file does."""


class Command(BaseCommand):
    """The file itself is the spool: reading waits while the server is away. A pipe is never held up."""

    help = "Send the lines of a growing JSONL file, or of a pipe, as they come."
    requires_system_checks: list[str] = []  # it needs no database, and the server may be on another machine

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Say what it takes."""
        parser.add_argument("file", help="a file that grows, or - for what comes in by a pipe")
        parser.add_argument("--url", default=os.environ.get("LOOPSCOPE_URL"), help="or LOOPSCOPE_URL")
        parser.add_argument("--token", default=os.environ.get("LOOPSCOPE_TOKEN"), help="or LOOPSCOPE_TOKEN")
        parser.add_argument("--producer", help="a name for this stream (default: one of the file's path)")
        parser.add_argument("--format", default="native", choices=FORMATS, help="what the lines are")
        parser.add_argument("--spool", type=Path, help="folder of what waits (default: in the data folder)")
        parser.add_argument("--once", action="store_true", help="stop at the end of the file")
        parser.add_argument(
            "--flush", action="store_true", help="at the end, abort loops that are still open"
        )

    def handle(self, *_: Any, file: str, **options: Any) -> None:
        """Forward until the end, or until told to stop."""
        self._stop, self._is_reading = Event(), False
        previous = {
            number: signal.signal(number, self._stopped) for number in (signal.SIGTERM, signal.SIGINT)
        }
        try:
            client = _client(file, options)
            if file == "-":
                self._pipe(client)
            else:
                self._file(client, Path(file), is_once=options["once"])
            self._end(client, is_done=options["flush"])
        finally:
            for number, action in previous.items():
                signal.signal(number, action)

    def _pipe(self, client: Client) -> None:
        try:
            while line := self._read():
                client.forward(line.strip())
        except KeyboardInterrupt:
            pass

    def _read(self) -> bytes:
        self._is_reading = True
        if self._stop.is_set():
            return b""
        line = sys.stdin.buffer.readline(LONGEST)
        self._is_reading = False
        return line

    def _file(self, client: Client, path: Path, *, is_once: bool) -> None:
        if is_once and not path.exists():
            raise CommandError(f"{path} does not exist")

        def take(line: bytes) -> None:
            if self._stop.is_set():
                raise _Stopped
            while not (client.has_room(len(line)) and client.forward(line)):
                if self._stop.wait(POLL_S):
                    raise _Stopped

        following = Following(path, Path(client.status.spool) / "tail.json", lambda: client.position, take)
        try:
            while not self._stop.is_set():
                if not following.step():
                    if is_once:
                        following.finish()
                        return
                    self._stop.wait(POLL_S)
        except _Stopped:
            pass
        finally:
            following.close()

    def _end(self, client: Client, *, is_done: bool) -> None:
        if is_done:
            client.finish()
        stored = client.close(LAST_S)
        status = client.status
        self.stderr.write(f"{status.sent} lines stored, {status.rejected} rejected")
        if status.rejected:
            self.stderr.write(f"The last one: {status.last_rejection}")
        if status.dropped:
            self.stderr.write(f"Not recorded, the spool was full: {status.dropped}")
        if not stored:
            raise CommandError(f"{status.queued} lines wait in {status.spool}: {status.error}")

    def _stopped(self, _number: int, _frame: FrameType | None) -> None:
        self._stop.set()
        if self._is_reading:  # nothing else wakes it up
            raise KeyboardInterrupt


def _client(file: str, options: dict[str, Any]) -> Client:
    url = options["url"] or server_info.address()
    if not url:
        raise CommandError("Name the server: --url http://127.0.0.1:8000, or LOOPSCOPE_URL.")
    if not options["token"]:
        raise CommandError("A token with the scope ingest is needed: --token, or LOOPSCOPE_TOKEN.")
    is_pipe = file == "-"
    producer = options["producer"] or (None if is_pipe else _name(Path(file)))
    spool = options["spool"] or Path(settings.DATA) / "spool"
    try:
        client = Client(
            url,
            options["token"],
            producer=producer,
            # What a file's lines are numbered by stays with the file: nobody else may send what it left.
            spool=spool if is_pipe else spool / _name(Path(file)),
            format=options["format"],
            first=None if is_pipe else 0,
        )
    except ValueError as error:
        raise CommandError(str(error)) from error
    if not is_pipe and client.status.producer != producer:
        client.close(0)
        raise CommandError(f"{file} is already followed by another process")
    return client


def _name(path: Path) -> str:
    """Return the same name for the same file each time: then its lines have the same numbers."""
    whole = f"{socket.gethostname()}:{path.absolute()}"
    return f"tail-{hashlib.sha256(whole.encode(errors='replace')).hexdigest()[:24]}"
