"""`loopscope-push --agent AGENT`: send the transcripts of this computer, each line once.

It looks for transcripts of the named agents only, and lists them and asks before the first upload.
"""

from __future__ import annotations

import argparse
import os
import socket
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO
from urllib.parse import urlsplit

from loopscope_client.commands.last_round import Stop, TimeIsUpError, stopped_by_signals
from loopscope_client.commands.listing import Skipped, say, show, state_of
from loopscope_client.commands.number import number
from loopscope_client.masking.key_file import VARIABLE, stored_key
from loopscope_client.masking.masker import Masker, MaskingError
from loopscope_client.push import ledger as ledgers
from loopscope_client.push.ledger import Ledger
from loopscope_client.push.send import Counts, Pusher, Refused, SourceRefused, Unavailable
from loopscope_client.push.sources import sources
from loopscope_client.push.streams import LostLines
from loopscope_client.transcripts.files import AGENTS, home
from loopscope_client.transcripts.visible import visible

POLL_S = 1.0
LOCAL = frozenset(("127.0.0.1", "localhost", "::1"))


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
        print(visible(f"loopscope-push: {error}"), file=sys.stderr)  # noqa: T201  a command's answer
        return 1
    return 0


def run(options: Options, stdin: TextIO, stderr: TextIO) -> None:
    """Send what there is, and with `follow` what is added, until SIGTERM or SIGINT. Raises PushError."""
    if not options.agents:
        raise PushError(f"name an agent: --agent {'|'.join(AGENTS)}|all. Nothing is looked for without it")
    if options.home is not None and len(options.agents) > 1:
        raise PushError("--home is for one agent")
    _check_url(options)
    skipped = Skipped(stderr)
    if options.dry_run:
        _show(options, options.agents, skipped, stderr)
        _check_skipped(skipped)
        return
    _check(options)
    with _opened(options) as ledger:
        _ask(options, ledger, skipped, stdin, stderr)
        _send(options, ledger, skipped, stderr)


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


def _show(options: Options, agents: list[str], skipped: Skipped, stderr: TextIO) -> None:
    say(stderr, f"To {options.url}, as the computer {options.machine}:")
    for agent in agents:
        show(agent, options.home, skipped, stderr)
    say(stderr, "Transcripts hold prompts, answers, the arguments and results of tools, and paths.")


def _check_skipped(skipped: Skipped) -> None:
    if skipped.files:
        raise PushError(f"{number(len(skipped.files), 'transcript')} could not be sent")


def _check_url(options: Options) -> None:
    try:
        parts = urlsplit(options.url if "//" in options.url else f"http://{options.url}")
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_url = False
    if not is_url:
        raise PushError(f"{options.url} is not a URL such as https://loopscope.example")


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
    with ExitStack() as stack:
        try:
            ledger = stack.enter_context(ledgers.opened(folder, options.url))
        except ledgers.LedgerInUse:
            raise PushError(f"another loopscope-push runs with the ledger in {folder}") from None
        except (sqlite3.Error, OSError) as error:
            raise PushError(f"the ledger in {folder} cannot be used: {error}") from None
        yield ledger


def _ask(options: Options, ledger: Ledger, skipped: Skipped, stdin: TextIO, stderr: TextIO) -> None:
    """Ask before the first upload of an agent's transcripts to a server. Raises PushError.

    The consent is for the folder that was listed, and for the project of the token.
    """
    folders = {agent: options.home or home(agent) for agent in options.agents}
    token = options.token or ""
    new = [agent for agent in options.agents if not ledger.has_consent(agent, folders[agent], token)]
    if new and not options.yes:
        _show(options, new, skipped, stderr)
        if not stdin.isatty():
            raise PushError("nothing is sent without consent: run it once in a terminal, or with --yes")
        stderr.write("Send them, and what is added later? [y/N] ")
        stderr.flush()
        if stdin.readline().strip().lower() not in ("y", "yes"):
            raise PushError("nothing was sent")
    for agent in new:
        ledger.note_consent(agent, folders[agent], token)


def _send(options: Options, ledger: Ledger, skipped: Skipped, stderr: TextIO) -> None:
    """Send until the end or a signal, and print what was sent. Raises PushError."""
    pusher = Pusher(options.url, options.token or "", options.machine, ledger, _masker(options))
    with stopped_by_signals() as stop:
        try:
            with suppress(TimeIsUpError):
                _until_stopped(options, pusher, skipped, stderr, stop)
        except Refused as error:
            raise PushError(str(error)) from None
        finally:
            stop.end()
            pusher.close()
            counts = pusher.counts
            _say_news(counts, stderr)
            lines, transcripts = number(counts.lines, "line"), number(len(counts.files), "transcript")
            rejected = f"; {counts.rejected} rejected" if counts.rejected else ""
            say(stderr, f"sent {lines} of {transcripts}{rejected}")
    _check_skipped(skipped)
    if pusher.counts.rejected:
        raise PushError(
            f"the server rejected {number(pusher.counts.rejected, 'line')}; its page Integrity names them"
        )


def _until_stopped(options: Options, pusher: Pusher, skipped: Skipped, stderr: TextIO, stop: Stop) -> None:
    """Send what there is, and with `follow` round by round; a round begins behind the signal that stops it.

    Without `follow` the signal ends the only round behind the request under way. Raises PushError, Refused
    or TimeIsUpError.
    """
    seen: dict[Path, tuple[int, int]] = {}
    is_away = False
    while True:
        is_last, wait_s = not options.follow or stop.is_set(), POLL_S
        try:
            _round(options, pusher, seen, _never if options.follow else stop.is_set, skipped)
            is_away = False
        except Unavailable as error:
            if not options.follow:
                raise PushError(f"the server is not available: {error}") from None
            if not is_away:
                say(stderr, f"loopscope-push: the server is not available and is tried again: {error}")
            is_away, wait_s = True, error.wait_s
        _say_news(pusher.counts, stderr)
        if is_last:
            return
        stop.wait(wait_s)


def _never() -> bool:
    return False


def _say_news(counts: Counts, stderr: TextIO) -> None:
    """Print what was rejected, and what was found to be written anew, since the last time."""
    for problem in counts.problems:
        say(stderr, f"loopscope-push: {problem}")
    for path, lines in counts.anew.items():
        new = f"{number(lines, 'line')} of it {'is' if lines == 1 else 'are'} new"
        say(stderr, f"loopscope-push: {path} was written anew: {new}; what was sent before stays recorded")
    counts.problems.clear()
    counts.anew.clear()


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
    options: Options,
    pusher: Pusher,
    seen: dict[Path, tuple[int, int]],
    should_stop: Callable[[], bool],
    skipped: Skipped,
) -> None:
    """Send what is new in files that changed since the last round.

    A store has many sources: what was seen of it counts when all of them were sent.
    """
    for agent in options.agents:
        looked_at: dict[Path, tuple[int, int]] = {}
        for source in sources(agent, options.home, skipped.add, _Changed(seen, looked_at)):
            try:
                pusher.push(source, should_stop)
            except FileNotFoundError:
                pass  # removed meanwhile
            except (LostLines, SourceRefused, MaskingError, OSError) as error:
                skipped.add(source.path, str(error))
            if should_stop():
                return
        seen.update(looked_at)


@dataclass(frozen=True, slots=True)
class _Changed:
    """A check whether a file changed since it was sent; notes its state before it is read."""

    seen: dict[Path, tuple[int, int]]
    looked_at: dict[Path, tuple[int, int]]

    def __call__(self, path: Path) -> bool:
        self.looked_at[path] = state_of(path)
        return self.seen.get(path) != self.looked_at[path]
