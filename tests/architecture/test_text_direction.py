"""Recorded text has the direction of its own language: it is in an element with `dir="auto"`, or in <bdi>."""

import re
from html.parser import HTMLParser

from tests.architecture.tree import TEMPLATES, name_of

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
# Elements that show no markup.
PLAIN = {"title", "textarea", "option"}
# What ends in one of these names, or passes one of these filters, is recorded text.
NAMES = (
    *("title", "summary", "text", "answer", "activity", "rejection", "arguments", "error", "reason"),
    *("progress", "command", "first_words", "excerpt", "prompt", "instead", "whole"),
)
FILTERS = ("markdown", "body", "whole")
# The product's own words, by the file or the expression that has them.
OWN_FILES = (
    "costs",
    "leaderboard",
    "settings",
    "integrity",
    "account",
    "masking",
    "people",
    "views",
    "connect",
    "shell/_attention",
)
OWN = {
    "error",  # of a form
    "summary",  # the rendered panel
    "title",  # the page's or the section's
    "item.link.title",
    "facet.title",
    "settings.title",
    "zone.title",
    "zone.title|lower",
    "row.waste.title",
    "bar.text",
    "cut.text",
    "names.text",
    "value.text",
    "figure.text",
    "group.reason",
}
COUNT = re.compile(r"(total|unseen|stale|count|sessions|turns)\.text$")
# Parts of a text whose element is in the template that includes them.
WITHIN = {
    "session/text/full_part.html": "session/text/full.html",
    "search_text/snippet.html": "search_text/group.html",
}
TAG = re.compile(r"\{%.*?%\}|\{#.*?#\}", re.S)
BLOCK = re.compile(r"\{%\s*block title\s*%\}.*?\{%\s*endblock", re.S)
OUTPUT = re.compile(r"\{\{(.*?)\}\}", re.S)


class Reader(HTMLParser):
    """Finds the expressions of a template that no element gives a direction."""

    def __init__(self):
        super().__init__()
        self.open, self.found = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            about = dict(attrs)
            is_shown = tag not in PLAIN and "visually-hidden" not in (about.get("class") or "")
            has_direction = tag == "bdi" or "dir" in about or not is_shown
            self.open.append((tag, has_direction))

    def handle_startendtag(self, tag, attrs):
        """Ignore an element without content."""

    def handle_endtag(self, tag):
        names = [name for name, _ in self.open]
        if tag in names:
            del self.open[len(names) - 1 - names[::-1].index(tag) :]

    def handle_data(self, data):
        if not any(has_direction for _, has_direction in self.open):
            self.found += [expression.strip() for expression in OUTPUT.findall(data)]


def without_direction(source):
    reader = Reader()
    reader.feed(TAG.sub(" ", BLOCK.sub(" ", source)))
    return [expression for expression in reader.found if is_recorded(expression)]


def is_recorded(expression):
    value, *filters = expression.split("|")
    if (
        expression in OWN
        or COUNT.search(value)
        or any(each.startswith(("plural", "size", "exact")) for each in filters)
    ):
        return False
    return value.rpartition(".")[2] in NAMES or any(each in FILTERS for each in filters)


def test_every_recorded_text_has_a_direction_of_its_own():
    wrong = [
        f"{name}: {expression}"
        for file in TEMPLATES
        if (name := name_of(file).removeprefix("templates/")) not in WITHIN and not name.startswith(OWN_FILES)
        for expression in without_direction(file.read_text())
    ]
    assert wrong == []


def test_a_text_without_a_direction_is_found():
    assert without_direction('<p>{{ turn.answer }}</p><p dir="auto">{{ turn.answer }}</p>') == ["turn.answer"]
    assert without_direction("<div>{% if a %}{{ text.text|markdown }}{% endif %}</div>") == [
        "text.text|markdown"
    ]
    assert without_direction("<li>{{ panel.total.text }} {{ row.words|plural:'word' }}</li>") == []


def test_what_is_included_has_the_direction_of_its_element():
    names = {name_of(file).removeprefix("templates/"): file for file in TEMPLATES}
    for part, whole in WITHIN.items():
        assert part in names
        assert re.search(rf'dir="auto"[^<]*>[^<]*\{{% include "{part}"', names[whole].read_text()), whole
