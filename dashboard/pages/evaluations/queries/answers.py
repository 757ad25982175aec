"""Final answers of branches and the reply of their judge, read from the journal."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from dashboard.pages.evaluations.detail_params import Answer as How
from dashboard.pages.evaluations.queries.groups import Branch
from dashboard.pages.evaluations.word_diff import Stretch, changes, is_cut
from recorder.core.content.messages import text_of
from recorder.core.content.text import clean
from recorder.core.formats.native import NO_LIMITS, read_object
from recorder.core.records import Json
from recorder.journal import read
from recorder.models import EventRecord

SHOWN = 16_000  # characters of a judge's reply
TOGETHER = 24_000  # characters of the answers of all branches of a page
LATEST = 20  # last lines of a judge that are searched for its reply


@dataclass(frozen=True, slots=True)
class Answer:
    """Final answer of a branch; `url` links to the full text when it is cut."""

    text: str
    words: int
    url: str
    changes: Sequence[Stretch] = ()  # word diff against the winner, in mode "diff"
    is_partly_compared: bool = False
    pruned_on: date | None = None  # set when the text was pruned


@dataclass(frozen=True, slots=True)
class Reply:
    """Last message of a judge, or the day it was pruned."""

    text: str = ""
    pruned_on: date | None = None


def answers(branches: Sequence[Branch], how: How) -> Sequence[Answer | None]:
    """Return the final answer of each branch, None where there is none; the winner is the first branch.

    One query, two when bodies were pruned.
    """
    ended = [branch for branch in branches if branch.answer_event and not branch.is_open]
    events = [branch.answer_event for branch in ended if branch.answer_event]
    texts = _texts(events)
    day = read.pruned(events) if len(texts) < len(events) else None
    found = [texts.get(branch.answer_event or 0, "") if branch in ended else "" for branch in branches]
    most = TOGETHER // max(len(branches), 1)
    return [
        _answer(text, found[0] if n and how == "diff" else None, branch, most)
        if text
        else Answer("", 0, "", pruned_on=day)
        if day and branch in ended and branch.answer_event not in texts
        else None
        for n, (text, branch) in enumerate(zip(found, branches, strict=True))
    ]


def reply(judge: int) -> Reply:
    """Return the last message of a judge. Two queries, three when bodies were pruned."""
    rows = EventRecord.objects.filter(loop=judge, type__in=("MessageEnd", "TurnEnd"))
    keys = list(rows.order_by("-pk").values_list("pk", flat=True)[:LATEST])
    latest = read.texts(keys)
    reply_text = next((text for raw in reversed(latest.values()) if (text := _assistant_text(raw))), "")
    return Reply(reply_text, None if reply_text or len(latest) == len(keys) else read.pruned(keys))


def _texts(events: Collection[int]) -> Mapping[int, str]:
    return {pk: _assistant_text(raw) for pk, raw in read.texts(events).items()}


def _assistant_text(raw: bytes) -> str:
    event = read_object(raw, NO_LIMITS)
    message: Json = event.get("message")
    if not isinstance(message, dict) or message.get("role") != "assistant":
        return ""
    return clean(text_of(message)).strip()


def _answer(text: str, winner: str | None, branch: Branch, most: int) -> Answer:
    return Answer(
        text=text[:most],
        words=len(text.split()),
        url=branch.url if len(text) > most else "",
        changes=changes(text[:most], winner[:most]) if winner else (),
        is_partly_compared=winner is not None and (is_cut(text[:most]) or is_cut(winner[:most])),
    )
