"""What is shown when nothing can be: a bug, a request that is not obeyed, a store that does not answer now.

These pages know the request alone. They ask no database, and say nothing of what went wrong inside.
"""

from math import ceil

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.template.loader import render_to_string
from django.utils.deprecation import MiddlewareMixin

from dashboard.web.appearance import look
from recorder.database.errors import as_busy


class Away(MiddlewareMixin):
    """Middleware for pages; the read API says the same in its own words."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Answer 503 if the store is away, and let everything else be a bug."""
        busy = as_busy(error)
        if busy is None:
            return None
        response = _page(request, 503)
        response["Retry-After"] = str(ceil(busy.retry_after_ms / 1000))
        return response

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Give words to an address that only takes forms: who enters it again would see an empty page."""
        if response.status_code != 405 or not isinstance(response, HttpResponse) or response.content:
            return response
        page = _page(request, 405)
        page["Allow"] = response["Allow"]
        return page


def broken(request: HttpRequest) -> HttpResponse:
    """Answer 500: Django's handler of bugs."""
    return _page(request, 500)


def senseless(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 400: Django's handler of requests that it cannot read."""
    return _page(request, 400)


def refused(request: HttpRequest, why: str, status: int = 400) -> HttpResponse:
    """Answer a form that is not obeyed, and say why: a stale or a forged one, the pages send none such."""
    return _page(request, status, "refused", why)


def _page(request: HttpRequest, status: int, name: str = "", why: str = "") -> HttpResponse:
    can_repeat = request.method in ("GET", "HEAD")
    shown = {**look(request), "can_repeat": can_repeat, "why": why}
    return HttpResponse(render_to_string(f"{name or status}.html", shown), status=status)
