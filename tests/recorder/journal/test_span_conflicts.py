"""Another content of a span that has ended is rejected if another token sends it."""

import json

import pytest

from recorder.access import tokens
from recorder.core.sources import OTLP
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.ingest.otlp.endpoint import PRODUCER
from recorder.models import AccessToken, JournalEvent, LoopRecord, QuarantinedLine, Session
from recorder.projection.rebuild import rebuild
from tests.recorder.core.formats.otlp import build
from tests.recorder.journal.spans import captures

pytestmark = pytest.mark.django_db(transaction=True)
AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "honest"}


@pytest.fixture
def honest(project):
    return token(project, "honest\x1b[31m")


@pytest.fixture
def hostile(project):
    return token(project, "hostile")


def token(project, name):
    tokens.issue(project, name, ["ingest"])
    return AccessToken.objects.get(name=name).pk


def send(project, token, *lines):
    return ingest(Batch(project.pk, PRODUCER, None, list(lines), OTLP, token=token))


def agent(number=1, session="honest", **about):
    return build.span(number, attributes=AGENT | {"gen_ai.conversation.id": session}, **about)


def unfinished(line):
    parsed = json.loads(line)
    del parsed["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["endTimeUnixNano"]
    return json.dumps(parsed).encode()


def sessions(project):
    return list(Session.objects.filter(project=project).values_list("session_id", flat=True))


def test_another_token_does_not_replace_a_span_that_has_ended(project, honest, hostile):
    call = build.span(2, 1, attributes=build.llm(), at=(0, 0.5))
    send(project, honest, agent(), call)
    before, lines = captures.shape(project), JournalEvent.objects.count()

    receipt = send(project, hostile, agent(session="stolen", at=(0, 9)), unfinished(call), agent())

    assert [(each.code, each.path) for each in receipt.rejected] == [("span_conflict", "")] * 2
    assert (receipt.accepted, receipt.duplicates) == (0, 1)
    assert (captures.shape(project), JournalEvent.objects.count()) == (before, lines)
    assert sessions(project) == ["honest"]
    first, _ = QuarantinedLine.objects.order_by("pk")
    assert (first.code, bytes(first.raw)) == ("span_conflict", agent(session="stolen", at=(0, 9)))
    assert first.message.startswith(
        "token 'hostile' sent another content of span 0000000000000001 than token "
    )
    assert "honest" in first.message
    assert "\x1b" not in first.message
    rebuild(project)
    assert captures.shape(project) == before


def test_the_same_token_may_send_a_newer_state(project, honest):
    send(project, honest, agent())

    receipt = send(project, honest, agent(session="moved", at=(0, 9)))

    assert receipt.rejected == []
    assert sessions(project) == ["moved"]


def test_a_span_that_has_not_ended_is_completed_by_any_token(project, honest, hostile):
    send(project, honest, unfinished(agent()))
    receipt = send(project, hostile, agent())

    assert receipt.rejected == []
    assert LoopRecord.objects.get().status == "completed"
    assert send(project, honest, agent(at=(0, 9))).rejected[0].code == "span_conflict"


def test_after_a_rebuild_no_token_changes_a_span_that_has_ended(project, honest):
    send(project, honest, agent())
    rebuild(project)

    receipt = send(project, honest, agent(session="moved"), agent())

    assert [each.code for each in receipt.rejected] == ["span_conflict"]
    assert receipt.duplicates == 1
    assert "an unknown sender" in receipt.rejected[0].message
    assert sessions(project) == ["honest"]
