"""Model calls whose sender reports no tokens: their usage and cost are unknown, which is not 0."""

import pytest

from dashboard.shared.session_json.usage import usage_and_cost
from recorder.ingest.otlp.bodies import lines_of
from recorder.models import LoopRecord, Session, Turn
from recorder.pricing import backfill
from recorder.projection.rebuild import rebuild
from tests.recorder.journal.spans import captures
from tests.recorder.journal.spans.test_endpoint import body, span

pytestmark = pytest.mark.django_db(transaction=True)
NAMES = ("gen_ai.operation.name", "gen_ai.request.model", "gen_ai.system")


def call(trace, *, error=False, tokens=None):
    values = [*zip(NAMES, ("chat", "gpt-4o", "openai"), strict=True)]
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in values]
    if tokens:
        names = ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens")
        attributes += [
            {"key": key, "value": {"intValue": count}} for key, count in zip(names, tokens, strict=True)
        ]
    attributes.append({"key": "gen_ai.conversation.id", "value": {"stringValue": "talk"}})
    status = {"status": {"code": 2, "message": "400"}} if error else {}
    return span(traceId=trace * 16, attributes=attributes, **status)


def recorded(project, *spans):
    captures.record(project, lines_of("traces", body(*spans), is_json=True).lines)
    return Session.objects.get()


def fields(record):
    found = usage_and_cost(record, "otlp", is_inferred=False)
    return {name: found[name] for name in ("usage", "buckets", "cost_usd", "unpriced")}


UNKNOWN = {"usage": None, "buckets": None, "cost_usd": None, "unpriced": True}


def test_a_call_without_tokens_is_of_unknown_usage_and_cost(project):
    session = recorded(project, call("ab"))
    assert [fields(each) for each in (session, LoopRecord.objects.get(), Turn.objects.get())] == [UNKNOWN] * 3
    rebuild(project)
    assert fields(Session.objects.get()) == UNKNOWN
    backfill.request(project, None, "a test")
    backfill.run_pending()
    assert fields(Session.objects.get()) == UNKNOWN


def test_a_sum_with_a_call_of_unknown_usage_says_so(project):
    session = recorded(project, call("ab"), call("cd", tokens=(1_000_000, 0)))
    found = fields(session)
    assert (found["usage"].input, found["buckets"], found["unpriced"]) == (1_000_000, None, True)
    assert found["cost_usd"] is not None


def test_a_failed_call_without_tokens_is_of_unknown_cost(project):
    """A call that timed out may be billed."""
    assert fields(recorded(project, call("ab", error=True))) == UNKNOWN
