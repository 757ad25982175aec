"""A model of a page in a browser: loaded once, then changed only by frames."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser

VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}
FRAME = re.compile(r"<!--frame (\d+)-->")


@dataclass(eq=False)
class Element:
    """One element; its text is among its children."""

    tag: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)
    parent: Element | None = None

    @property
    def id(self) -> str:
        return self.attributes.get("id", "")

    @property
    def elements(self) -> list[Element]:
        return [child for child in self.children if isinstance(child, Element)]

    def walk(self) -> Iterator[Element]:
        yield self
        for child in self.elements:
            yield from child.walk()

    def find(self, dom_id: str) -> Element | None:
        return next((element for element in self.walk() if element.id == dom_id), None)

    def html(self, indent: str = "") -> str:
        """Return the element as text with one node a line, for readable differences."""
        attributes = "".join(f' {name}="{escape(value)}"' for name, value in sorted(self.attributes.items()))
        inner = "".join(_line(child, indent + "  ") for child in self.children)
        return f"{indent}<{self.tag}{attributes}>\n{inner}"


def _line(child: Element | str, indent: str) -> str:
    if isinstance(child, Element):
        return child.html(indent)
    text = " ".join(child.split())
    return f"{indent}{text}\n" if text else ""


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = self.open = Element("root", {})

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs}, parent=self.open)
        self.open.children.append(element)
        if tag not in VOID:
            self.open = element

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.tag == tag, f"</{tag}> closes <{self.open.tag}>"
        assert self.open.parent is not None
        self.open = self.open.parent

    def handle_data(self, data: str) -> None:
        self.open.children.append(data)


def parse(html: str) -> Element:
    """Parse a page or a fragment. Unbalanced tags fail the test."""
    parser = _Parser()
    parser.feed(html)
    parser.close()
    assert parser.open is parser.root, f"<{parser.open.tag}> is not closed"
    return parser.root


class ShownPage:
    """An open page."""

    def __init__(self, html: str) -> None:
        self.root = parse(html)
        self.frames = 0
        self.pushed: set[str] = set()

    def show(self, frame: str) -> str:
        """Apply one frame as `static/js/live/morph.js` does; return the acknowledgement."""
        number = FRAME.match(frame)
        assert number, frame[:80]
        for fresh in parse(frame[number.end() :]).elements:
            self._swap(fresh)
        self.frames = int(number[1])
        return json.dumps({"ack": self.frames})

    def _swap(self, fresh: Element) -> None:
        how = fresh.attributes.pop("hx-swap-oob")
        old = self.root.find(fresh.id)
        self.pushed.add(fresh.id)
        if old is None:
            if how != "delete":
                self._place(fresh)
            return
        assert old.parent is not None
        at = next(n for n, child in enumerate(old.parent.children) if child is old)
        fresh.parent = old.parent
        old.parent.children[at : at + 1] = [] if how == "delete" else [fresh]

    def _place(self, fresh: Element) -> None:
        into = self.root.find(fresh.attributes.get("data-into", "nowhere"))
        if into is None:
            return
        order = int(fresh.attributes["data-order"])
        if order < int(into.attributes.get("data-first", order)):
            return
        fresh.parent = into
        later = [
            n
            for n, child in enumerate(into.children)
            if isinstance(child, Element) and int(child.attributes.get("data-order", order)) > order
        ]
        into.children.insert(later[0] if later else len(into.children), fresh)


def parts(root: Element, *, is_list: bool) -> dict[str, str]:
    """Return the elements to compare with a reload: each panel of a list, else the whole page."""
    for element in root.walk():
        if element.attributes.get("name") == "csrfmiddlewaretoken":
            element.attributes["value"] = ""
        element.attributes.pop("ws-connect", None)
        element.attributes.pop("data-now", None)
    if not is_list:
        return {"body": next(element for element in root.walk() if element.tag == "body").html()}
    return {one.id: one.html() for one in root.walk() if one.id.startswith(("sessions-", "shell-"))}


def remove_new_panels(mine: dict[str, str], fresh: dict[str, str]) -> None:
    """Remove panels that only one page has: new sessions are behind the strip until the user loads them.

    With new rows, the scale of the most expensive row may differ, too.
    """
    new = fresh.keys() ^ mine.keys()
    scales = {name for name in fresh if name.startswith("sessions-cost-scale-")} if new else set()
    for name in new | scales:
        mine.pop(name, None)
        fresh.pop(name, None)
