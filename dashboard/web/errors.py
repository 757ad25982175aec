"""Error pages: bugs, refused requests, an unavailable database.

They use the request only: no database query, and no details of the error.
"""

from math import ceil

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.template.loader import render_to_string
from django.utils.deprecation import MiddlewareMixin

from dashboard.web.appearance import look
from recorder.database.errors import as_busy


class DatabaseUnavailable(MiddlewareMixin):
    """Middleware for pages; the read API has its own handler with a JSON body."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Answer 503 if the database is unavailable; other exceptions are bugs."""
        busy = as_busy(error)
        if busy is None:
            return None
        response = _page(request, 503)
        response["Retry-After"] = str(ceil(busy.retry_after_ms / 1000))
        return response

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Add a page to an empty 405 response, for people who enter the URL of a form."""
        if response.status_code != 405 or not isinstance(response, HttpResponse) or response.content:
            return response
        page = _page(request, 405)
        page["Allow"] = response["Allow"]
        return page


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer 500; Django's handler500."""
    return _page(request, 500)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 400; Django's handler400."""
    return _page(request, 400)


def refused(request: HttpRequest, reason: str, status: int = 400) -> HttpResponse:
    """Answer a refused form with the reason. The pages send no such form: it is outdated or forged."""
    return _page(request, status, "refused", reason)


def _page(request: HttpRequest, status: int, name: str = "", reason: str = "") -> HttpResponse:
    can_repeat = request.method in ("GET", "HEAD")
    shown = {**look(request), "can_repeat": can_repeat, "why": reason}
    return HttpResponse(render_to_string(f"{name or status}.html", shown), status=status)
