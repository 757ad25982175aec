"""Images, audio and files within messages: what they are and how large, in place of their bytes."""

from __future__ import annotations

import re

from recorder.core.formats.base import Fields, object_field
from recorder.core.records import Json

_KINDS = ("image", "audio", "video", "document", "file")
_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?[^,]{0,100},")
_MEDIA_TYPES = ("mime_type", "mimeType", "media_type", "mediaType")
_BYTES = ("content", "data", "bytes", "blob", "base64", "file_data")
_URL_TEXT = re.compile(
    r"data:(image|audio|video|application)/[\w.+-]+;base64,[\w+/=-]*\s*"
)  # a text of nothing else
_LEAST = 200  # characters of bytes in base64: a shorter text may be one


def media_text(part: Fields) -> str | None:
    """Return what stands for a part that holds bytes, as `[image, 360 kB]`; None for another part.

    The size is that of the bytes as they were sent, in base64.
    """
    holders = [part, *(object_field(part, name) for name in (*_KINDS, "source", "image_url", "input_audio"))]
    holders += [object_field(part, "inlineData"), object_field(part, "inline_data")]
    # OpenInference's are twice in one another, as `image.image.url`.
    holders += [object_field(holder, name) for holder in holders[1:] for name in ("source", *_KINDS)]
    kind = str(part.get("type") or "")
    if kind in ("text", "output_text", "input_text", "thinking", "reasoning"):
        return None
    for holder in holders:
        size = _size(
            holder, is_media=kind == "blob" or any(each in kind for each in _KINDS) or holder is not part
        )
        if size:
            return f"[{_name(part, holder, kind)}, {_amount(size)}]"
    return None


def text_without_bytes(text: str) -> str:
    """Return a text, or what stands for it if it is a data URL and nothing else."""
    match = _URL_TEXT.fullmatch(text) if text.startswith("data:") else None
    if match is None:
        return text
    return f"[{'file' if match[1] == 'application' else match[1]}, {_amount(len(text))}]"


def _size(holder: Fields, *, is_media: bool) -> int:
    for name in ("url", "image_url", "uri"):
        if isinstance(url := holder.get(name), str) and _DATA_URL.match(url):
            return len(url)
    found: list[Json] = [holder.get(name) for name in _BYTES] if is_media else []
    return max((len(each) for each in found if isinstance(each, str) and len(each) > _LEAST), default=0)


def _name(part: Fields, holder: Fields, kind: str) -> str:
    url = next((url for name in ("url", "image_url", "uri") if isinstance(url := holder.get(name), str)), "")
    match = _DATA_URL.match(url)
    named = [part.get("modality"), kind, *(part if kind == "" else ()), match[1] if match else None]
    named += [each.get(name) for each in (part, holder) for name in _MEDIA_TYPES]
    texts = [each for each in named if isinstance(each, str)]
    if kind == "file":  # the AI SDK writes so of any medium
        texts.reverse()
    return next((each for text in texts for each in _KINDS if each in text), "blob")


def _amount(size: int) -> str:
    if size < 1000:
        return f"{size} B"
    return f"{round(size / 1000)} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"
