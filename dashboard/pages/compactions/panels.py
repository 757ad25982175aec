"""Panels of the compaction pages."""

from dashboard.live.panel import Panel
from dashboard.pages.compactions.queries import detail

SOON_MS = 1_000
EFFECT_MS = 3_000  # the panel reads whole requests

CONTENT = Panel("compactions/content", detail.contents, min_interval_ms=SOON_MS)
EFFECT = Panel("compactions/effect", detail.effects, min_interval_ms=EFFECT_MS)
