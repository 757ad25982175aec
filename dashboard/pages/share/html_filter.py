"""The one place that all HTML of a shared page passes: its responses, its fragments, its socket frames.

URLs lead below the link, or are removed with their controls (`Addresses`); forms that write are removed; text
and the words of attributes are masked. The HTML is that of our templates, in which quotes and angle brackets
of texts are escaped, so a tag ends at its first `>` outside of quotes. A link that masks removes the last
word of texts that were cut (`mask.without_cut_word`), but for those that are shown whole.

Text is masked in runs: the text between two block elements as one, so that a value is found that inline
elements divide. Cost: linear in the HTML.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import unescape

from django.utils.html import escape

from dashboard.pages.share.addresses import Addresses
from dashboard.pages.share.mask import without_cut_word

Mask = Callable[[str], str]

TOKEN = re.compile(r"<!--.*?-->|<[!/]?[a-zA-Z](?:\"[^\"]*\"|'[^']*'|[^'\">])*>|[^<]+|<", re.S)
NAME = re.compile(r"</?([a-zA-Z][a-zA-Z0-9-]*)")
ATTRIBUTE = re.compile(r"([^\s=\"'<>/]+)(?:\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s\"'<>]+))?")
VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
INLINE = frozenset(
    "a b i em strong code span mark ins del s u small sub sup abbr bdi bdo kbd q time wbr".split()
)
URLS = frozenset("href src action formaction poster hx-get hx-post hx-put hx-delete ws-connect".split())
WORDS = frozenset("title aria-label alt placeholder value content".split())  # and `data-…`
KEPT = ("class", "role", "id")  # of a link that becomes text
LINKS = ("link", "jump-link")  # classes that it loses
REMOVED = frozenset(  # classes
    ("breadcrumbs", "tree-sub-agent", "tree-child", "tool-child", "note-add", "row-select")
)
OTHER = "another session"
WHOLE = frozenset(("prose", "body-text", "plain"))  # classes of texts that are never cut with an ellipsis


@dataclass(slots=True)
class _Output:
    """The tokens of the result; those of the open run are not masked yet."""

    mask: Mask
    drops_cut_words: bool
    whole: list[str] = field(default_factory=list)  # open elements from one on that shows a whole text
    done: list[str] = field(default_factory=list)
    run: list[tuple[str, bool]] = field(default_factory=list)  # token, whether it is text

    def tag(self, token: str, *, is_inline: bool) -> None:
        self._nest(token)
        if is_inline:
            self.run.append((token, False))
            return
        self.flush()
        self.done.append(token)

    def flush(self) -> None:
        """Mask the open run."""
        texts = [token for token, is_text in self.run if is_text]
        drops = self.drops_cut_words and not self.whole
        masked = iter(masked_run(texts, self.mask, drops_cut_words=drops) if texts else ())
        self.done += [next(masked) if is_text else token for token, is_text in self.run]
        self.run.clear()

    def _nest(self, token: str) -> None:
        """Keep track of the element that shows a whole text."""
        name = _name(token)
        if token.startswith("</"):
            if self.whole and self.whole[-1] == name:
                self.flush()
                self.whole.pop()
        elif name not in VOID and not token.endswith("/>"):
            if self.whole and self.whole[0] == name:
                self.whole.append(name)
            elif not self.whole and (name == "pre" or not WHOLE.isdisjoint(_classes(token, name))):
                self.flush()
                self.whole.append(name)


def filtered(html: str, addresses: Addresses, mask: Mask) -> str:
    """Return the HTML of a page or fragment as the link shows it."""
    drops_cut_words = addresses.shared.link.is_masked
    output = _Output(mask, drops_cut_words)
    words = _masked_words(mask) if drops_cut_words else mask
    tokens = iter(TOKEN.findall(html))
    has_become_text = False
    for token in tokens:
        name = _name(token)
        if not name:
            if not token.startswith("<!"):
                output.run.append((token, True))
            elif token[:9].lower() == "<!doctype":
                output.tag(token, is_inline=False)
        elif token[1] == "/":
            is_converted = name == "a" and has_become_text
            has_become_text = has_become_text and not is_converted
            output.tag("</span>" if is_converted else token, is_inline=name in INLINE)
        else:
            tag = _open_tag(token, name, addresses, words)
            if tag.fate == "gone":
                _skip(tokens, name)
                continue
            output.tag(tag.html, is_inline=name in INLINE)
            if tag.fate == "other":
                _skip(tokens, name)
                output.tag(f"{OTHER}</span>", is_inline=True)
            has_become_text = has_become_text or tag.fate == "text"
    output.flush()
    return "".join(output.done)


def _masked_words(mask: Mask) -> Mask:
    """Return the mask of attributes, which are cut as texts are."""
    return lambda text: without_cut_word(mask(text))


def masked_run(texts: Sequence[str], mask: Mask, *, drops_cut_words: bool = False) -> list[str]:
    """Return escaped texts that follow each other, masked as one text.

    What changed, from the first to the last difference, is in the text in which it begins.
    """
    plain = [unescape(text) for text in texts]
    shown = _masked_parts(plain, mask)
    if drops_cut_words:
        shown = [without_cut_word(text) for text in shown]
    pairs = zip(texts, plain, shown, strict=True)
    return [text if same == made else escape(made) for text, same, made in pairs]


def _masked_parts(plain: Sequence[str], mask: Mask) -> list[str]:
    whole = "".join(plain)
    masked = mask(whole)
    if masked == whole:
        return list(plain)
    begin = _common(whole, masked)
    tail = min(_common(whole[::-1], masked[::-1]), len(whole) - begin, len(masked) - begin)
    end, changed = len(whole) - tail, masked[begin : len(masked) - tail]
    made: list[str] = []
    last, at = len(plain) - 1, 0
    for number, text in enumerate(plain):
        begins_here = at <= begin < at + len(text) or (number == last and begin == len(whole))
        inside = changed if begins_here else ""
        made.append(text[: max(0, begin - at)] + inside + text[max(0, end - at) :])
        at += len(text)
    return made


def _common(first: str, second: str) -> int:
    """Return the length of the common prefix."""
    most = min(len(first), len(second))
    return next((n for n in range(most) if first[n] != second[n]), most)


@dataclass(frozen=True, slots=True)
class _Tag:
    """A start tag as it is shown, and what becomes of its element."""

    fate: str
    html: str = ""


def _open_tag(token: str, name: str, addresses: Addresses, mask: Mask) -> _Tag:
    attributes = dict(_attributes(token, name))
    classes = (attributes.get("class") or "").split()
    if not REMOVED.isdisjoint(classes) or (name == "form" and _writes(attributes, addresses)):
        return _Tag("gone")
    made: dict[str, str | None] = {}
    for key, value in attributes.items():
        if value is None or not _is_url(key, value, addresses):
            made[key] = mask(value) if value and (key in WORDS or key.startswith("data-")) else value
            continue
        target = addresses.target(value)
        if target.fate in ("own", "outside"):
            made[key] = target.url
        elif name == "a" and key == "href":
            if target.fate == "gone" or "button" in classes:
                return _Tag("gone")
            kept = {kept: attributes[kept] for kept in KEPT if kept in attributes}
            kept["class"] = " ".join(word for word in classes if word not in LINKS)
            return _Tag(target.fate, _write_tag("span", kept))
        elif key in ("href", "src", "hx-get", "hx-post", "formaction"):
            return _Tag("gone")
    return _Tag("", token if made == attributes else _write_tag(name, made, is_closed=token.endswith("/>")))


def _is_url(key: str, value: str, addresses: Addresses) -> bool:
    own = (f"/p/{addresses.shared.project.slug}/", "/api/v1/")
    return key in URLS or key.endswith("url") or (key.startswith("data-") and value.startswith(own))


def _writes(attributes: dict[str, str | None], addresses: Addresses) -> bool:
    """Whether a form does anything but ask for its own page again; the theme's is ours."""
    action = attributes.get("action")
    if action is not None:
        return addresses.target(action).fate != "own"
    return (attributes.get("method") or "get").lower() != "get"


def _skip(tokens: Iterator[str], name: str) -> None:
    """Read to the end tag of an element that is open."""
    if name in VOID:
        return
    depth = 1
    for token in tokens:
        if _name(token) == name and not token.endswith("/>"):
            depth += -1 if token[1] == "/" else 1
            if not depth:
                return


def _name(token: str) -> str:
    name = NAME.match(token)
    return name[1].lower() if name else ""


def _classes(token: str, name: str) -> list[str]:
    return (dict(_attributes(token, name)).get("class") or "").split()


def _attributes(token: str, name: str) -> Iterator[tuple[str, str | None]]:
    """Yield the attributes of a start tag, unescaped; one without a value has None."""
    for key, value in ATTRIBUTE.findall(token[1 + len(name) : -1]):
        bare = value[1:-1] if value[:1] in ('"', "'") else value
        yield key, unescape(bare) if value else None


def _write_tag(name: str, attributes: dict[str, str | None], *, is_closed: bool = False) -> str:
    words = [key if value is None else f'{key}="{escape(value)}"' for key, value in attributes.items()]
    return f"<{' '.join([name, *words])}{' /' if is_closed else ''}>"
