"""Compares the journal with the ledgers of producers: nothing lost, repeated, reordered or altered."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from tests.faults.support import producer_stream
from tests.faults.support.producers import Producer
from tests.support.server import Server
from tests.support.wait import LONGEST_S


@dataclass
class Outcome:
    """Differences between the ledgers and the journal."""

    acks: int = 0
    acknowledged: int = 0
    stored: int = 0
    lost: int = 0
    duplicated: int = 0
    out_of_order: int = 0
    altered: int = 0
    integrity: str = ""
    faults: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        wrong = self.lost + self.duplicated + self.out_of_order + self.altered
        return not wrong and not self.faults and self.integrity.startswith("nothing found")


def compare(server: Server, producers: list[Producer]) -> Outcome:
    """Compare the journal with the ledgers."""
    outcome = Outcome()
    for producer in producers:
        outcome.acks += producer.acks
        outcome.acknowledged += producer.acked + 1
        outcome.faults += producer.faults
        _compare(outcome, producer, list(_stored(server, producer)))
    outcome.integrity = server.manage("check_integrity")
    return outcome


def _compare(outcome: Outcome, producer: Producer, stored: list[tuple[int, dict]]) -> None:
    numbers = [number for number, _ in stored]
    there = set(numbers)
    outcome.stored += len(numbers)
    outcome.lost += sum(number not in there for number in range(producer.acked + 1))
    outcome.duplicated += len(numbers) - len(there)
    outcome.out_of_order += sum(after < before for before, after in pairwise(numbers))
    outcome.altered += sum(
        event != json.loads(producer_stream.nth(producer.name, number)) for number, event in stored
    )
    if there and max(there) > producer.sent:
        outcome.faults.append(f"{producer.name}: {max(there)} is stored, only {producer.sent} was sent")


def _stored(server: Server, producer: Producer) -> Iterator[tuple[int, dict]]:
    """Yield number and content of a producer's stored lines, in recorded order."""
    for session in producer_stream.sessions(producer.name, producer.sent + 1):
        url = f"{server.url}/api/v1/sessions/{session}/events?envelope=1"
        request = urllib.request.Request(url, headers=producer.bearer)
        try:
            with urllib.request.urlopen(request, timeout=LONGEST_S) as answer:
                envelopes = [json.loads(line) for line in answer]
        except urllib.error.HTTPError as error:
            with error:
                if error.code != 404:
                    raise
            return
        for envelope in envelopes:
            assert envelope["producer"] == producer.name, envelope
            yield envelope["seq"], envelope["event"]
