"""Markdown from agents to safe HTML. No other module turns text into HTML without escaping.

`mark_controls` is here for the same reason: it adds constant markup to the HTML of a template.

Two independent steps: the renderer escapes raw HTML, and the sanitizer keeps only the tags listed here. There
are no images, forms, styles or links into this site.
"""

import re
from collections import OrderedDict
from collections.abc import Collection, Iterator
from hashlib import sha256
from threading import Lock
from typing import Final
from urllib.parse import urlsplit

import nh3
from django.conf import settings
from django.http.request import validate_host
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

MAX_BYTES: Final = 128 * 1024  # larger texts, or texts of mostly brackets and bars, are not rendered:
MAX_MARKS: Final = 5_000  # 100 kB of "[" take the renderer one second
NESTING: Final = 100
CACHE_BYTES: Final = 8 * 1024 * 1024

TAGS: Final = {
    *("p", "br", "hr", "h4", "h5", "h6", "blockquote", "ul", "ol", "li", "pre", "code"),
    *("em", "strong", "s", "a", "table", "thead", "tbody", "tr", "th", "td"),
}
ATTRIBUTES: Final = {"a": {"href", "target"}, "ol": {"start"}, "code": {"class"}}
LANGUAGE: Final = "language-"
LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")

_RENDERER: Final = (
    MarkdownIt("commonmark", {"html": False, "linkify": False, "breaks": True, "maxNesting": NESTING})
    .enable(["table", "strikethrough"])
    .disable("image")
)

HEADING: Final = 4  # first level of a message's headings: the page, the loop and the turns use those above


def _below_the_page(state: StateCore) -> None:
    """Set the levels of headings: each is one below the last one above it, so that none is skipped."""
    above: list[int] = []  # levels as they were written
    for token in state.tokens:
        if token.type == "heading_open":
            level = int(token.tag[1])
            above = [each for each in above if each < level]
            above.append(level)
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, HEADING - 1 + len(above))}"


_RENDERER.core.ruler.push("below_the_page", _below_the_page)

MENTION: Final = re.compile(r"(?<![\w@.+-])@([\w@.+-]{1,150})")


def _mark_mentions(state: StateCore) -> None:
    """Set the members whom a note mentions in strong type; `env` has their lower-case names."""
    names = state.env.get("names")
    if not names:
        return
    for token in state.tokens:
        if token.type == "inline" and token.children:
            token.children = [part for child in token.children for part in _with_marks(child, names)]


def _with_marks(token: Token, names: Collection[str]) -> Iterator[Token]:
    if token.type != "text":
        yield token
        return
    at = 0
    for match in MENTION.finditer(token.content):
        name = match[1]
        while name and name.lower() not in names:
            name = name[:-1]
        if not name:
            continue
        start, end = match.start(), match.start() + 1 + len(name)
        yield _text_token(token.content[at:start])
        yield Token("strong_open", "strong", 1)
        yield _text_token(token.content[start:end])
        yield Token("strong_close", "strong", -1)
        at = end
    yield _text_token(token.content[at:])


def _text_token(content: str) -> Token:
    return Token("text", "", 0, content=content)


_RENDERER.core.ruler.push("mentions", _mark_mentions)


class _Cache:
    """LRU cache of results by content, limited in bytes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._kept: OrderedDict[bytes, str] = OrderedDict()
        self._lock = Lock()

    def get(self, key: bytes) -> str | None:
        with self._lock:
            html = self._kept.get(key)
            if html is not None:
                self._kept.move_to_end(key)
            return html

    def put(self, key: bytes, html: str) -> None:
        with self._lock:
            self._size += len(html) - len(self._kept.pop(key, ""))
            self._kept[key] = html
            while self._size > self._limit:
                self._size -= len(self._kept.popitem(last=False)[1])


_cache = _Cache(CACHE_BYTES)


def markdown(text: str, names: Collection[str] = ()) -> SafeString:
    """Render `text` as safe HTML; a text that is too large stays plain. `names` are mentioned by "@name"."""
    raw = text.encode(errors="replace")
    if len(raw) > MAX_BYTES or text.count("[") + text.count("|") > MAX_MARKS:
        return format_html("<pre>{}</pre>", text)
    key = sha256(b"\0".join([*(name.encode() for name in names), raw])).digest()
    html = _cache.get(key)
    if html is None:
        html = _clean(
            _RENDERER.render(raw.decode(), {"names": names})
        )  # without lone surrogates, which nh3 refuses
        _cache.put(key, html)
    return mark_safe(html)  # noqa: S308  sanitized by the allowlist above


def _clean(html: str) -> str:
    return nh3.clean(
        html,
        tags=TAGS,
        attributes=ATTRIBUTES,
        attribute_filter=_attribute,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )


def _attribute(tag: str, name: str, value: str) -> str | None:
    """Filter attributes: nh3 alone would keep relative URLs and any class."""
    if name == "href":
        return value if _leads_away(value) else None
    if name == "class":
        return value if tag == "code" and value.startswith(LANGUAGE) and " " not in value else None
    return value


def _leads_away(address: str) -> bool:
    """Whether a URL leads to another site; agents must not place links into this one."""
    lowered = address.lower()
    if lowered.startswith("mailto:"):
        return True
    if not lowered.startswith(("http://", "https://")):
        return False
    try:
        host = urlsplit(lowered).hostname
    except ValueError:
        return False
    return host is not None and not validate_host(host, [*LOOPBACK, *(set(settings.ALLOWED_HOSTS) - {"*"})])


CONTROLS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

# Parts kept as they are: marks of an inner template, elements that have no elements inside, and tags.
_BIDI_PARTS = re.compile(
    rf"""<bdi\ class="bidi-control"[^>]*>[{CONTROLS}]</bdi>
    | <(?P<raw>title|textarea|option|script|style|svg)\b.*?</(?P=raw)\s*>
    | <!--.*?-->
    | <[^>]*>
    | (?P<control>[{CONTROLS}])""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)


def mark_controls(html: str) -> SafeString:
    """Return `html` with each bidirectional control of its text isolated and marked; attributes are kept."""
    if not any(each in html for each in CONTROLS):
        return mark_safe(html)  # noqa: S308  what a template rendered
    return mark_safe(_BIDI_PARTS.sub(_marked_control, html))  # noqa: S308  as above; what is added is constant


def _marked_control(part: re.Match[str]) -> str:
    control = part["control"]
    if control is None:
        return part[0]
    return f'<bdi class="bidi-control" title="U+{ord(control):04X}">{control}</bdi>'
