"""Finds what there is to send below the folders of an agent, and says what is left out and why."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from loopscope_client.push.streams import LINE_MAX, FileSource, LostLines, SessionSource, Source
from loopscope_client.transcripts import opencode
from loopscope_client.transcripts.agent_meta import meta_line
from loopscope_client.transcripts.documents import chat_lines
from loopscope_client.transcripts.files import homes, look, producer_name
from loopscope_client.transcripts.lines import prepared, read_line
from loopscope_client.transcripts.open_file import opened

__all__ = ("LINE_MAX", "FileSource", "LostLines", "SessionSource", "Source", "sources")

Skip = Callable[[Path, str], None]
Choose = Callable[[Path], bool]


def ignored(_path: Path, _why: str) -> None:
    """Forget what is left out."""


def every_file(_path: Path) -> bool:
    """Choose each file."""
    return True


def sources(
    agent: str, folder: Path | None, skip: Skip = ignored, choose: Choose = every_file
) -> Iterator[Source]:
    """Yield what an agent has written below a folder, by default its homes; empty files are left out.

    `skip` is called for each file that may be a transcript and is left out. A file that `choose` leaves out
    is not opened.
    """
    found = look(agent, homes(agent) if folder is None else [folder])
    for skipped in found.skipped:
        skip(skipped.path, skipped.why)
    for path in filter(choose, found.paths):
        try:
            yield from _of(agent, path)
        except FileNotFoundError:
            continue  # removed meanwhile
        except OSError as error:
            skip(path, error.strerror or str(error))
        except sqlite3.OperationalError as error:
            if not opencode.is_busy(error):
                skip(path, f"the store cannot be read: {error}")
        except sqlite3.Error as error:
            skip(path, f"the store cannot be read: {error}")


def _of(agent: str, path: Path) -> Iterator[Source]:
    if agent == opencode.AGENT:
        with closing(opencode.opened(path)) as store:
            for session, lines in opencode.sessions(store, with_running=True):
                yield SessionSource(agent, path, opencode.session_producer(session), lines)
    elif path.name.removesuffix(".zst").endswith(".json"):
        lines = chat_lines(path)
        yield SessionSource(agent, path, producer_name(agent, path.name, lines[0]), lines)
    elif first := _first_line(path):
        producer = producer_name(agent, path.name, first)
        yield FileSource(agent, path, producer, meta_line(agent, path, first))


def _first_line(path: Path) -> bytes:
    with opened(path) as file:
        while (raw := read_line(file)) is not None and raw.has_end:
            if lines := prepared(raw):
                return lines[0].sent
    return b""
