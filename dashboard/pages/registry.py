"""List of all pages: source of the routes, live panels, navigation, keys and commands of the palette.

A page is its folder here, its folder in `templates/` and its entry in `PAGES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dashboard.live import static_page
from dashboard.live.consumers import OpenPage
from dashboard.pages.attention import live as attention_live
from dashboard.pages.attention.urls import urlpatterns as attention_urls
from dashboard.pages.audit.urls import urlpatterns as audit_urls
from dashboard.pages.calls.urls import urlpatterns as calls_urls
from dashboard.pages.compactions import detail_live as compaction_detail
from dashboard.pages.compactions import list_live as compactions_list
from dashboard.pages.compactions.urls import urlpatterns as compactions_urls
from dashboard.pages.compare.urls import urlpatterns as compare_urls
from dashboard.pages.connect import live as connect_live
from dashboard.pages.connect.urls import urlpatterns as connect_urls
from dashboard.pages.context import live as context_live
from dashboard.pages.context.urls import urlpatterns as context_urls
from dashboard.pages.costs import live as costs_live
from dashboard.pages.costs.urls import urlpatterns as costs_urls
from dashboard.pages.demo.urls import urlpatterns as demo_urls
from dashboard.pages.evaluations import detail_live as evaluation_detail
from dashboard.pages.evaluations import list_live as evaluations_list
from dashboard.pages.evaluations.urls import urlpatterns as evaluations_urls
from dashboard.pages.files.urls import urlpatterns as files_urls
from dashboard.pages.flame import live as flame_live
from dashboard.pages.flame.urls import urlpatterns as flame_urls
from dashboard.pages.insights.urls import urlpatterns as insights_urls
from dashboard.pages.integrity import live as integrity_live
from dashboard.pages.integrity.urls import urlpatterns as integrity_urls
from dashboard.pages.leaderboard.urls import urlpatterns as leaderboard_urls
from dashboard.pages.masking.urls import urlpatterns as masking_urls
from dashboard.pages.notes.urls import urlpatterns as notes_urls
from dashboard.pages.people.urls import urlpatterns as people_urls
from dashboard.pages.search.urls import urlpatterns as search_urls
from dashboard.pages.search_text import live as search_text_live
from dashboard.pages.search_text.urls import urlpatterns as search_text_urls
from dashboard.pages.session import live as session_live
from dashboard.pages.session.urls import urlpatterns as session_urls
from dashboard.pages.sessions import live as sessions_live
from dashboard.pages.sessions.urls import urlpatterns as sessions_urls
from dashboard.pages.settings.urls import urlpatterns as settings_urls
from dashboard.pages.share.urls import urlpatterns as share_urls
from dashboard.pages.views.urls import urlpatterns as views_urls
from dashboard.pages.what_if.urls import urlpatterns as what_if_urls
from dashboard.shell.live import with_shell
from dashboard.shell.page import NavLink, PageFolder

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
    from django.http import HttpRequest, QueryDict

    from dashboard.live.viewer import LivePage
    from recorder.access.rights import Right
    from recorder.models import Project

PAGES: tuple[PageFolder, ...] = (
    PageFolder(
        name="sessions",
        urls=sessions_urls,
        live={"sessions": sessions_live.open_page},
        link=NavLink(title="Sessions", icon="list-tree", command="Go to sessions", key="g s"),
    ),
    PageFolder(
        name="search_text",
        urls=search_text_urls,
        live={"search_text": search_text_live.open_page},
        link=NavLink(title="Search", icon="search", command="Search all text", key="g f"),
    ),
    PageFolder(
        name="session",
        urls=session_urls,
        live={"session": session_live.open_page},
    ),
    PageFolder(
        name="notes",
        urls=notes_urls,
    ),
    PageFolder(
        name="attention",
        urls=attention_urls,
        live={"attention": attention_live.open_page},
        link=NavLink(title="Attention", icon="bell", command="Go to attention", key="g a", has_count=True),
    ),
    PageFolder(
        name="evaluations",
        urls=evaluations_urls,
        live={"evaluations": evaluations_list.open_page, "evaluation": evaluation_detail.open_page},
        link=NavLink(title="Evaluations", icon="columns-3", command="Go to evaluations", key="g e"),
    ),
    PageFolder(
        name="leaderboard",
        urls=leaderboard_urls,
        live={"leaderboard": static_page.open_page},
        link=NavLink(title="Leaderboard", icon="trophy", command="Go to the leaderboard", key="g l"),
    ),
    PageFolder(
        name="costs",
        urls=costs_urls,
        live={"costs": costs_live.open_page},
        link=NavLink(title="Costs", icon="circle-dollar-sign", command="Go to costs", key="g c"),
    ),
    PageFolder(
        name="context",
        urls=context_urls,
        live={"context": context_live.open_page},
        link=NavLink(title="Context & cache", icon="layers", command="Go to context and cache", key="g x"),
    ),
    PageFolder(
        name="what_if",
        urls=what_if_urls,
    ),
    PageFolder(
        name="compactions",
        urls=compactions_urls,
        live={"compactions": compactions_list.open_page, "compaction": compaction_detail.open_page},
        link=NavLink(title="Compactions", icon="fold-vertical", command="Go to compactions", key="g o"),
    ),
    PageFolder(
        name="calls",
        urls=calls_urls,
        link=NavLink(title="Calls", icon="wrench", command="Go to tool calls", key="g t"),
    ),
    PageFolder(
        name="files",
        urls=files_urls,
    ),
    PageFolder(
        name="insights",
        urls=insights_urls,
        live={"insights": static_page.open_page},
        link=NavLink(title="Insights", icon="lightbulb", command="Go to insights", key="g n"),
    ),
    PageFolder(
        name="integrity",
        urls=integrity_urls,
        live={"integrity": integrity_live.open_page},
        link=NavLink(title="Integrity", icon="shield-check", command="Go to integrity", key="g i"),
    ),
    PageFolder(
        name="settings",
        urls=settings_urls,
        live={"settings": static_page.open_page},
        link=NavLink(title="Settings", icon="settings", command="Open settings", is_secondary=True),
    ),
    PageFolder(
        name="people",
        urls=people_urls,
        live={"people": static_page.open_page},
    ),
    PageFolder(
        name="audit",
        urls=audit_urls,
        live={"audit": static_page.open_page},
    ),
    PageFolder(
        name="share",
        urls=share_urls,
        live={"share": static_page.open_page},
    ),
    PageFolder(
        name="masking",
        urls=masking_urls,
        live={"masking": static_page.open_page},
    ),
    PageFolder(
        name="views",
        urls=views_urls,
        live={"views": static_page.open_page},
    ),
    PageFolder(
        name="connect",
        urls=connect_urls,
        live={"connect": connect_live.open_page},
        link=NavLink(
            title="Connect an agent", icon="plus", command="Connect an agent", key="g k", is_secondary=True
        ),
    ),
    PageFolder(
        name="search",
        urls=search_urls(lambda: PAGES),
    ),
    PageFolder(
        name="compare",
        urls=compare_urls,
    ),
    PageFolder(
        name="flame",
        urls=flame_urls,
        live={"flame": flame_live.open_page},
    ),
    PageFolder(
        name="demo",
        urls=demo_urls,
    ),
)


def navigation(_request: HttpRequest) -> dict[str, object]:
    """Context processor: add the pages that have a link in the navigation."""
    linked = [page for page in PAGES if page.link]
    return {
        "main_pages": [page for page in linked if page.link and not page.link.is_secondary],
        "secondary_pages": [page for page in linked if page.link and page.link.is_secondary],
    }


def _in_shell(open_page: OpenPage) -> OpenPage:
    """Add the panels of the shell to a live page."""

    def opened(project: Project, user: AbstractBaseUser | AnonymousUser, params: QueryDict) -> LivePage:
        return with_shell(open_page(project, user, params), user.pk or 0)

    return opened


LIVE_PAGES: Mapping[str, OpenPage] = {
    name: _in_shell(open_page) for page in PAGES for name, open_page in page.live.items()
}
LIVE_RIGHTS: Mapping[str, Right] = {name: page.right for page in PAGES for name in page.live}
# What share links show live; without the panels of the shell.
SHARED_PAGES: Mapping[str, OpenPage] = {
    "session": session_live.open_page,
    "evaluation": evaluation_detail.open_page,
    "sessions": sessions_live.open_shared,
    "evaluations": evaluations_list.open_shared,
}
