"""Template filters for Markdown and for texts of tools."""

from django import template
from django.utils.safestring import SafeString

from dashboard.rendering import tool_text
from dashboard.rendering.markdown import markdown

register = template.Library()
register.filter("markdown", markdown)  # its argument: names of members that the text mentions


@register.filter
def body(content: str) -> SafeString:
    """Render a text or its beginning: diffs and terminal colours, JSON unparsed."""
    return tool_text.text(content, is_whole=False)


@register.filter
def whole(content: str) -> SafeString:
    """Render a complete text: JSON as a foldable tree."""
    return tool_text.text(content, is_whole=True)
