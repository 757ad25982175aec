"""A batch of lines for the journal, its receipt, and the errors that refuse it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from io import BytesIO
from typing import Literal, NamedTuple

from recorder.core.changes import Change
from recorder.core.events import Event, Unread
from recorder.core.formats import InvalidLineError, ParsedLine
from recorder.core.recorder import JournalLine, Recorder
from recorder.core.records import Origin
from recorder.core.sources import OTLP
from recorder.database.sql import Value
from recorder.journal.delta.dedup_window import Window


def _now() -> datetime:
    return datetime.now(UTC)


class Received(NamedTuple):
    """The fingerprint by which a line is recognised as it was received, before masking changed it."""

    fingerprint: bytes
    original: bytes  # keyed hash, which is stored
    line: bytes  # itself, in memory only


@dataclass(frozen=True, slots=True)
class Batch:
    """Lines of one producer, in order.

    Without `producer` one is created; without `first` the lines get the next free numbers.
    """

    project: int
    producer: str | None
    first: int | None
    lines: list[bytes]
    format: str = "native"
    is_demo: bool = False
    flush: bool = False  # the end of the producer's stream: its open loops are aborted
    claim: bool = False  # a connection takes the producer over from any other
    epoch: int | None = None  # of the connection that sent it; None without fencing
    token: int = 0  # the access token that sent it
    address: str = ""  # from which it was sent
    may_wait: bool = False  # spans that cannot be rejected: they may be read after the acknowledgement
    waited: int = 0  # primary key of its row, if it was acknowledged before
    machine: str = ""  # name of the sender's computer; the first batch of a producer sets it
    received_at: datetime = field(default_factory=_now)
    received: Mapping[int, Received] = field(default_factory=dict)  # by place: of lines that masking changed

    @property
    def size(self) -> int:
        return sum(map(len, self.lines))

    def parts(self, size: int) -> Iterator[Batch]:
        """Yield the batch in parts of about `size` bytes, to be written in order.

        It stays whole if its producer is not known yet, or is claimed; so do spans, which are read together.
        """
        at = held = 0
        is_whole = self.producer is None or self.claim or self.format == OTLP
        for end, line in enumerate(() if is_whole else self.lines[:-1], 1):
            held += len(line)
            if held >= size:
                yield self._part(at, end, flush=False)
                at, held = end, 0
        yield self._part(at, len(self.lines), flush=self.flush) if at else self

    def _part(self, start: int, end: int, *, flush: bool) -> Batch:
        first = None if self.first is None else self.first + start
        return replace(self, first=first, lines=self.lines[start:end], flush=flush)


def lines_of(body: bytes | BytesIO) -> list[bytes]:
    """Return the lines of a body, or of the rest of it, without blank ones."""
    # Reading lines takes half as long as `split`.
    file = BytesIO(body) if isinstance(body, bytes) else body
    return [line for each in file if (line := each.rstrip(b"\n")).strip(b" \t\r")]


@dataclass(frozen=True, slots=True)
class Read:
    """A batch and its parsed lines, or the errors that reject them."""

    batch: Batch
    parsed: Sequence[ParsedLine | InvalidLineError]

    @property
    def is_spans(self) -> bool:
        """Return whether these are spans, and none on which our code raised."""
        return self.batch.format == OTLP and not any(isinstance(each, Unread) for each in self.parsed[:1])


@dataclass(frozen=True, slots=True)
class Sender:
    """The producer of a batch: what all its lines have in common, in their rows and for the recorder."""

    key: int  # the producer's
    received_at: datetime
    stamp: Value  # the same as its column holds it
    source: str
    is_demo: bool
    window: Window
    written: dict[int, bytes]  # by number: lines of the transaction

    def line(self, line: int, event: Event, origin: Origin = "") -> JournalLine:
        return JournalLine(line, self.key, self.received_at, self.source, event, self.is_demo, origin)


@dataclass(slots=True)
class Appended:
    """The new lines of one batch, for the recorder, and the receipt for its producer."""

    producer: int
    receipt: Receipt
    lines: list[JournalLine]
    received_at: datetime
    flush: int = 0  # the journal id of its flush
    is_settled: bool = False  # the flush may have changed records of other producers

    def feed(self, recorder: Recorder) -> list[Change]:
        changes = recorder.feed(*self.lines)
        if self.flush:
            changes += recorder.end_of_stream(self.producer, self.received_at, self.flush)
        return changes


@dataclass(frozen=True, slots=True)
class Dropped:
    """A line of a deleted session: acknowledged, and not recorded."""

    deletion: int


@dataclass(slots=True)
class AppendedLines:
    """The new lines of a batch: how many were stored, repeated or dropped; `lines` are for the recorder."""

    accepted: int = 0
    repeated: int = 0  # such lines use up no number
    dropped: int = 0
    lines: list[JournalLine] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A rejected line; its number is used up."""

    seq: int
    code: str
    path: str
    message: str

    @classmethod
    def unread(cls, seq: int, traceback: str) -> Rejected:
        """Return the message for a line that is stored unparsed because a bug of the recorder broke on it."""
        message = f"a bug of ours, traceback {traceback}: the line may be right, and is kept"
        return cls(seq, "our_bug", "", message)

    def fields(self) -> dict[str, object]:
        """Return the fields as the protocol names them. `asdict` takes ten times as long."""
        return {"seq": self.seq, "code": self.code, "path": self.path, "message": self.message}


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of a durable batch. `upto` is the producer's high water."""

    producer: str
    upto: int
    accepted: int = 0
    duplicates: int = 0
    rejected: list[Rejected] = field(default_factory=list)
    is_unread: bool = False  # durable, and read later
    dropped: int = 0  # lines of deleted sessions

    def fields(self) -> dict[str, object]:
        """Return the fields as the protocol names them; `dropped` is one of ours, and rare."""
        return {
            "producer": self.producer,
            "upto": self.upto,
            "accepted": self.accepted,
            "duplicates": self.duplicates,
            "rejected": [each.fields() for each in self.rejected],
            **({"dropped": self.dropped} if self.dropped else {}),
        }

    def followed_by(self, rest: Receipt) -> Receipt:
        """Return one receipt for a batch that was written in two parts."""
        return replace(
            rest,
            accepted=self.accepted + rest.accepted,
            duplicates=self.duplicates + rest.duplicates,
            dropped=self.dropped + rest.dropped,
            rejected=[*self.rejected, *rest.rejected],
        )


@dataclass(frozen=True, slots=True)
class Claimed(Receipt):
    """A connection has claimed the producer: older connections are refused by its epoch."""

    key: int = 0  # the producer's primary key
    epoch: int = 0


class Superseded(Exception):
    """A newer connection, here or on another node, has claimed the producer. Nothing is stored."""


class Mixed(Exception):
    """The producer's lines are of another format. Nothing of the batch is stored."""

    def __init__(self, producer: str, known: str, given: str) -> None:
        super().__init__(
            f"the producer {producer} sends {known} lines; {given} lines need a producer of their own"
        )


class Gap(Exception):
    """The batch begins too high: lines from `from_` on are missing. Nothing of it is stored."""

    def __init__(self, from_: int) -> None:
        super().__init__(from_)
        self.from_ = from_


class Closed(Exception):
    """The project is archived or deleted. Nothing of the batch is stored."""

    def __init__(self, code: Literal["archived", "deleted"]) -> None:
        super().__init__(f"the project is {code}: nothing is recorded")
        self.code = code


Unstored = Gap | Superseded | Mixed | Closed
