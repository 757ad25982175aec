"""Prompts of Codex, which come as an item, as an event, or as both in any order."""

from __future__ import annotations

from recorder.core.formats.transcripts.fields import fingerprint

_ITEM = "item"


class PromptPairs:
    """Recognises the second line of a prompt. `last` is its state: what the first line was, "" for none.

    The event behind an item may have other words, as without what an editor added. The item behind an event
    is recognised by the words.
    """

    def __init__(self, last: str = "") -> None:
        self.last = last

    def is_second(self, text: str, *, is_event: bool, has_item: bool = False) -> bool:
        """Return whether a line is the second one of a prompt, and note it.

        `has_item`: the item of this event is the line to read, whether it came or comes.
        """
        mark = fingerprint(text)
        is_pair = self.last == (_ITEM if is_event else mark)
        if is_pair or not has_item:
            self.last = "" if is_pair else mark if is_event else _ITEM
        return is_pair or has_item
