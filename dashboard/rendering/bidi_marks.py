"""Bidirectional control characters in shown text: isolated and made visible, as code editors do.

Such a character reorders the text around it, so a command can read as another one (CVE-2021-42574). Each one
is put into a `<bdi>` of its own, where it orders nothing but itself; the style sheet shows its code point by
a pseudo-element, so a copy has the character and nothing else. This is done once for the HTML of a template,
by `markdown.mark_controls`: `Templates` is the backend of every page and panel.

Cost: one search per character for HTML without any, one pass over it otherwise.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.template.backends.django import DjangoTemplates
from django.template.backends.django import Template as DjangoTemplate
from django.utils.safestring import SafeString

from dashboard.rendering.markdown import mark_controls


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
