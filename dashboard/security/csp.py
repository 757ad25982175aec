"""Response headers: the content security policy (own scripts and styles only, nothing inline), and private
caching, or none at all if `LOOPSCOPE_NO_STORE` is set.
"""

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "object-src 'none'",
    )
)

GetResponse = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]


class ContentSecurityPolicy:
    """Outermost middleware, so that error pages and static files have the policy too."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        response = self.get_response(request)
        return _with_policy(response) if isinstance(response, HttpResponseBase) else _await_policy(response)


async def _await_policy(response: Awaitable[HttpResponseBase]) -> HttpResponseBase:
    return _with_policy(await response)


def _with_policy(response: HttpResponseBase) -> HttpResponseBase:
    response.headers.setdefault("Content-Security-Policy", POLICY)
    response.headers.setdefault("Cache-Control", "private, no-cache")
    if settings.LOOPSCOPE_NO_STORE and response["Cache-Control"].startswith(
        "private"
    ):  # static files are public
        response.headers["Cache-Control"] = "no-store"
    return response
