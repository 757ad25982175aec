"""Lines that several transcripts hold: how one is recognised, and to which session it belongs.

A session that was forked, or resumed by an older release, begins with a copy of the lines of the session that
it continues. In Claude Code an answer is known by the id of its message, with that of its request where it is
short, any other line by its `uuid`. A side chain may repeat an answer of the main chain. In pi a copy has the
id and the time of its entry, in OpenCode the times and the tokens of its message. A chat of Gemini CLI from
before 0.39 goes on in a file beside it, which begins with the same messages.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from recorder.core.formats.base import Fields, Reader, Translation, object_field, text_field
from recorder.core.formats.transcripts.fields import before
from recorder.core.formats.transcripts.open_loop import OpenLoop

Kind = Literal["answer", "side", "other", "copy"]  # "copy": the line says so itself
Name = tuple[str, str, str]  # of a member: key, request and session
_TYPES = frozenset(("user", "assistant", "system"))
QUEUED = (
    "queued_command"  # type of the attachment that is a prompt, typed while the agent of Claude Code works
)
_UNIQUE = 20  # characters of a message id that no other message has; gateways number their answers anew


@dataclass(frozen=True, slots=True)
class LineKey:
    """What a line and its copies have in common; `request` distinguishes the requests of one message."""

    key: str
    request: str
    kind: Kind
    at_ms: int = 0  # since 1970, of a line without `timestamp`; 0: it came when it arrived


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
        """Return whether the two are one call, or one message; without a request it is that of each one."""
        is_side = "side" in (self.kind, other.kind)
        is_one = self.request == other.request or "" in (self.request, other.request)
        return self.key == other.key and (is_one or is_side)


class SharingReader(Reader, Protocol):
    """A reader of transcripts that may hold lines of others."""

    @property
    def open_loops(self) -> list[OpenLoop]:
        """The loops that have not ended."""

    def key_of(self, line: Fields) -> LineKey | None:
        """Return the key of a line, whatever lines came before; None for one that is not shared."""

    def session_of(self, line: Fields) -> str:
        """Return the session of a line."""

    def continues(self, line: Fields) -> bool:
        """Return whether a line is a further part of the answer that is open, or was last."""

    def repeat(self, line: Fields, at: datetime) -> Translation:
        """Return the translation of a line that is recorded elsewhere: history, without events of its own.

        Raises InvalidLineError. The loops stay.
        """


def key_of(line: Fields) -> LineKey | None:
    """Return the key of a line; None for one that is no message, or has no id."""
    kind, uuid = text_field(line, "type"), text_field(line, "uuid")
    if kind not in _TYPES and object_field(line, "attachment").get("type") != QUEUED:
        return None
    is_copy = bool(object_field(line, "forkedFrom"))
    if kind != "assistant":
        return LineKey(key_hash(f"u {uuid}"), "", "copy" if is_copy else "other") if uuid else None
    is_side = line.get("isSidechain") is True or bool(text_field(line, "agentId"))
    message, request = text_field(object_field(line, "message"), "id"), text_field(line, "requestId")
    is_unique = len(message) >= _UNIQUE
    if is_unique or (message and request):
        of_answer: Kind = "side" if is_side else "copy" if is_copy else "answer"
        named = "" if is_unique and not is_side else key_hash(request)
        return LineKey(key_hash(f"m {message}"), named, of_answer)
    return LineKey(key_hash(f"u {uuid}"), "", "copy" if is_copy else "answer") if uuid else None


def owners(members: Iterable[Member]) -> set[Name]:
    """Return the members whose lines are recorded; all others are history.

    It follows from the set of members. The original is the session without an answer of its own, the shortest
    of several; among forks the one that went on first. What says itself that it is a copy comes last, and is
    recorded where no other session has the line. The main chain comes before a side chain.
    """
    of_key: dict[str, list[Member]] = defaultdict(list)
    counts: dict[str, int] = defaultdict(int)
    for member in members:
        of_key[member.key].append(member)
        counts[member.session] += 1
    began: dict[str, int] = {}  # by session: the time of its first answer that no other session has
    for same in of_key.values():
        first = same[0]
        if first.kind not in ("other", "copy") and all(each.session == first.session for each in same):
            began[first.session] = min(began.get(first.session, first.at), first.at)

    def place(member: Member) -> tuple[bool, int, int, str, int, str]:
        own, is_copy = began.get(member.session, -1), member.kind == "copy"
        return is_copy, own, counts[member.session], member.session, member.at, member.request

    found: set[Name] = set()
    for same in of_key.values():
        main = [each for each in same if each.kind != "side"]
        requests = {each.request for each in main}
        groups = [[each for each in main if each.request == request] for request in requests]
        if "" in requests:
            groups = [main]
        for group in groups or [same]:
            found.add(min(group, key=place).name)
    return found


def key_hash(text: str) -> str:
    """Return the hash by which a line is known."""
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=12).hexdigest()


def history_of(line: Fields, session: str, name: str, timestamp: datetime | None = None) -> Translation:
    """Return the translation of a line that is recorded elsewhere, in a transcript of one session.

    It is history of the session, without events. `name` is that of the session in ids of its loops.
    """
    return Translation(
        text_field(line, "type"),
        session_id=session or None,
        loop_id=before(name),
        timestamp=timestamp,
        covers="",
    )
