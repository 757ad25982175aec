"""The content of events, from the lines that may hold it: messages, arguments and results of tools."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from recorder.core.formats.base import Fields
from recorder.core.formats.otlp.plan.calls import unnamed_place
from recorder.core.formats.otlp.spans.attributes import decoded_arguments, first_text, integer
from recorder.core.formats.otlp.spans.content.blocks import text_of_result
from recorder.core.formats.otlp.spans.content.call_messages import Messages, joined
from recorder.core.formats.otlp.spans.content.tools import arguments_of, named_arguments, result_of
from recorder.core.formats.otlp.spans.digest import Item
from recorder.core.records import Json


def arguments_in(items: Sequence[Item]) -> Json:
    for item in sorted(items, key=lambda item: not item.digest.is_log):  # logs have them whole
        if item.digest.kind in ("tool", "note") and not item.digest.has_text:
            value = arguments_of(item.attributes, item.events, item.digest.runtime)
            if value not in (None, "", {}):
                return named_arguments(decoded_arguments(value))
    return {}


def requested_arguments(call: str, answers: Iterable[Item]) -> Json:
    """Return the arguments that an answer gives a tool call; {} if it gives none."""
    place = unnamed_place(call)
    own = call if place is None else ""
    for item in answers:
        found = item.calls.get(own, [])
        if len(found) > (place or 0):
            return found[place or 0]["arguments"]
    return {}


def result_in(call: str, items: Sequence[Item]) -> str:
    for item in items:
        if item.digest.kind == "model" or item.digest.has_text:
            text = text_of_result(_sent_result(call, item).get("content"))
        else:
            text = text_of_result(result_of(item.attributes, item.events, item.digest.runtime))
        if text:
            return text
    return ""


def _sent_result(call: str, item: Item) -> Fields:
    """Return the result of a tool call that a model call was sent, or that its answer has; {} for none."""
    place = unnamed_place(call)
    own = call if place is None else ""
    is_own = place is not None and call.endswith(item.digest.id)
    found = (not is_own and item.results.get(own)) or item.hosted.get(own, [])
    return found[place or 0] if len(found) > (place or 0) else {}


def messages_in(items: Sequence[Item]) -> Messages:
    """Return the messages of a call: those of the first line with input, or of the lines with one each."""
    found = [item.messages for item in items if item.digest.has_text and not item.digest.is_message]
    if any(item.digest.is_message for item in items):
        found.append(_joined(items))
    return next((each for each in found if each.input), found[0] if found else Messages())


def answer_in(items: Sequence[Item]) -> list[Fields]:
    """Return the blocks of an answer; Claude Code writes its text into a log record."""
    for item in items:
        if item.messages.output:
            return _joined(items).output if item.digest.is_message else item.messages.output
    text = next((text for item in items if (text := first_text(item.attributes, ("response",)))
                 and item.digest.is_log), "")  # fmt: skip
    return [{"type": "text", "text": text}] if text else []


def _joined(items: Sequence[Item]) -> Messages:
    """Return the messages of the lines with one each, in their order."""
    parts = [item for item in items if item.digest.is_message]
    return joined(item.messages for item in sorted(parts, key=_order))


def _order(item: Item) -> tuple[int, int, int, str]:
    """Return what lines with one message each are sorted by; choices of one time by their number."""
    at, kind, fingerprint = item.digest.message_order
    return at, kind, integer(item.events[-1][1].get("index")) or 0, fingerprint
