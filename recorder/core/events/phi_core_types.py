"""Types of fields of phi-core's events: usage, continuation of a loop, trigger of a turn."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import PlainValidator
from pydantic_core import PydanticCustomError

from recorder.core.events.base import construct, event
from recorder.core.events.fields import Count

Trigger = Literal["User", "SubAgent", "Continuation", "Branch"]
ContinuationName = Literal["Initial", "Default", "Compaction", "Rerun", "Branch"]
OutcomeWord = Literal["completed", "failed", "cancelled", "rejected", "limit", "aborted"]


@event
class Usage:
    """Token counts as reported by the runtime."""

    input: Count
    output: Count
    reasoning: Count = 0
    cache_read: Count = 0
    cache_write: Count = 0
    total_tokens: Count = 0
    cache_write_1h: Count = 0  # our addition: the part of `cache_write` with a cache lifetime of one hour
    web_searches: Count = 0  # our addition: searches that the provider ran for the call, with a fee each


@event
class Continuation:
    """The way in which a loop continues another one; reruns and branches have a tag."""

    name: ContinuationName = "Initial"
    tag: str | None = None


def _kind(value: object) -> Continuation:
    if value in ("Initial", "Default", "Compaction"):
        return _PLAIN[str(value)]
    if isinstance(value, dict) and len(value) == 1:
        name, inside = next(iter(value.items()))
        if name in ("Rerun", "Branch") and isinstance(inside, dict) and isinstance(inside.get("tag"), str):
            return construct(Continuation, name=name, tag=inside["tag"])
    raise PydanticCustomError(
        "wrong_type",
        'a continuation kind is Initial, Default, Compaction or {"Rerun" or "Branch": {"tag": text}}',
    )


def _trigger(value: object) -> Trigger:
    if value == "FollowUp":  # phi-core's earlier name
        return "Continuation"
    for word in ("User", "SubAgent", "Continuation", "Branch"):
        if value == word:
            return word
    raise PydanticCustomError("wrong_type", "a trigger is User, SubAgent, Continuation or Branch")


_PLAIN = {name: Continuation(name=name) for name in ("Initial", "Default", "Compaction")}
INITIAL = _PLAIN["Initial"]
ContinuationKind = Annotated[Continuation, PlainValidator(_kind)]
TurnTrigger = Annotated[Trigger, PlainValidator(_trigger)]
