"""Secrets that are streamed in parts are in no table, no file and no live text, on both databases."""

import json
import re
from datetime import timedelta
from io import StringIO
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recorder.ingest.commit.pipeline import Batch, ingest, record
from recorder.journal.streams.open_streams import STREAM_DAYS
from recorder.models import Anomaly, OpenStream, QuarantinedLine, TextBlock
from recorder.projection.rebuild import rebuild
from tests.recorder.masking.streams.own_parts import cuts, leaks, planted
from tests.recorder.masking.streams.stored_text import (
    BEGIN,
    everything,
    in_files,
    parts,
    parts_of,
    send,
    stored,
)
from tests.support.build import (
    agent_end,
    agent_start,
    assistant,
    line,
    message_end,
    message_start,
    message_update,
    turn_end,
    turn_start,
)
from tests.support.foreign_tapes import tape

pytestmark = pytest.mark.django_db(transaction=True)


def end(text):
    message = assistant(text)
    return [message_end(message=message), turn_end("s.a.1", message=message), agent_end("s.a.1")]


def streamed():
    """Return the text of all stored deltas."""
    events = [json.loads(each) for each in stored()]
    return "".join(
        inside["delta"]
        for event in events
        if event["type"] == "MessageUpdate"
        for inside in event["delta"].values()
    )


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_no_part_of_a_planted_secret_is_stored(project, data):
    name, context, secret = data.draw(planted)
    text = f"here {context} and on"
    if data.draw(st.booleans()):
        text = json.dumps({"command": text})
    kind = data.draw(st.sampled_from(["Text", "Thinking", "ToolCallDelta"]))
    loop = f"{uuid4().hex}.a.1"
    parts = data.draw(cuts(text))
    deltas = [message_update(loop, text=part, kind=kind) for part in parts]
    events = [agent_start(loop), turn_start(loop), message_start(loop), *deltas]
    lines, producer = [line(each) for each in events], uuid4().hex
    size = data.draw(st.integers(1, 5))
    for first in range(0, len(lines), size):  # each batch reads the state anew, as after a restart
        for _ in range(data.draw(st.integers(1, 2))):
            receipt = ingest(Batch(project.pk, producer, first, lines[first : first + size]))
            assert receipt.rejected == []
        blocks = TextBlock.objects.filter(loop__loop_id=loop).order_by("pk")
        live = "".join(blocks.values_list("text", flat=True))
        assert leaks(name, secret, live, text) == []
    again = ingest(Batch(project.pk, producer, 0, lines))
    assert (again.duplicates, again.rejected) == (len(lines), [])
    assert leaks(name, secret, everything(), text) == []
    assert not Anomaly.objects.exists()
    ingest(Batch(project.pk, producer, len(lines), [], flush=True))
    assert not OpenStream.objects.exists()


def test_nothing_of_a_secret_is_in_the_files_of_the_database(project, secret):
    deltas = [message_update(text=part) for part in parts_of(secret)]
    first = 0
    for event in [*BEGIN, *deltas]:
        send(project, [event], first)
        first += 1
        assert in_files(parts(secret)) == []
    assert re.fullmatch(r"key (AKI|AKIA)?\[masked:aws-access-key-id:[0-9a-f]{8}\] then", streamed())
    send(project, end("done"), first)
    assert in_files(parts(secret)) == []
    assert not OpenStream.objects.exists()


def test_a_stream_of_senders_without_a_name_continues(project, secret):
    for event in [*BEGIN, *(message_update(text=part) for part in parts_of(secret))]:
        ingest(Batch(project.pk, None, None, [line(event)]))
    assert [each for each in parts(secret) if each in everything()] == []
    assert streamed().endswith(" then")


def test_streams_of_loops_and_kinds_are_masked_each(project, secret):
    loops = ("s.a.1", "t.a.1")
    events = [event(loop) for loop in loops for event in (agent_start, turn_start, message_start)]
    for part in parts_of(secret):
        events += [
            message_update(loop, text=part, kind=kind) for loop in loops for kind in ("Text", "Thinking")
        ]
    send(project, events)
    assert [each for each in parts(secret) if each in everything()] == []
    assert streamed().count("[masked:") == 4


def test_two_batches_of_one_transaction_with_the_same_lines_are_duplicates(project, secret):
    lines = [line(each) for each in (*BEGIN, *(message_update(text=part) for part in parts_of(secret)))]
    first, second = record([Batch(project.pk, "p", 0, lines) for _ in range(2)])
    assert (first.accepted, second.duplicates, second.rejected) == (len(lines), len(lines), [])


