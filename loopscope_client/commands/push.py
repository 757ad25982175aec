"""`loopscope-push --agent AGENT`: send the transcripts of this computer, each line once.

It looks for transcripts of the named agents only, and lists them and asks before the first upload.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import TextIO
from urllib.parse import urlsplit

from loopscope_client.masking.key_file import VARIABLE, stored_key
from loopscope_client.masking.masker import Masker, MaskingError
from loopscope_client.push import ledger as ledgers
from loopscope_client.push.ledger import Ledger
from loopscope_client.push.send import Pusher, Refused, Unavailable
from loopscope_client.push.sources import LostLines, Source, sources
from loopscope_client.transcripts.files import AGENTS, home

POLL_S = 1.0
LOCAL = frozenset(("127.0.0.1", "localhost", "::1"))
SHOWN = 8  # files of an agent that are listed by name


class PushError(Exception):
    """Nothing could be sent, or not all; the message is printed for the user."""


@dataclass(frozen=True, slots=True)
class Options:
    """Parsed arguments of the command line."""

    agent: list[str] | None
    url: str
    token: str | None
    machine: str
    home: Path | None = None
    state: Path | None = None
    follow: bool = False
    dry_run: bool = False
    yes: bool = False
    insecure: bool = False
    mask: bool = False
    mask_key: str | None = None

    @property
    def agents(self) -> list[str]:
        named = self.agent or []
        return list(AGENTS) if "all" in named else list(dict.fromkeys(named))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    try:
        run(_parsed(arguments), sys.stdin, sys.stderr)
    except PushError as error:
        print(f"loopscope-push: {error}", file=sys.stderr)  # noqa: T201  a command's answer
        return 1
    return 0


def run(options: Options, stdin: TextIO, stderr: TextIO) -> None:
    """Send what there is, and with `follow` what is added, until SIGTERM or SIGINT. Raises PushError."""
    if not options.agents:
        raise PushError(f"name an agent: --agent {'|'.join(AGENTS)}|all. Nothing is looked for without it")
    found = _found(options)
    if options.dry_run:
        _list(found, options, stderr)
        return
    _check(options)
    with _opened(options) as ledger:
        _ask(options, ledger, found, stdin, stderr)
        _send(options, ledger, stderr)


def _parsed(arguments: Sequence[str] | None) -> Options:
    parser = argparse.ArgumentParser(
        "loopscope-push",
        description="Send the transcripts of coding agents on this computer, each line once.",
    )
    add = parser.add_argument
    add("--agent", action="append", choices=(*AGENTS, "all"), help="may be repeated; nothing else is read")
    add("--url", default=os.environ.get("LOOPSCOPE_URL", "http://127.0.0.1:8000"), help="or LOOPSCOPE_URL")
    add("--token", default=os.environ.get("LOOPSCOPE_TOKEN"), help="or LOOPSCOPE_TOKEN; scope ingest")
    add("--machine", default=socket.gethostname(), help="name of this computer (default: its host name)")
    add("--home", type=Path, help="folder of the transcripts, for one agent (default: the agent's own)")
    add("--state", type=Path, help="folder of the ledger (default: LOOPSCOPE_PUSH_STATE or ~/.local/state)")
    when = parser.add_mutually_exclusive_group()
    when.add_argument("--once", action="store_false", dest="follow", help="stop at the end (the default)")
    parser.set_defaults(follow=False)
    when.add_argument("--follow", action="store_true", help="send what is added, until Ctrl-C or SIGTERM")
    add("--dry-run", action="store_true", help="list what would be sent, and stop")
    add("--yes", action="store_true", help="do not ask before the first upload")
    add("--insecure", action="store_true", help="send the token without TLS to another computer")
    add("--mask", action="store_true", help="mask secrets before anything is sent")
    add("--mask-key", help=f"key of the masks, or {VARIABLE} (default: one that is kept beside the ledger)")
    return Options(**vars(parser.parse_args(arguments)))


def _found(options: Options) -> dict[str, list[Source]]:
    if options.home is not None and len(options.agents) > 1:
        raise PushError("--home is for one agent")
    return {agent: list(sources(agent, options.home)) for agent in options.agents}


def _list(found: dict[str, list[Source]], options: Options, stderr: TextIO) -> None:
    _say(stderr, f"To {options.url}, as the computer {options.machine}:")
    for agent, every in found.items():
        by_file: dict[Path, int] = defaultdict(int)
        for source in every:
            by_file[source.path] += 1
        size = sum(path.stat().st_size for path in by_file)
        folder = options.home or home(agent)
        _say(stderr, f"  {agent}: {_number(len(every), 'transcript')}, {_size(size)}, in {folder}")
        newest = sorted(by_file, key=lambda path: path.stat().st_mtime, reverse=True)
        for path in newest[:SHOWN]:
            stat = path.stat()
            changed = datetime.fromtimestamp(stat.st_mtime)  # noqa: DTZ006  local time, for a person
            _say(stderr, f"    {changed:%Y-%m-%d %H:%M}  {_size(stat.st_size):>9}  {path}")
        if len(newest) > SHOWN:
            _say(stderr, f"    and {len(newest) - SHOWN} more")
    _say(stderr, "Transcripts hold prompts, answers, the arguments and results of tools, and paths.")


def _check(options: Options) -> None:
    if options.mask_key is not None and not options.mask:
        raise PushError("--mask-key is for --mask")
    if not options.token:
        raise PushError("a token is missing: --token, or LOOPSCOPE_TOKEN")
    parts = urlsplit(options.url if "//" in options.url else f"http://{options.url}")
    if parts.scheme == "http" and parts.hostname not in LOCAL and not options.insecure:
        raise PushError(
            "the token would be sent without TLS: use https, or --insecure in a network you trust"
        )


@contextmanager
def _opened(options: Options) -> Iterator[Ledger]:
    """Open the ledger. Raises PushError."""
    folder = options.state or ledgers.default_folder()
    try:
        with ledgers.opened(folder, options.url) as ledger:
            yield ledger
    except ledgers.LedgerInUse:
        raise PushError(f"another loopscope-push runs with the ledger in {folder}") from None
    except sqlite3.Error as error:
        raise PushError(f"the ledger in {folder} cannot be used: {error}") from None


def _ask(
    options: Options, ledger: Ledger, found: dict[str, list[Source]], stdin: TextIO, stderr: TextIO
) -> None:
    """Ask before the first upload of an agent's transcripts to a server. Raises PushError."""
    new = [agent for agent in options.agents if not ledger.has_consent(agent)]
    if new and not options.yes:
        _list({agent: found[agent] for agent in new}, options, stderr)
        if not stdin.isatty():
            raise PushError("nothing is sent without consent: run it once in a terminal, or with --yes")
        stderr.write("Send them, and what is added later? [y/N] ")
        stderr.flush()
        if stdin.readline().strip().lower() not in ("y", "yes"):
            raise PushError("nothing was sent")
    for agent in new:
        ledger.note_consent(agent)


