"""Error pages: bugs, refused requests, missing pages, an unavailable database. They reveal no details.

A page of a project keeps its navigation for those who may see the project. All others use the request only:
no database query. So does every page as soon as the navigation cannot be rendered. While the database is
unavailable, visitors with the cookie of a session keep the links to the pages of the URL's project.
"""

import logging
import re
from math import ceil

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db import Error
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.template.loader import render_to_string
from django.utils.deprecation import MiddlewareMixin

from dashboard.web.appearance import look
from recorder.database.errors import as_busy

PROJECT = re.compile(r"/p/([-\w]+)/")

log = logging.getLogger(__name__)

UNAVAILABLE = 503
API = "/api/v1/"
INTERNAL = "A bug of Loopscope: the log has its traceback. No recorded data is lost."


class DatabaseUnavailable(MiddlewareMixin):
    """Middleware for pages; the read API has its own handler with a JSON body."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Answer 503 if the database is unavailable; other exceptions are bugs."""
        busy = as_busy(error)
        if busy is None:
            return None
        response = _page(request, UNAVAILABLE)
        response["Retry-After"] = str(ceil(busy.retry_after_ms / 1000))
        return response

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Add a page to an empty 405 response, for people who enter the URL of a form."""
        if response.status_code != 405 or not isinstance(response, HttpResponse) or response.content:
            return response
        page = _page(request, 405)
        page["Allow"] = response["Allow"]
        return page


class ProjectArchived(PermissionDenied):
    """The project of a request is archived, and the request would change it."""

    def __init__(self) -> None:
        super().__init__("The project is archived: it can be read, and restored by its admins.")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 403; Django's handler403."""
    return _page(request, 403, "403_archived" if isinstance(exception, ProjectArchived) else "")


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer 403 to a form without a valid CSRF token; Django's CSRF_FAILURE_VIEW. `reason` is not shown."""
    return _page(request, 403, "403_csrf")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 404; Django's handler404."""
    return _page(request, 404)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer 500, the read API's with a JSON body; Django's handler500."""
    if request.path_info.startswith(API):
        return JsonResponse({"code": "internal", "message": INTERNAL}, status=500)
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
    if status == UNAVAILABLE:
        shown |= {"is_outage": True, "outage_slug": _slug(request)}
    template = f"{name or status}.html"
    html = _with_navigation(request, template, shown)
    return HttpResponse(html or render_to_string(template, shown), status=status)


def _slug(request: HttpRequest) -> str:
    """Return the project's name in the URL if the request has a session cookie, else ""."""
    match = PROJECT.match(request.path_info) if settings.SESSION_COOKIE_NAME in request.COOKIES else None
    return match[1] if match else ""


def _with_navigation(request: HttpRequest, template: str, shown: dict[str, object]) -> str:
    """Render the page, with navigation if the visitor may see the URL's project; "" if that fails."""
    try:
        return render_to_string(template, shown, request)
    except Error:
        return ""
    except Exception:  # outermost frame: a bug in the navigation must not hide the first error
        log.exception("the navigation of an error page was not rendered")
        return ""
