"""Markdown, and texts of tools, in templates."""

from django import template
from django.utils.safestring import SafeString

from dashboard import texts
from dashboard.markup import markdown

register = template.Library()
register.filter("markdown", markdown)


@register.filter
def body(said: str) -> SafeString:
    """Draw a text, or the beginning of one: differences and a terminal's colours."""
    return texts.text(said, is_whole=False)


@register.filter
def whole(said: str) -> SafeString:
    """Draw a text that is all there: JSON folds."""
    return texts.text(said, is_whole=True)
