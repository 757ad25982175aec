"""Messages as items: plain text of users, prose and thoughts of assistants, anything else as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dashboard.pages.session.conversation.items import Item, Note, Picture, Said, Thought
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
    text_of,
)
from dashboard.rendering import images
from dashboard.web import links
from recorder.core.records import Json

Asked = Callable[[str, str, Json, str], Item | None]  # a tool call's id, name, arguments and their path
WHO = {"user": ("User", "user"), "assistant": ("Assistant", "bot"), "toolResult": ("Tool result", "wrench")}


class Messages:
    """Reads the messages of one event."""

    def __init__(self, slug: str, event: int, asked: Asked) -> None:
        self._slug, self._event, self._asked = slug, event, asked

    def items(self, message: Object, path: str) -> Iterator[Item]:
        """Yield what a message that stands at `path` consists of."""
        role = string(message.get("role"))
        if role not in WHO:
            yield self._extension(message, path, role)
            return
        content = message.get("content")
        if isinstance(content, str):
            yield self._said(role, content, f"{path}.content", is_first=True)
            return
        is_first = True
        for index, part in enumerate(items(content)):
            item = self._part(role, message, obj(part), f"{path}.content.{index}", is_first=is_first)
            if item is not None:
                is_first = is_first and not isinstance(item, Said)
                yield item

    def excerpt(self, path: str, text: str) -> Excerpt:
        return excerpt(self._slug, self._event, path, text)

    def folded(self, path: str, text: str) -> Excerpt:
        return folded(self._slug, self._event, path, text)

    def _part(self, role: str, message: Object, part: Object, path: str, *, is_first: bool) -> Item | None:
        match part.get("type"):
            case "text":
                text = string(part.get("text"))
                return self._said(role, text, f"{path}.text", is_first=is_first) if text.strip() else None
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
                return self._asked(*call, part.get("arguments"), f"{path}.arguments")
            case _:
                return Note(
                    "A part of a kind that is not known here", json=self.folded(path, pretty(dict(part)))
                )

    def _said(self, role: str, text: str, path: str, *, is_first: bool) -> Said:
        who, icon = WHO[role]
        return Said(who, icon, self.excerpt(path, text), is_first=is_first, is_prose=role == "assistant")

    def _extension(self, message: Object, path: str, role: str) -> Note:
        kind = string(message.get("kind"))
        words = " · ".join(filter(None, (role or "A message without a role", kind)))
        where = f"{path}.data" if "data" in message else path
        return Note(words, icon="braces", json=self.folded(where, pretty(message.get("data", dict(message)))))


def picture(slug: str, event: int, path: str, part: Object) -> Picture:
    """Return what is known of an image, and where it is if it may be shown.

    Base64 is four characters for three bytes.
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


def result_text(result: Json) -> str:
    """Return what a tool's result says: its content, or the whole of it when it has none."""
    inside = obj(result)
    if "content" not in inside:
        return text_of(result) if result is not None else ""
    text = text_of(inside["content"]) if inside["content"] not in (None, []) else ""
    details = inside.get("details")
    return text or (pretty(details) if details is not None else "")
