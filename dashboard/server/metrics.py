"""`GET /metrics` in Prometheus format, for a token with scope read or a signed-in user. No event content."""

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from dashboard.live.hub import hub
from dashboard.security.access import NotSignedIn, reader
from recorder.ingest.commit.writer import writer
from recorder.ingest.limits.byte_budget import budget
from recorder.ingest.metrics import CONTENT_TYPE, gauge, text
from recorder.search.state import greatest_lag


@csrf_exempt  # read only: nothing to forge
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer the counters and gauges of this process; 401 without sign-in, 403 without scope read."""
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
    behind = greatest_lag(timezone.now())
    return [
        gauge("loopscope_queue_bytes", "Received bytes that wait for their commit.", writer().waiting_bytes),
        gauge(
            "loopscope_in_flight_bytes", "Received bytes held in memory before they are queued.", budget.used
        ),
        gauge("loopscope_viewers", "Open pages.", hub.viewers),
        gauge(
            "loopscope_oldest_unacknowledged_seconds",
            "Age of the oldest batch without an acknowledgement.",
            writer().oldest_s(),
        ),
        gauge(
            "loopscope_spans_waiting_bytes",
            "Acknowledged spans that wait to be read.",
            writer().backlog.bytes,
        ),
        gauge(
            "loopscope_spans_waiting_seconds",
            "Age of the oldest acknowledged spans that wait to be read.",
            writer().backlog.oldest_s(),
        ),
        gauge(
            "loopscope_search_lag_seconds",
            "Age of the oldest event that is not in the search index.",
            behind.seconds,
        ),
        gauge("loopscope_search_lag_events", "Events that are not in the search index.", behind.events),
    ]
