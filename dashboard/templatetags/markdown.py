"""Markdown, and texts of tools, in templates."""

from django import template
from django.utils.safestring import SafeString

from dashboard.rendering import tool_text
from dashboard.rendering.markdown import markdown

register = template.Library()
register.filter("markdown", markdown)


@register.filter
def body(said: str) -> SafeString:
    """Draw a text, or the beginning of one: differences and a terminal's colours."""
    return tool_text.text(said, is_whole=False)


@register.filter
def whole(said: str) -> SafeString:
    """Draw a text that is all there: JSON folds."""
    return tool_text.text(said, is_whole=True)
