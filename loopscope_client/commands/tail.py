"""`loopscope-tail FILE|-`: send the lines of a growing file or of a pipe, for runtimes without a client.

Reading a file waits while the server is away. Reading a pipe never waits; its lines wait in the client's
spool.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from types import FrameType
from typing import TextIO

from loopscope_client.client import Client
from loopscope_client.commands.number import number
from loopscope_client.masking.key_file import VARIABLE, stored_key
from loopscope_client.masking.masker import Masker, MaskingError
from loopscope_client.transcripts.visible import visible
from loopscope_client.transport import spool_folders
from loopscope_client.transport.tail import LONGEST, FileFollower

POLL_S, LAST_S = 0.2, 30.0
FORMAT = re.compile(r"[a-z][a-z0-9-]*")


class TailError(Exception):
    """Lines could not be sent; the message is printed for the user."""


class _Stopped(Exception):
    """A signal came before the end of the file."""


@dataclass(frozen=True, slots=True)
class Options:
    """Parsed arguments of the command line."""

    file: str  # "-" for standard input
    url: str | None
    token: str | None
    producer: str | None = None
    format: str = "native"
    spool: Path | None = None
    once: bool = False
    flush: bool = False
    mask: bool = False
    mask_key: str | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments; their names are the fields of `Options`."""
    parser.add_argument("file", help="a file that grows, or - for standard input")
    parser.add_argument("--url", default=os.environ.get("LOOPSCOPE_URL"), help="or LOOPSCOPE_URL")
    parser.add_argument("--token", default=os.environ.get("LOOPSCOPE_TOKEN"), help="or LOOPSCOPE_TOKEN")
    parser.add_argument("--producer", help="a name for this stream (default: one made from the file's path)")
    parser.add_argument(
        "--format", default="native", type=_format, help="format of the lines (default native)"
    )
    parser.add_argument("--spool", type=Path, help="folder of lines that wait (default: one per user)")
    parser.add_argument("--once", action="store_true", help="stop at the end of the file")
    parser.add_argument("--flush", action="store_true", help="at the end, abort loops that are still open")
    parser.add_argument("--mask", action="store_true", help="mask secrets before anything is kept or sent")
    parser.add_argument(
        "--mask-key",
        help=f"key of the masks, or {VARIABLE} (default: one kept in the spool's folder)",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(
        "loopscope-tail", description="Send the lines of a growing JSONL file, or of a pipe, as they come."
    )
    add_arguments(parser)
    try:
        run(Options(**vars(parser.parse_args(arguments))), sys.stderr)
    except TailError as error:
        print(f"loopscope-tail: {error}", file=sys.stderr)  # noqa: T201  a command's answer
        return 1
    return 0


def run(options: Options, stderr: TextIO) -> None:
    """Send lines until the end of the input, SIGTERM or SIGINT.

    Must run in the main thread, because it replaces signal handlers while it runs. Raises TailError when the
    options are invalid, when the server rejected lines, or when lines are left that are not stored 30 s after
    the end.
    """
    tail = _Tail(stderr)
    with tail.stopped_by_signals():
        key = _mask_key(options)
        client = _client(options, key)
        if options.file == "-":
            tail.pipe(client)
        else:
            masker = None if key is None else Masker(key)
            tail.file(client, Path(options.file), masker, is_once=options.once)
        tail.end(client, is_done=options.flush)


class _Tail:
    """One run of the command and its stop flag."""

    def __init__(self, stderr: TextIO) -> None:
        self._stderr = stderr
        self._stop, self._is_reading = Event(), False
        self._reported = ""

    @contextmanager
    def stopped_by_signals(self) -> Iterator[None]:
        previous = {
            number: signal.signal(number, self._stopped) for number in (signal.SIGTERM, signal.SIGINT)
        }
        try:
            yield
        finally:
            for number, action in previous.items():
                signal.signal(number, action)

    def pipe(self, client: Client) -> None:
        try:
            while line := self._read():
                client.forward(line.strip())
        except KeyboardInterrupt:
            pass

    def file(self, client: Client, path: Path, masker: Masker | None, *, is_once: bool) -> None:
        if is_once and not path.exists():
            raise TailError(f"{path} does not exist")

        def take(line: bytes) -> None:
            self._take(client, line if masker is None else _masked(masker, line, client.position))

        follower = FileFollower(path, Path(client.status.spool) / "tail.json", lambda: client.position, take)
        try:
            while not self._stop.is_set():
                if not follower.step():
                    if is_once:
                        follower.finish()
                        return
                    self._report_error(client)
                    self._stop.wait(POLL_S)
        except _Stopped:
            pass
        finally:
            follower.close()

    def end(self, client: Client, *, is_done: bool) -> None:
        if is_done:
            client.finish()
        stored = client.close(LAST_S)
        status = client.status
        self._print(f"{number(status.sent, 'line')} stored, {status.rejected} rejected")
        if status.rejected:
            self._print(f"The last one: {visible(status.last_rejection)}")
        if status.dropped:
            self._print(f"Not recorded, the spool was full: {status.dropped}")
        if not stored:
            waiting = f"{number(status.queued, 'line')} {'waits' if status.queued == 1 else 'wait'}"
            raise TailError(f"{waiting} in {status.spool}: {status.error}")
        if status.rejected:
            raise TailError(
                f"the server rejected {number(status.rejected, 'line')}; its page Integrity names them"
            )

    def _take(self, client: Client, line: bytes) -> None:
        if self._stop.is_set():
            raise _Stopped
        while not (client.has_room(len(line)) and client.forward(line)):
            if self._stop.wait(POLL_S):
                raise _Stopped

    def _read(self) -> bytes:
        self._is_reading = True
        if self._stop.is_set():
            return b""
        line = sys.stdin.buffer.readline(LONGEST)
        self._is_reading = False
        return line

    def _report_error(self, client: Client) -> None:
        """Print once why lines wait; the file may be followed for days."""
        error = client.status.error
        if error and error != self._reported:
            self._print(f"Lines wait: {error}")
        self._reported = error

    def _print(self, text: str) -> None:
        self._stderr.write(f"{text}\n")
        self._stderr.flush()

    def _stopped(self, _number: int, _frame: FrameType | None) -> None:
        self._stop.set()
        if self._is_reading:  # nothing else interrupts a blocking read
            raise KeyboardInterrupt


def _mask_key(options: Options) -> bytes | str | None:
    """Return the key of masks, the same at each start; None without masking. Raises TailError."""
    if not options.mask:
        if options.mask_key is not None:
            raise TailError("--mask-key is for --mask")
        return None
    key = os.environ.get(VARIABLE) or None if options.mask_key is None else options.mask_key
    if key == "":
        raise TailError("the key of masks is empty")
    try:
        return stored_key(_root(options)) if key is None else key
    except (OSError, ValueError) as error:
        raise TailError(f"there is no key of masks: {error}") from None


def _masked(masker: Masker, line: bytes, position: int) -> bytes:
    """Return a line of a file masked. Raises TailError if it cannot be.

    The client would drop the line, and those after it had other numbers than their places in the file.
    """
    try:
        return masker.line(line)
    except MaskingError as error:
        raise TailError(f"the line after {position} others is not sent: {error}") from None


def _client(options: Options, key: bytes | str | None) -> Client:
    if not options.url:
        raise TailError("Name the server: --url http://127.0.0.1:8000, or LOOPSCOPE_URL.")
    if not options.token:
        raise TailError("A token with the scope ingest is needed: --token, or LOOPSCOPE_TOKEN.")
    is_pipe = options.file == "-"
    producer = options.producer or (None if is_pipe else _name(Path(options.file)))
    try:
        client = Client(
            options.url,
            options.token,
            producer=producer,
            spool=_spool(options),
            format=options.format,
            first=None if is_pipe else 0,
            mask=is_pipe and key is not None,
            mask_key=key,
        )
    except ValueError as error:
        raise TailError(str(error)) from error
    if not is_pipe and client.status.producer != producer:
        client.close(0)
        raise TailError(f"{options.file} is already followed by another process")
    return client


def _spool(options: Options) -> Path | None:
    """Return the folder of lines that wait, None for the client's default.

    The lines of a file are numbered by their place in it, so each file has a spool of its own: another
    program must not send what is left there under other numbers.
    """
    return options.spool if options.file == "-" else _root(options) / _name(Path(options.file))


def _root(options: Options) -> Path:
    try:
        return options.spool or spool_folders.default_root(options.url or "", options.token or "")
    except RuntimeError as error:  # the user has no home
        raise TailError(f"Name a folder with --spool: {error}") from error


def _name(path: Path) -> str:
    """Return the same name for the same file each time: then its lines have the same numbers."""
    whole = f"{socket.gethostname()}:{path.absolute()}"
    return f"tail-{hashlib.sha256(whole.encode(errors='replace')).hexdigest()[:24]}"


def _format(name: str) -> str:
    if not FORMAT.fullmatch(name):
        raise argparse.ArgumentTypeError(f"{name!r} is not the name of a format")
    return name


if __name__ == "__main__":
    sys.exit(main())
