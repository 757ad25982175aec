"""The URLs of the search and of completion, under /p/<slug>/."""

from collections.abc import Callable, Iterable

from django.urls import URLPattern, path

from dashboard.pages.search import views
from dashboard.pages.search.complete import complete
from dashboard.shell.page import PageFolder


def urlpatterns(pages: Callable[[], Iterable[PageFolder]]) -> list[URLPattern]:
    """Return the URLs of the search, whose commands lead to each of `pages`."""
    return [
        path("find", views.find, {"pages": pages}, name="find"),
        path("complete", complete, name="complete"),
    ]
