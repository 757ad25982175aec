"""`GET /metrics`: what this node counts, for whoever may read a project; figures and nothing of an event."""

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from dashboard.live.hub import hub
from dashboard.security.access import NotSignedIn, reader
from recorder.ingest.byte_budget import budget
from recorder.ingest.metrics import CONTENT_TYPE, gauge, text
from recorder.ingest.writer import writer


@csrf_exempt  # there is nothing to forge: it is read only
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer a scraper with a token of scope read, or a signed-in person."""
    try:
        reader(request)
    except PermissionDenied:
        return HttpResponse("the token lacks the scope read\n", "text/plain", 403)
    except NotSignedIn:
        refused = HttpResponse("a bearer token with scope read is needed\n", "text/plain", 401)
        refused["WWW-Authenticate"] = 'Bearer realm="loopscope"'
        return refused
    return HttpResponse(text(_gauges()), CONTENT_TYPE, headers={"Cache-Control": "no-store"})


def _gauges() -> list[list[str]]:
    return [
        gauge("loopscope_queue_bytes", "Bytes that wait for their commit.", writer().waiting_bytes),
        gauge("loopscope_in_flight_bytes", "Bytes read and not yet handed on.", budget.used),
        gauge("loopscope_viewers", "Open pages.", hub.viewers),
        gauge(
            "loopscope_oldest_unacknowledged_seconds",
            "For how long the oldest batch has waited for its answer.",
            writer().oldest_s(),
        ),
    ]
