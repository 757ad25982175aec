"""Reads the output of `strace -f -y`: whether each acknowledgement was sent after its events were synced.

Between the write of an event to SQLite's write-ahead log and the write of its acknowledgement to a socket
there must be an fdatasync of that log which began after the first and returned before the second.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

CALL = re.compile(r"(?P<pid>\d+) +(?P<name>\w+)\((?P<fd>\d+<[^>]*>+)(?P<rest>.*)")
RESUMED = re.compile(r"(?P<pid>\d+) +<\.\.\. (?P<name>\w+) resumed>(?P<rest>.*)")
MARK = re.compile(
    r"<([A-Za-z]\w*):(\d+)>"
)  # as `tests/faults/support/producer_stream.py` puts one into each line
WELCOME = re.compile(r'\\"op\\":\\"welcome\\".*?\\"producer\\":\\"(\w+)\\"')
ACK = re.compile(r'\\"op\\":\\"ack\\",\\"upto\\":(-?\d+)')
RECEIPT = re.compile(r'\{\\"producer\\":\\"(\w+)\\",\\"upto\\":(-?\d+)')

WRITES = {"pwrite64", "write", "writev", "pwritev", "send", "sendto", "sendmsg"}
SYNCS = {"fdatasync", "fsync"}
TRACED = ",".join(sorted(WRITES | SYNCS))


@dataclass
class Order:
    """The calls so far, and the violations."""

    acks: int = 0
    events: int = 0
    syncs: int = 0
    violations: list[str] = field(default_factory=list)
    _written: set[tuple[str, int]] = field(default_factory=set)  # and not yet synced
    _syncing: dict[str, set[tuple[str, int]]] = field(default_factory=dict)  # by thread
    _durable: set[tuple[str, int]] = field(default_factory=set)
    _upto: dict[str, int] = field(default_factory=dict)
    _producer_at: dict[str, str] = field(default_factory=dict)  # by socket

    def read(self, lines: Iterable[str]) -> Order:
        """Read the lines of a trace."""
        for line in lines:
            if call := CALL.match(line):
                self._begin(call["pid"], call["name"], call["fd"], call["rest"])
            elif (call := RESUMED.match(line)) and call["name"] in SYNCS:
                self._synced(call["pid"], call["rest"])
        return self

    def _begin(self, pid: str, name: str, fd: str, rest: str) -> None:
        if fd.endswith("-wal>"):
            if name in WRITES:
                self._written |= {(mark[1], int(mark[2])) for mark in MARK.finditer(rest)} - self._durable
            elif name in SYNCS:
                self._syncing[pid] = set(self._written)
                if "<unfinished" not in rest:
                    self._synced(pid, rest)
        elif name in WRITES:
            self._replied(fd, rest)

    def _synced(self, pid: str, rest: str) -> None:
        synced = self._syncing.pop(pid, None)
        if synced is None or not rest.rstrip().endswith("= 0"):
            return
        self.syncs += 1
        self._durable |= synced
        self._written -= synced
        self.events = len(self._durable)

    def _replied(self, fd: str, rest: str) -> None:
        if welcome := WELCOME.search(rest):
            self._producer_at[fd] = welcome[1]
        for receipt in RECEIPT.finditer(rest):
            self._acknowledged(receipt[1], int(receipt[2]))
        for ack in ACK.finditer(rest):
            self._acknowledged(self._producer_at.get(fd, "of no welcome"), int(ack[1]))

    def _acknowledged(self, producer: str, upto: int) -> None:
        self.acks += 1
        first = self._upto.get(producer, -1) + 1
        early = [number for number in range(first, upto + 1) if (producer, number) not in self._durable]
        if early:
            self.violations.append(f"{producer}: {early[0]} of {upto} acknowledged before it was synced")
        self._upto[producer] = max(self._upto.get(producer, -1), upto)
