"""A tag that includes a partial and caches its HTML by the values it shows."""

from collections.abc import Hashable
from functools import lru_cache

from django import template
from django.template.loader import render_to_string

register = template.Library()

CACHE_SIZE = 2_000  # partials per process: about 2 kB per row, at most 10 kB per tool call


@register.simple_tag
@lru_cache(maxsize=CACHE_SIZE)
def cached_partial(name: str, dom_id: str, panel: Hashable) -> str:
    """Render a panel inside another one. The partial shows only `dom_id` and `panel`: the cache key."""
    return render_to_string(name, {"id": dom_id, "panel": panel, "oob": False})
