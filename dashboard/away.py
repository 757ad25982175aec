"""A database that does not answer now is told as that, and to try again: not as a bug of ours."""

from collections.abc import Awaitable, Callable
from math import ceil

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.template.loader import render_to_string

from recorder.faults import passing

GetResponse = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]


class Away:
    """Middleware for pages; the read API says the same in its own words."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Answer 503 if the store is away, and let everything else be a bug."""
        busy = passing(error)
        if busy is None:
            return None
        again = str(ceil(busy.retry_after_ms / 1000))
        return HttpResponse(render_to_string("503.html"), status=503, headers={"Retry-After": again})
