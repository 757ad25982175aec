"""The open streams of one loop, and the text by which they are kept between transactions."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from recorder.masking.streams.partial import Partial
from recorder.masking.streams.stream import Stream

STREAMS_MAX = 64  # of a loop; the text of more is not stored in its deltas
REPORTS_MAX = 128  # texts of running calls of a loop; beyond that the oldest is forgotten
_LOST = "lost"  # all streams of a loop whose state cannot be read


@dataclass(slots=True)
class LoopStreams:
    """The open streams of a loop by name, those of its running calls, and what became of its row."""

    streams: dict[str, Stream] = field(default_factory=dict)
    reports: dict[tuple[str, str], Partial] = field(default_factory=dict)  # by call and place
    is_stored: bool = False
    is_changed: bool = False

    def __bool__(self) -> bool:
        """Return whether anything is open."""
        return bool(self.streams or self.reports)

    def end(self) -> None:
        """End the streams of a message."""
        if self.streams:
            self.streams, self.is_changed = {}, True

    def end_reports(self, call: str | None = None) -> None:
        """End those of a call, or all."""
        left = {} if call is None else {key: each for key, each in self.reports.items() if key[0] != call}
        if len(left) < len(self.reports):
            self.reports, self.is_changed = left, True

    def report(self, call: str, place: str) -> Partial:
        """Return the stream of a text that a call reports, as the one that was used last."""
        self.is_changed = True
        found = self.reports.pop((call, place), None) or Partial()
        if len(self.reports) >= REPORTS_MAX:
            del self.reports[next(iter(self.reports))]
        self.reports[call, place] = found
        return found

    def stream(self, name: str) -> Stream:
        self.is_changed = True
        found = self.streams.get(name)
        if found is None:
            if len(self.streams) >= STREAMS_MAX or _LOST in self.streams:
                return Stream(dropped="all")
            found = self.streams[name] = Stream()
        return found

    def open(self, content: bytes | None) -> None:
        """Take what `dump` returned; None if it cannot be read, as the installation's key has changed."""
        if content is None:
            self.streams = {_LOST: Stream(dropped="all")}
            return
        found = json.loads(content)
        if isinstance(found, list):  # as releases before reports were masked wrote it
            found = {"streams": found, "reports": []}
        self.streams = {name: _stream(*each) for name, *each in found["streams"]}
        self.reports = {
            (call, place): Partial(_stream(*each), size, edges.encode("latin-1"), is_plain)
            for call, place, size, edges, is_plain, *each in found["reports"]
        }

    def dump(self) -> bytes:
        """Return all that is open, in clear text: to be sealed."""
        found = {
            "streams": [[name, *_fields(each)] for name, each in self.streams.items()],
            "reports": [
                [*key, each.size, each.edges.decode("latin-1"), each.is_plain, *_fields(each.stream)]
                for key, each in self.reports.items()
            ],
        }
        return json.dumps(found, separators=(",", ":"), ensure_ascii=False).encode(errors="surrogatepass")


def _fields(stream: Stream) -> tuple[str, str, str]:
    return stream.context.decode("latin-1"), stream.held.decode("latin-1"), stream.dropped


def _stream(context: str, held: str, dropped: str) -> Stream:
    return Stream(context.encode("latin-1"), held.encode("latin-1"), dropped)
