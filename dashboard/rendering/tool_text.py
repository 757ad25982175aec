"""Texts of tools and events as escaped HTML: foldable JSON, coloured diffs and terminal output."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from dashboard.rendering import ansi
from dashboard.rendering.number_format import plural
from recorder.core.content.text import clean, json_text
from recorder.core.records import Json

JSON_MAX = 1_000_000  # characters; longer texts are shown unparsed
NODES_MAX = 2_000  # nested values beyond this stay text
DEEPEST = 24
OPEN = 2  # levels that are open by default
_HUNK = re.compile(r"(?m)^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")
_HEADS = ("@@", "diff ", "index ", "--- ", "+++ ", "new file", "deleted file", "rename ", "similarity ")


def text(content: str, *, is_whole: bool) -> SafeString:
    """Render a text in a <pre>, or as a tree if it is complete JSON."""
    if is_whole and (value := _structure(content)) is not None:
        return format_html('<div class="json-tree">{}</div>', _Folded().value(value, 0))
    if _HUNK.search(content):
        return difference(ansi.plain(content))
    if ansi.has_escapes(content):
        looks = ((span.classes, span.text) for span in ansi.spans(content))
        return format_html(
            '<pre class="ansi">{}</pre>', format_html_join("", '<span class="{}">{}</span>', looks)
        )
    return format_html("<pre>{}</pre>", content)


def _structure(content: str) -> Json:
    """Parse a JSON object or list; None if the text is neither."""
    begun = content[:200].lstrip()[:1]
    if begun not in ("{", "[") or not begun or len(content) > JSON_MAX:
        return None
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return value if value and isinstance(value, dict | list) else None


def difference(content: str) -> SafeString:
    """Render the lines of a diff, each in the colour of its sign."""
    return format_html('<pre class="diff">{}</pre>', format_html_join("", "{}", _lines(content)))


def _lines(content: str) -> Iterator[tuple[SafeString]]:
    for line in content.split("\n"):
        if line.startswith(_HEADS):
            yield (format_html('<span class="hunk">{}</span>', line),)
        elif line.startswith("+"):
            yield (format_html("<ins>{}</ins>", line),)
        elif line.startswith("-"):
            yield (format_html("<del>{}</del>", line),)
        else:
            yield (format_html("<span>{}</span>", line or " "),)


class _Folded:
    """Renders one JSON value, and counts the rendered nodes."""

    def __init__(self) -> None:
        self._nodes = 0

    def value(self, value: Json, depth: int) -> SafeString:
        self._nodes += 1
        if isinstance(value, dict | list) and value:
            if depth >= DEEPEST or self._nodes > NODES_MAX:
                return format_html("<code>{}</code>", clean(json_text(value)))
            return self._group(value, depth)
        if isinstance(value, str):
            return format_html('<span class="json-string">{}</span>', clean(ansi.plain(value)))
        return format_html('<span class="json-number">{}</span>', json.dumps(value))

    def _group(self, value: Mapping[str, Json] | list[Json], depth: int) -> SafeString:
        pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
        words = plural(len(value), "key" if isinstance(value, Mapping) else "item")
        rows = format_html_join(
            "",
            '<li><span class="json-key">{}</span> {}</li>',
            ((clean(str(name)), self.value(inside, depth + 1)) for name, inside in pairs),
        )
        shown = "open" if depth < OPEN else ""
        preview = ", ".join(list(value)[:8]) if isinstance(value, Mapping) else ""
        return format_html(
            '<details {}><summary><span class="text-faint">{}</span> <span class="clip">{}</span></summary>'
            "<ul>{}</ul></details>",
            shown,
            words,
            clean(preview[:120]),
            rows,
        )
