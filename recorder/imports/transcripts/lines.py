"""The lines of a transcript, with the numbers that they also have when they are sent."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from loopscope_client.transcripts.agent_meta import meta_line
from loopscope_client.transcripts.bad_lines import is_object
from loopscope_client.transcripts.documents import chat_lines
from loopscope_client.transcripts.lines import is_blank, prepared, read_line
from loopscope_client.transcripts.long_lines import cut
from recorder.imports.gzip_file import OverBoundError, opened
from recorder.imports.overlap import Numbered

OnRead = Callable[[int], None]


@dataclass(slots=True)
class Transcript:
    """A file of a coding agent; reading it fills in what was found."""

    form: str
    path: Path
    part_of_line: int | None = None  # number of a last line that its agent is writing
    damage: str = ""  # why reading ended early
    first: bytes = field(init=False)  # line, after which the producer is named; b"": none
    head: bytes = field(init=False)  # line before it that another file holds; b"": none

    def __post_init__(self) -> None:
        self.first = next((line for _, line in self._read(_ignored)), b"")
        self.head = meta_line(self.form, self.path, self.first) if self.first else b""

    def lines(self, on_read: OnRead | None = None, *, with_head: bool) -> Iterator[Numbered]:
        """Yield the lines, each with the number of its line in the file. Raises OSError."""
        if self.head and with_head:
            yield 0, self.head
        yield from self._read(on_read or _ignored)

    def _read(self, on_read: OnRead) -> Iterator[Numbered]:
        self.part_of_line, self.damage = None, ""
        if self.path.name.removesuffix(".zst").endswith(".json"):
            yield from enumerate(map(cut, chat_lines(self.path)), 1)
            return
        number = 0
        try:
            with opened(self.path) as file:
                for number, line in self._of(file, on_read):
                    yield number, line
        except OverBoundError as error:
            self.damage = f"{error}; the lines up to {number} are imported, decompress the file for the rest"
        except (EOFError, zlib.error) as error:
            self.damage = (
                f"the compressed data is damaged or cut off after line {number} ({error}); "
                "everything before it is imported; compress the file again for the rest"
            )

    def _of(self, file: BinaryIO, on_read: OnRead) -> Iterator[Numbered]:
        number = 0
        while (raw := read_line(file)) is not None:
            number += 1
            on_read(raw.length)
            if not raw.has_end and not is_blank(raw.text) and not is_object(raw.text):
                self.part_of_line = number
                return
            for line in prepared(raw):
                yield number, line.sent


def _ignored(_size: int) -> None:
    pass