def _send(options: Options, ledger: Ledger, stderr: TextIO) -> None:
    stopped = Event()
    before = {name: signal.signal(name, lambda *_: stopped.set()) for name in (signal.SIGINT, signal.SIGTERM)}
    try:
        _until_stopped(options, ledger, stderr, stopped)
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


def _until_stopped(options: Options, ledger: Ledger, stderr: TextIO, stopped: Event) -> None:
    masker = _masker(options)
    pusher = Pusher(options.url, options.token or "", options.machine, ledger, masker)
    seen: dict[Path, tuple[int, int]] = {}
    is_away, skipped = False, 0
    try:
        while not stopped.is_set():
            wait_s = POLL_S
            try:
                skipped += _round(options, pusher, seen, stopped, stderr)
                is_away = False
            except Unavailable as error:
                if not options.follow:
                    raise PushError(f"the server is not available: {error}") from None
                if not is_away:
                    _say(stderr, f"loopscope-push: the server is not available and is tried again: {error}")
                is_away, wait_s = True, error.wait_s
            if not options.follow:
                break
            stopped.wait(wait_s)
    except Refused as error:
        raise PushError(str(error)) from None
    finally:
        pusher.close()
        counts = pusher.counts
        lines, transcripts = _number(counts.lines, "line"), _number(len(counts.files), "transcript")
        rejected = f"; {counts.rejected} rejected" if counts.rejected else ""
        _say(stderr, f"sent {lines} of {transcripts}{rejected}")
    if skipped:
        raise PushError(f"{_number(skipped, 'transcript')} could not be sent")


def _masker(options: Options) -> Masker | None:
    """Return what masks the lines, with the same key at each start. Raises PushError."""
    if not options.mask:
        return None
    key = os.environ.get(VARIABLE) or None if options.mask_key is None else options.mask_key
    try:
        return Masker(stored_key(options.state or ledgers.default_folder()) if key is None else key)
    except (OSError, ValueError) as error:
        raise PushError(f"there is no key of masks: {error}") from None


def _round(
    options: Options, pusher: Pusher, seen: dict[Path, tuple[int, int]], stopped: Event, stderr: TextIO
) -> int:
    """Send what is new in files that changed since the last round; return how many could not be sent."""
    skipped = 0
    for agent in options.agents:
        for source in _changed(sources(agent, options.home), seen):
            state = _state(source.path)
            try:
                pusher.push(source, stopped.is_set)
            except FileNotFoundError:
                pass  # removed meanwhile
            except (LostLines, MaskingError, OSError) as error:
                skipped += 1
                _say(stderr, f"loopscope-push: {source.path} is left out until it changes: {error}")
            if stopped.is_set():
                return skipped
            seen[source.path] = state
    return skipped


def _changed(every: Iterable[Source], seen: dict[Path, tuple[int, int]]) -> Iterable[Source]:
    before = dict(seen)
    return (source for source in every if before.get(source.path) != _state(source.path))


def _state(path: Path) -> tuple[int, int]:
    """Return what changes when a file does, the write-ahead log of a store included."""
    sizes = changed = 0
    for each in (path, path.with_name(f"{path.name}-wal")):
        with suppress(OSError):
            stat = each.stat()
            sizes, changed = sizes + stat.st_size, max(changed, stat.st_mtime_ns)
    return sizes, changed


def _number(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _size(number: int) -> str:
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:,.0f} {unit}"
        number //= 1000
    return f"{number:,.0f} GB"


def _say(stderr: TextIO, text: str) -> None:
    stderr.write(f"{text}\n")
    stderr.flush()
