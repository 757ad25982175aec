"""Lines of Claude Code that several files hold: how one is recognised, and to which session it belongs.

A session that an older release resumed, or that was forked, begins with a copy of the lines of the session
that it continues. An answer is known by the ids of its message and its request, any other line by its `uuid`.
A side chain may repeat an answer of the main chain under another request id.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from recorder.core.formats.base import Fields, object_field, text_field

Kind = Literal["answer", "side", "other"]
Name = tuple[str, str, str]  # of a member: key, request and session
_TYPES = frozenset(("user", "assistant", "system"))


@dataclass(frozen=True, slots=True)
class LineKey:
    """What a line and its copies have in common; `request` distinguishes the requests of one message."""

    key: str
    request: str
    kind: Kind


@dataclass(slots=True)
class Member:
    """One session that has a line, and the loop in which it is recorded there; "": as history."""

    key: str
    request: str
    session: str
    producer: int
    kind: Kind
    at: int  # microseconds since 1970
    loop: str = ""

    @property
    def name(self) -> Name:
        return self.key, self.request, self.session

    def is_copy_of(self, other: Member | LineKey) -> bool:
        """Return whether the two are one call, or one message."""
        is_same = self.key == other.key
        return is_same and (self.request == other.request or "side" in (self.kind, other.kind))


def key_of(line: Fields) -> LineKey | None:
    """Return the key of a line; None for one that is no message, or has no id."""
    kind, uuid = text_field(line, "type"), text_field(line, "uuid")
    if kind not in _TYPES:
        return None
    if kind != "assistant":
        return LineKey(_hash(f"u {uuid}"), "", "other") if uuid else None
    is_side = line.get("isSidechain") is True or bool(text_field(line, "agentId"))
    message, request = text_field(object_field(line, "message"), "id"), text_field(line, "requestId")
    if message and request:
        return LineKey(_hash(f"m {message}"), _hash(request), "side" if is_side else "answer")
    return LineKey(_hash(f"u {uuid}"), "", "answer") if uuid else None


def owners(members: Iterable[Member]) -> set[Name]:
    """Return the members whose lines are recorded; all others are history.

    It follows from the set of members. The original is the session without an answer of its own, the shortest
    of several; among forks the one that went on first. The main chain comes before a side chain.
    """
    of_key: dict[str, list[Member]] = defaultdict(list)
    counts: dict[str, int] = defaultdict(int)
    for member in members:
        of_key[member.key].append(member)
        counts[member.session] += 1
    began: dict[str, int] = {}  # by session: the time of its first answer that no other session has
    for same in of_key.values():
        first = same[0]
        if first.kind != "other" and all(each.session == first.session for each in same):
            began[first.session] = min(began.get(first.session, first.at), first.at)

    def place(member: Member) -> tuple[int, int, str, int, str]:
        own = began.get(member.session, -1)
        return own, counts[member.session], member.session, member.at, member.request

    found: set[Name] = set()
    for same in of_key.values():
        main = [each for each in same if each.kind != "side"]
        requests = {each.request for each in main}
        groups = [[each for each in main if each.request == request] for request in requests]
        for group in groups or [same]:
            found.add(min(group, key=place).name)
    return found


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=12).hexdigest()
