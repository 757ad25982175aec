"""What the shell, the routes and the page socket know of a page: one `Page` for each folder of `pages/`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.urls import URLPattern

    from dashboard.live.page_socket import OpenPage


@dataclass(frozen=True, slots=True, kw_only=True)
class NavLink:
    """A page's link in the navigation; `command` is the same in the palette and on the sheet of keys."""

    title: str
    icon: str
    command: str
    key: str = ""  # as `data-key` names it: "g c"; no key if empty
    is_secondary: bool = False  # in the menu below, beside search and theme
    has_count: bool = False  # with the number of things that wait for the reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page, or a few that share a folder. `name` is that of the folder and of the page's main URL."""

    name: str
    urls: Sequence[URLPattern]  # under /p/<slug>/
    live: Mapping[str, OpenPage] = field(default_factory=dict)  # by name in the socket's address
    link: NavLink | None = None
    templates: str | None = None  # folder of its templates; without one it only redirects