def test_a_key_that_is_complete_in_one_delta_and_goes_on_in_the_next(project):
    parts = ["sk-ant-" + "a1B2" * 10, "c3D4" * 10, "e5F6" * 10 + " ok"]
    send(project, [*BEGIN, *(message_update(text=part) for part in parts)])
    assert re.fullmatch(r"\[masked:anthropic-api-key:[0-9a-f]{8}\] ok", streamed())


def test_a_message_that_never_ends_keeps_the_start_of_a_secret_to_itself(project, secret):
    send(project, [*BEGIN, *(message_update(text=part) for part in parts_of(secret)[:-2])])
    ingest(Batch(project.pk, "p", 6, [line(agent_end("s.a.1"))], flush=True))
    assert [each for each in parts(secret) if each in everything()] == []
    assert not OpenStream.objects.exists()


def test_a_message_without_deltas_for_days_counts_as_lost(project, secret):
    send(project, [*BEGIN, *(message_update(text=part) for part in parts_of(secret)[:-2])])
    send(project, [agent_start("t.a.1"), message_update("t.a.1", text="AKIA")], producer="q")
    old = timezone.now() - timedelta(days=STREAM_DAYS, minutes=1)
    OpenStream.objects.filter(producer__name="p").update(changed_at=old)
    call_command("prune", stdout=(output := StringIO()))
    assert "; 1 open stream" in output.getvalue()
    assert [each.producer.name for each in OpenStream.objects.all()] == ["q"]
    send(project, [message_update(text="plain"), message_update(text=" text")], 7)
    assert streamed().endswith("plain text")
    assert OpenStream.objects.filter(producer__name="p", changed_at__gt=old).exists()


def test_a_delta_in_conflict_is_quarantined_without_its_text(project, secret):
    send(project, [*BEGIN, message_update(text="plain")])
    receipt = send(project, [message_update(text=secret[:12])], 3)
    assert [each.code for each in receipt.rejected] == ["seq_conflict"]
    raw = bytes(QuarantinedLine.objects.get().raw)
    assert json.loads(raw)["type"] == "MessageUpdate"
    assert secret[4:12].encode() not in raw
    send(project, [message_update(text=secret[:12])], 3)
    assert QuarantinedLine.objects.count() == 1


@pytest.mark.parametrize("start", [b'{"type":"MessageUpdate"', b'{"type":"MessageUpdate","loop_id":7'])
@pytest.mark.parametrize("end", [b"", b'"}}}'])
def test_a_delta_that_is_rejected_is_quarantined_without_its_text(project, secret, start, end):
    raw = b'%s,"delta":{"Text":{"delta":"%s%s' % (start, secret[:12].encode(), end)
    ingest(Batch(project.pk, "p", 0, [raw]))
    assert secret[4:12].encode() not in bytes(QuarantinedLine.objects.get().raw)


def test_text_without_a_secret_is_stored_as_it_was_sent(project):
    parts = ["Read http", "://local", "host:80", "80/x", ", then AKI", "A, a pat", "tern."]
    events = [*BEGIN, *(message_update(text=part) for part in parts)]
    send(project, events)
    assert streamed() == "".join(parts)
    assert "".join(TextBlock.objects.order_by("pk").values_list("text", flat=True)) == "".join(parts)
    assert stored()[:5] == [line(event) for event in events[:5]]


def test_a_rebuild_shows_the_same_live_text(project, secret):
    send(project, [*BEGIN, *(message_update(text=part) for part in parts_of(secret))])
    before = list(TextBlock.objects.order_by("pk").values_list("kind", "text"))
    rebuild(project)
    assert list(TextBlock.objects.order_by("pk").values_list("kind", "text")) == before


def cagent(parts):
    """Return a recorded stream of cagent with one answer in these parts."""
    lines = tape("cagent/two-turns.reconstructed.events.jsonl")
    at = [number for number, each in enumerate(lines) if b'"agent_choice"' in each]
    event = json.loads(lines[at[0]])
    deltas = [json.dumps(event | {"content": part}).encode() for part in parts]
    return [*lines[: at[0]], *deltas, *lines[at[1] + 1 :]]


def test_cagent_s_answers_are_masked_across_deltas_and_keep_their_end(project, secret):
    lines = cagent([*parts_of(secret), " see http://", "localhost:80", "80"])
    for first in range(0, len(lines), 3):
        ingest(Batch(project.pk, "p", first, lines[first : first + 3], "cagent"))
    assert [each for each in parts(secret) if each in everything()] == []
    answers = [each for each in stored() if b'"MessageEnd"' in each and b"http://localhost:8080" in each]
    assert len(answers) == 1
    before = stored()
    rebuild(project)
    assert stored() == before
    assert ingest(Batch(project.pk, "p", 0, lines, "cagent")).duplicates == len(lines)
