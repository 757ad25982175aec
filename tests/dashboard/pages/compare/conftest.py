"""Comparisons of a signed-in user; events are sent through the real ingest."""

import re
from html import unescape

from tests.dashboard.pages.sessions.conftest import feed, project, see

__all__ = ["feed", "project", "row", "see", "text"]


def row(html, name):
    """Return the texts of the cells of a row."""
    found = re.search(rf"<tr[^>]*>\s*<th scope=\"row\">{re.escape(name)}</th>(.*?)</tr>", html, re.S)[1]
    return [text(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", found, re.S)]


def text(html):
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())
