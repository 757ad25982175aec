"""Converts messages to items: user text, assistant Markdown and thinking, images; other roles as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dashboard.pages.session.conversation.items import Item, MessageText, Note, Picture, Thought
from dashboard.pages.session.events.bodies import (
    Excerpt,
    Object,
    excerpt,
    folded,
    items,
    number,
    obj,
    pretty,
    string,
)
from dashboard.rendering import images
from dashboard.web import links
from recorder.core.records import Json

CallItem = Callable[
    [str, str, Json, str], Item | None
]  # gets a tool call's id, name, arguments and their path
WHO = {"user": ("User", "user"), "assistant": ("Assistant", "bot"), "toolResult": ("Tool result", "wrench")}


class Messages:
    """Converts the messages of one event to items."""

    def __init__(self, slug: str, event: int, call_item: CallItem) -> None:
        self._slug, self._event, self._call_item = slug, event, call_item

    def items(self, message: Object, path: str) -> Iterator[Item]:
        """Yield the items of the message at `path` of the event."""
        role = string(message.get("role"))
        if role not in WHO:
            yield self._extension(message, path, role)
            return
        content = message.get("content")
        if isinstance(content, str):
            yield self._text(role, content, f"{path}.content", is_first=True)
            return
        is_first = True
        for index, part in enumerate(items(content)):
            item = self._part(role, message, obj(part), f"{path}.content.{index}", is_first=is_first)
            if item is not None:
                is_first = is_first and not isinstance(item, MessageText)
                yield item

    def excerpt(self, path: str, text: str) -> Excerpt:
        return excerpt(self._slug, self._event, path, text)

    def folded(self, path: str, text: str) -> Excerpt:
        return folded(self._slug, self._event, path, text)

    def _part(self, role: str, message: Object, part: Object, path: str, *, is_first: bool) -> Item | None:
        match part.get("type"):
            case "text":
                text = string(part.get("text"))
                return self._text(role, text, f"{path}.text", is_first=is_first) if text.strip() else None
            case "thinking":
                text = string(part.get("thinking"))
                tokens = (
                    number(obj(message.get("usage")).get("reasoning")) if _is_only_thought(message) else 0
                )
                return Thought(self.excerpt(f"{path}.thinking", text), tokens) if text.strip() else None
            case "image":
                return picture(self._slug, self._event, path, part)
            case "toolCall":
                call = string(part.get("id")), string(part.get("name"))
                return self._call_item(*call, part.get("arguments"), f"{path}.arguments")
            case _:
                return Note("Content of an unknown type", json=self.folded(path, pretty(dict(part))))

    def _text(self, role: str, text: str, path: str, *, is_first: bool) -> MessageText:
        who, icon = WHO[role]
        return MessageText(
            who, icon, self.excerpt(path, text), is_first=is_first, is_prose=role == "assistant"
        )

    def _extension(self, message: Object, path: str, role: str) -> Note:
        kind = string(message.get("kind"))
        words = " · ".join(filter(None, (role or "Message without a role", kind)))
        where = f"{path}.data" if "data" in message else path
        return Note(words, icon="braces", json=self.folded(where, pretty(message.get("data", dict(message)))))


def picture(slug: str, event: int, path: str, part: Object) -> Picture:
    """Return an image with its size and, if its format is supported, its URL.

    The size is computed from the base64 text: four characters hold three bytes.
    """
    data = string(part.get("data"))
    size = len(data) * 3 // 4 - data[-2:].count("=")
    image = images.identify_base64(data)
    if image is None:
        return Picture(string(part.get("mimeType")) or "image", size)
    return Picture(image.mime, size, links.event_image(slug, event, path), image.width, image.height)


def pictures(slug: str, event: int, content: Json) -> tuple[Picture, ...]:
    """Return the images in a tool's result."""
    return tuple(
        picture(slug, event, f"result.content.{index}", obj(part))
        for index, part in enumerate(items(content))
        if obj(part).get("type") == "image"
    )


def _is_only_thought(message: Object) -> bool:
    parts = [obj(part).get("type") for part in items(message.get("content"))]
    return parts.count("thinking") == 1
