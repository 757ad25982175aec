"""The one audited module that turns text into HTML: Markdown from agents, rendered, then cleaned.

Two walls: the renderer knows no raw HTML, and the cleaner lets pass only the tags named here. No images, no
forms, no styles, and no address that a reader could be led to inside this site.
"""

from collections import OrderedDict
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

MAX_BYTES: Final = 128 * 1024  # what is larger, or mostly brackets and bars, is shown as it is:
MAX_MARKS: Final = 5_000  # 100 kB of "[" take the renderer a second
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
    MarkdownIt("commonmark", {"html": False, "linkify": False, "maxNesting": NESTING})
    .enable(["table", "strikethrough"])
    .disable("image")
)

HEADING: Final = 4  # the first that a message may use: those above are the page's, its loop's and its turns'


def _below_the_page(state: StateCore) -> None:
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, HEADING - 1 + int(token.tag[1]))}"


_RENDERER.core.ruler.push("below_the_page", _below_the_page)


class _Cache:
    """The latest results by content, at most so many bytes of them."""

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


def markdown(text: str) -> SafeString:
    """Return `text` as safe HTML; what is too large to render stays plain."""
    raw = text.encode(errors="replace")
    if len(raw) > MAX_BYTES or text.count("[") + text.count("|") > MAX_MARKS:
        return format_html("<pre>{}</pre>", text)
    key = sha256(raw).digest()
    html = _cache.get(key)
    if html is None:
        html = _clean(_RENDERER.render(raw.decode()))  # without lone surrogates, which nh3 refuses
        _cache.put(key, html)
    return mark_safe(html)  # noqa: S308  the only one: cleaned by the allowlist above


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
    """Return what an attribute may say: nh3 would let relative addresses and any class pass."""
    if name == "href":
        return value if _leads_away(value) else None
    if name == "class":
        return value if tag == "code" and value.startswith(LANGUAGE) and " " not in value else None
    return value


def _leads_away(address: str) -> bool:
    """Return whether an address leaves this site: a model must not place our own links before a reader."""
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
