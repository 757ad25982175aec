"""Template loader: removes the whitespace that only lays out a template, once, when the template is loaded.

Templates are written one element a line and sent without their indentation. "Tag" means a tag of HTML or of
Django (`{% %}`); `{{ }}` counts as text. Each run of whitespace follows the first rule that applies:

1. in `<pre>`, `<textarea>`, `<script>`, `<style>` and `{% verbatim %}`: kept as written;
2. after an opening tag and before a closing one, so also inside the edges of `{% if %}`: removed;
3. between two tags, and at both ends of a file: removed;
4. within text, and between text and the outside of a tag: one space if it breaks a line, else kept;
5. between attributes: one space, inside the `{% if %}` that an attribute depends on, and none before the end
   of the tag. Names of attributes contain no tags, and values are quoted;
6. in the value of an attribute a line break with its indentation: removed beside a tag of Django and at both
   ends, else one space. Other whitespace in a value is kept.

`{{ " " }}` is one space where rules 2 and 3 would remove it. Invariant: the result does not depend on the
layout that a formatter chooses. Cost: one pass per template and process, none per request, because Django
caches compiled templates. A drawback: the message of a template error shows a condensed line.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from django.template import Origin
from django.template.loaders import filesystem

DJANGO = r"\{%.*?%\}|\{\{.*?\}\}|\{\#.*?\#\}"
QUOTED = rf""""(?:{DJANGO}|[^"])*+"|'(?:{DJANGO}|[^'])*+'"""
SPACE = r"""\{\{\s*(?:"\ "|'\ ')\s*\}\}"""
TAG = re.compile(
    rf"""
    (?P<dropped>\{{\#.*?\#\}}|<!--.*?-->)
    | (?P<space>{SPACE})
    | \{{%\s*(?P<django>\w+).*?%\}}
    | <(?P<slash>/?)(?P<html>!?[A-Za-z][\w-]*)(?:{DJANGO}|{QUOTED}|[^>"'])*+>
    """,
    re.VERBOSE | re.DOTALL,
)
ATTRIBUTES = re.compile(
    rf"(?P<quoted>{QUOTED})|(?P<gap>\s+)|\{{%\s*(?P<django>\w+).*?%\}}|{DJANGO}|[^\s\"'{{]+|.", re.DOTALL
)
BREAK = re.compile(r"\s*\n\s*")
MIDDLE = {"else", "elif", "empty"}
VERBATIM = {"pre", "textarea", "script", "style", "verbatim"}
VOID = {
    "!doctype",
    "area",
    "base",
    "br",
    "col",
    "embed",
    "hr",
    "img",
    "input",
    "link",
    "meta",
    "source",
    "track",
    "wbr",
}


@dataclass(frozen=True, slots=True)
class Token:
    """A tag or a run of text; whitespace after one that `opens` and before one that `closes` is removed."""

    text: str
    is_text: bool = False
    opens: bool = False
    closes: bool = False


EDGE = Token("", opens=True, closes=True)


class Loader(filesystem.Loader):
    """Django's loader of the folders in DIRS, with the rules above."""

    def get_contents(self, origin: Origin) -> str:
        return condense(super().get_contents(origin))


def condense(source: str) -> str:
    """Return the template without the whitespace of its layout."""
    return "".join(_parts(_tokens(source)))


def _parts(tokens: Iterator[Token]) -> Iterator[str]:
    """Yield the tokens and the remaining whitespace between them."""
    before, gap = EDGE, ""
    for token in tokens:
        if not token.is_text:
            yield _remaining(gap, before, token)
            yield token.text
            before, gap = token, ""
            continue
        text = token.text.strip()
        start = token.text.find(text) if text else len(token.text)
        gap += token.text[:start]
        if text:
            yield _remaining(gap, before, token)
            yield BREAK.sub(" ", text)
            before, gap = token, token.text[start + len(text) :]
    yield _remaining(gap, before, EDGE)


def _remaining(gap: str, before: Token, after: Token) -> str:
    """Return the remaining whitespace between two tokens."""
    if before.opens or after.closes or not (before.is_text or after.is_text):
        return ""
    return " " if "\n" in gap else gap


def _tokens(source: str) -> Iterator[Token]:
    """Split a template into tags and text."""
    blocks = set(re.findall(r"\{%\s*end(\w+)", source))
    at = 0
    while tag := TAG.search(source, at):
        if tag.start() > at:
            yield Token(source[at : tag.start()], is_text=True)
        yield _tag(tag, blocks)
        at = tag.end()
        name = tag["django"] or tag["html"] or ""
        if name.lower() in VERBATIM and not tag["slash"]:
            end = re.compile(rf"</{name}\s*>|\{{%\s*end{name}\b").search(source, at)
            until = end.start() if end else len(source)
            yield Token(source[at:until])
            at = until
    if at < len(source):
        yield Token(source[at:], is_text=True)


def _tag(tag: re.Match[str], blocks: set[str]) -> Token:
    """Return the token of one match of TAG."""
    text = tag[0]
    if tag["dropped"]:
        return Token("")
    if tag["space"]:
        return Token(" ", opens=True, closes=True)
    if name := tag["django"]:
        middle = name in MIDDLE
        return Token(text, opens=name in blocks or middle, closes=name.startswith("end") or middle)
    if tag["slash"]:
        return Token(text, closes=True)
    is_void = text.endswith("/>") or tag["html"].lower() in VOID
    end = "/>" if text.endswith("/>") else ">"
    return Token("".join(_attributes(text.removesuffix(end), blocks)) + end, opens=not is_void)


def _attributes(tag: str, blocks: set[str]) -> Iterator[str]:
    """Yield the parts of an HTML tag, the whitespace between them condensed."""
    is_due = False  # a space, before the next attribute
    for part in ATTRIBUTES.finditer(tag):
        name = part["django"] or ""
        if part["gap"]:
            is_due = True
        elif name in blocks or name in MIDDLE or name.startswith("end"):
            yield part[0]
            is_due = True
        else:
            yield " " * is_due + (_value(part[0]) if part["quoted"] else part[0])
            is_due = False


def _value(quoted: str) -> str:
    """Return a quoted value without the line breaks of its layout."""
    value = quoted[1:-1].strip() if "\n" in quoted else quoted[1:-1]
    return quoted[0] + BREAK.sub(_break, value) + quoted[-1]


def _break(newline: re.Match[str]) -> str:
    """Return the replacement of a line break in a value."""
    is_beside_tag = newline.string.endswith("%}", 0, newline.start()) or newline.string.startswith(
        "{%", newline.end()
    )
    return "" if is_beside_tag else " "
