"""Registration of a page: one `PageFolder` for each folder of `pages/`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from recorder.access.rights import Right

if TYPE_CHECKING:
    from django.urls import URLPattern

    from dashboard.live.consumers import OpenPage


@dataclass(frozen=True, slots=True, kw_only=True)
class NavLink:
    """A page's link in the navigation; `command` is its label in the palette and in the list of keys."""

    title: str
    icon: str
    command: str
    key: str = ""  # value of `data-key`, such as "g c"; "" for no key
    is_secondary: bool = False  # in the lower menu, with search and theme
    has_count: bool = False  # shows the attention count


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFolder:
    """The pages of one folder. `name` is the name of the folder and of the main URL."""

    name: str
    urls: Sequence[URLPattern]  # under /p/<slug>/
    live: Mapping[str, OpenPage] = field(default_factory=dict)  # by name in the URL of the socket
    right: Right = Right.READ  # the right that opens its sockets, and offers its command in the palette
    link: NavLink | None = None
