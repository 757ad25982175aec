"""The name of a browser and its system, from a User-Agent header. Pure; headers are claims, not facts."""

from __future__ import annotations

import re

# In this order: browsers name the ones they derive from, too.
_BROWSERS = (
    ("Edge", r"Edg(?:e|A|iOS)?/"),
    ("Opera", r"OPR/"),
    ("Samsung Internet", r"SamsungBrowser/"),
    ("Firefox", r"(?:Firefox|FxiOS)/"),
    ("Chrome", r"(?:Headless)?(?:Chrome|CriOS)/"),
    ("Safari", r"Version/\S+ .*Safari/"),
)
_SYSTEMS = (
    ("iOS", r"iPhone|iPad"),
    ("Android", r"Android"),
    ("Windows", r"Windows"),
    ("macOS", r"Mac OS X"),
    ("ChromeOS", r"CrOS"),
    ("Linux", r"Linux"),
)


def browser(user_agent: str) -> str:
    """Return "Firefox on macOS", the first word for another program, "unknown" for an empty header."""
    name = _first(_BROWSERS, user_agent)
    if not name:
        return re.split(r"[/\s]", user_agent.strip(), maxsplit=1)[0] or "unknown"
    system = _first(_SYSTEMS, user_agent)
    return f"{name} on {system}" if system else name


def _first(names: tuple[tuple[str, str], ...], user_agent: str) -> str:
    return next((name for name, pattern in names if re.search(pattern, user_agent)), "")
