"""The time range that a browser chose last on a page, in a cookie of the page's path.

Only the bare address of a page opens at it: a link with parameters shows the same records to everybody.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect

from dashboard.web.appearance import YEAR_S
from dashboard.web.time_range import CALENDAR

NAME = "since"

View = Callable[..., HttpResponseBase]


def remembers_period(windows: Collection[str], usual: str) -> Callable[[View], View]:
    """Decorate a page with these time ranges: a chosen one is kept, and the page opens at it.

    `usual`, the page's default, is not kept, and neither are times of a custom range. A cookie with anything
    else is ignored.
    """
    valid = {*windows, *CALENDAR} - {usual}

    def decorate(view: View) -> View:
        @wraps(view)
        def opened(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            kept = request.COOKIES.get(NAME, "")
            if not request.GET and kept in valid:
                return HttpResponseRedirect(f"{request.path}?{NAME}={kept}")
            response = view(request, *args, **kwargs)
            chosen = request.GET.get(NAME, "")
            if response.status_code != 200:
                return response
            if kept and chosen == usual:
                response.delete_cookie(NAME, path=request.path, samesite="Lax")
            elif chosen in valid and chosen != kept:
                response.set_cookie(
                    NAME,
                    chosen,
                    max_age=YEAR_S,
                    path=request.path,
                    secure=request.is_secure(),
                    httponly=True,
                    samesite="Lax",
                )
            return response

        return opened

    return decorate
