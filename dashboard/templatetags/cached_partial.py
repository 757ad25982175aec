"""Partials that are drawn again and again of the same values: each is kept as it was drawn."""

from collections.abc import Hashable
from functools import lru_cache

from django import template
from django.template.loader import render_to_string

register = template.Library()

KEPT = 2_000  # partials that a process keeps, with the values they show: 2 kB a row, at most 10 a tool


@register.simple_tag(name="kept")
@lru_cache(maxsize=KEPT)
def drawn(name: str, dom_id: str, panel: Hashable) -> str:
    """Draw a panel inside another one. Its partial shows nothing but the panel, whose values are its key."""
    return render_to_string(name, {"id": dom_id, "panel": panel, "oob": False})
