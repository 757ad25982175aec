"""Requests counted by classes of cost, to find the few that make most of a cost without reading all. Pure.

A class spans a quarter of a doubling: its requests differ by at most 25 %. Its name has three digits, so that
names sort as costs do. Cost: one step a class, of which there are at most 252.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

PERCENT = 90  # of the cost, that the few make
_STEPS = 4  # classes a doubling


class CostClass(NamedTuple):
    """The requests of one class: how many, and what they cost in nano-dollars."""

    name: str
    calls: int
    nano: int


class Few(NamedTuple):
    """The dearest requests that make `PERCENT` of a cost: `least` to `most` of them.

    The class in which the sum is reached is the cheapest that they are of.
    """

    least: int
    most: int
    cheapest: str


class Reading(NamedTuple):
    """The requests of a class and all dearer ones; `is_cut` says that they are too many to read them all."""

    cheapest: str
    is_cut: bool


def class_of(cost_nano: int) -> str:
    """Return the class of a cost above 0."""
    doublings = cost_nano.bit_length() - 1
    return f"{_STEPS * doublings + (cost_nano * _STEPS >> doublings) - _STEPS:03d}"


def least_of(name: str) -> int:
    """Return the least cost of a class, in nano-dollars."""
    doublings, step = divmod(int(name), _STEPS)
    return -(-((_STEPS + step) << doublings) // _STEPS)


def few(classes: Iterable[CostClass]) -> Few | None:
    """Return how many of the dearest requests make `PERCENT` of the cost of all; None without a cost."""
    found = sorted((each for each in classes if each.nano > 0 and each.calls > 0), reverse=True)
    wanted = share_of(sum(each.nano for each in found))
    calls = 0
    for each in found:
        if wanted <= each.nano:
            # The dearest of a class cost at least its mean, and less than the next class begins with.
            dearest = least_of(str(int(each.name) + 1)) - 1
            least, most = -(-wanted // dearest), -(-wanted * each.calls // each.nano)
            return Few(calls + least, calls + most, each.name)
        calls, wanted = calls + each.calls, wanted - each.nano
    return None


def cheapest_read(classes: Iterable[CostClass], wanted: int, most: int) -> Reading:
    """Return which requests to read for the dearest `wanted` ones: at most `most`, or those of one class."""
    found, count = Reading("", is_cut=False), 0
    for name, calls, _ in sorted(classes, reverse=True):
        count += calls
        if found.cheapest and count > most:
            break
        found = Reading(name, is_cut=count > most)
        if count >= wanted:
            break
    return found


def share_of(cost_nano: int) -> int:
    """Return `PERCENT` of a cost, rounded up."""
    return -(-cost_nano * PERCENT // 100)
