"""Texts of tools and events as HTML: JSON folds, differences and terminals have colour. All of it escaped."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from dashboard.rendering import ansi
from dashboard.rendering.number_format import plural
from recorder.core.content.text import clean
from recorder.core.records import Json

JSON_MAX = 1_000_000  # characters; longer is shown as it is
NODES_MAX = 2_000  # then what is inside stays text
DEEPEST = 24
OPEN = 2  # levels that are open at first
_HUNK = re.compile(r"(?m)^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")
_HEADS = ("@@", "diff ", "index ", "--- ", "+++ ", "new file", "deleted file", "rename ", "similarity ")


def text(said: str, *, is_whole: bool) -> SafeString:
    """Return a text in a <pre>, or as a structure when it is whole and JSON."""
    if is_whole and (value := _structure(said)) is not None:
        return format_html('<div class="json-tree">{}</div>', _Folded().value(value, 0))
    if _HUNK.search(said):
        return _difference(ansi.plain(said))
    if ansi.has_escapes(said):
        looks = ((span.classes, span.text) for span in ansi.spans(said))
        return format_html(
            '<pre class="ansi">{}</pre>', format_html_join("", '<span class="{}">{}</span>', looks)
        )
    return format_html("<pre>{}</pre>", said)


def _structure(said: str) -> Json:
    """Return the object or list that a text is, None if it is neither."""
    begun = said[:200].lstrip()[:1]
    if begun not in ("{", "[") or not begun or len(said) > JSON_MAX:
        return None
    try:
        value = json.loads(said)
    except (ValueError, RecursionError):
        return None
    return value if value and isinstance(value, dict | list) else None


def _difference(said: str) -> SafeString:
    return format_html('<pre class="diff">{}</pre>', format_html_join("", "{}", _lines(said)))


def _lines(said: str) -> Iterator[tuple[SafeString]]:
    for line in said.split("\n"):
        if line.startswith(_HEADS):
            yield (format_html('<span class="hunk">{}</span>', line),)
        elif line.startswith("+"):
            yield (format_html("<ins>{}</ins>", line),)
        elif line.startswith("-"):
            yield (format_html("<del>{}</del>", line),)
        else:
            yield (format_html("<span>{}</span>", line or " "),)


class _Folded:
    """Draws one JSON value, and counts what it drew."""

    def __init__(self) -> None:
        self._nodes = 0

    def value(self, value: Json, depth: int) -> SafeString:
        self._nodes += 1
        if isinstance(value, dict | list) and value:
            if depth >= DEEPEST or self._nodes > NODES_MAX:
                return format_html("<code>{}</code>", clean(json.dumps(value, ensure_ascii=False)))
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
        glance = ", ".join(list(value)[:8]) if isinstance(value, Mapping) else ""
        return format_html(
            '<details {}><summary><span class="text-faint">{}</span> <span class="clip">{}</span></summary>'
            "<ul>{}</ul></details>",
            shown,
            words,
            clean(glance[:120]),
            rows,
        )
