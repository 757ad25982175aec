"""Counters of this process since its start, in the text format of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from threading import Lock

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(eq=False, slots=True)
class Counter:
    """A number that only increases."""

    name: str
    help: str
    value: int = 0
    _lock: Lock = field(default_factory=Lock)

    def add(self, number: int) -> None:
        with self._lock:
            self.value += number

    def lines(self) -> list[str]:
        return [*_head(self.name, self.help, "counter"), f"{self.name} {self.value}"]


@dataclass(eq=False, slots=True)
class Histogram:
    """Number of durations up to each of the bounds `SECONDS`."""

    name: str
    help: str
    _counts: list[int] = field(default_factory=lambda: [0] * (len(SECONDS) + 1))
    _sum: float = 0.0
    _lock: Lock = field(default_factory=Lock)

    def note(self, seconds: float) -> None:
        with self._lock:
            self._counts[bisect_left(SECONDS, seconds)] += 1
            self._sum += seconds

    def lines(self) -> list[str]:
        with self._lock:
            counts, total = list(accumulate(self._counts)), self._sum
        bounds = [*(f"{bound:g}" for bound in SECONDS), "+Inf"]
        buckets = [
            f'{self.name}_bucket{{le="{bound}"}} {count}' for bound, count in zip(bounds, counts, strict=True)
        ]
        head = _head(self.name, self.help, "histogram")
        return [*head, *buckets, f"{self.name}_sum {total:.6f}", f"{self.name}_count {counts[-1]}"]


ACCEPTED = Counter("loopscope_events_accepted_total", "Lines stored.")
REJECTED = Counter("loopscope_events_rejected_total", "Lines rejected and quarantined.")
DUPLICATES = Counter("loopscope_events_duplicate_total", "Lines that were already stored.")
OTLP_METRICS = Counter("loopscope_otlp_metric_bodies_total", "OTLP metric bodies counted and dropped.")
REDRAWS = Counter("loopscope_redraws_total", "Panels rendered for open pages.")
COMMITS = Histogram("loopscope_commit_seconds", "Time from reading the first line of a group to its commit.")


def gauge(name: str, help_: str, value: float) -> list[str]:
    """Return the lines of a gauge."""
    return [*_head(name, help_, "gauge"), f"{name} {value:g}"]


def text(gauges: Iterable[list[str]]) -> str:
    """Return all metrics of the process, and the given gauges."""
    counted = [each.lines() for each in (ACCEPTED, REJECTED, DUPLICATES, OTLP_METRICS, REDRAWS, COMMITS)]
    return "".join(f"{line}\n" for lines in (*counted, *gauges) for line in lines)


def _head(name: str, help_: str, kind: str) -> list[str]:
    return [f"# HELP {name} {help_}", f"# TYPE {name} {kind}"]
