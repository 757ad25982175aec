"""Bidirectional control characters in shown text: isolated and made visible, as code editors do.

Such a character reorders the text around it, so a command can read as another one (CVE-2021-42574). Each one
is put into a `<bdi>` of its own, where it orders nothing but itself; the style sheet shows its code point by
a pseudo-element, so a copy has the character and nothing else. This is done once for the HTML of a template:
`Templates` is the backend of every page and panel.

Cost: one search per character for HTML without any, one pass over it otherwise.
"""

from __future__ import annotations

import re
from typing import Any

from django.http import HttpRequest
from django.template.backends.django import DjangoTemplates
from django.template.backends.django import Template as DjangoTemplate
from django.utils.safestring import SafeString, mark_safe

CONTROLS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

# What is kept as it is: marks of an inner template, elements that have no elements inside, and tags.
_PARTS = re.compile(
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
    return mark_safe(_PARTS.sub(_marked, html))  # noqa: S308  as above; what is added is constant


def _marked(part: re.Match[str]) -> str:
    control = part["control"]
    if control is None:
        return part[0]
    return f'<bdi class="bidi-control" title="U+{ord(control):04X}">{control}</bdi>'


class Templates(DjangoTemplates):
    """Django's template engine, whose templates mark bidirectional controls."""

    def from_string(self, template_code: str) -> Any:
        return Template(super().from_string(template_code))

    def get_template(self, template_name: str) -> Any:
        return Template(super().get_template(template_name))


class Template:
    """A template of the engine."""

    def __init__(self, template: DjangoTemplate) -> None:
        self._template = template

    def __getattr__(self, name: str) -> Any:
        return getattr(self._template, name)

    def render(self, context: dict[str, Any] | None = None, request: HttpRequest | None = None) -> SafeString:
        return mark_controls(self._template.render(context, request))
