"""A database that does not answer now is told as that, and to try again: not as a bug of ours."""

from math import ceil

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.deprecation import MiddlewareMixin

from recorder.faults import passing


class Away(MiddlewareMixin):
    """Middleware for pages; the read API says the same in its own words."""

    def process_exception(self, _: HttpRequest, error: Exception) -> HttpResponse | None:
        """Answer 503 if the store is away, and let everything else be a bug."""
        busy = passing(error)
        if busy is None:
            return None
        again = str(ceil(busy.retry_after_ms / 1000))
        return HttpResponse(render_to_string("503.html"), status=503, headers={"Retry-After": again})
