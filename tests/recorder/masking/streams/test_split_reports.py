"""Secrets that a running tool reports in parts are in no table and no file, on both databases."""

import itertools
import json
import re
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.journal.streams import loop_streams
from recorder.models import OpenStream, QuarantinedLine
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
    agent_start,
    assistant,
    line,
    message_end,
    message_update,
    progress,
    tool_end,
    tool_start,
    tool_update,
    turn_start,
)
from tests.support.foreign_tapes import tape

pytestmark = pytest.mark.django_db(transaction=True)
PARTIAL = ("partial_result", "content", 0, "text")


def reported(*path):
    """Return a text of each stored report."""
    found = []
    for event in map(json.loads, stored()):
        if event["type"] in ("ToolExecutionUpdate", "ProgressMessage"):
            inside = event
            for key in path:
                inside = inside[key]
            found.append(inside)
    return found


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_no_part_of_a_secret_that_a_tool_reports_in_parts_is_stored(project, data):
    name, context, secret = data.draw(planted)
    text = f"here {context}\nand on"
    parts = data.draw(cuts(text))
    if data.draw(st.booleans()):
        parts = list(itertools.accumulate(parts))
    loop = f"{uuid4().hex}.a.1"
    reports = [tool_update(loop, text=part) for part in parts]
    lines = [line(each) for each in (agent_start(loop), turn_start(loop), tool_start(loop), *reports)]
    producer, size = uuid4().hex, data.draw(st.integers(1, 5))
    for first in range(0, len(lines), size):  # each batch reads the state anew, as after a restart
        for _ in range(data.draw(st.integers(1, 2))):
            receipt = ingest(Batch(project.pk, producer, first, lines[first : first + size]))
            assert receipt.rejected == []
    again = ingest(Batch(project.pk, producer, 0, lines))
    assert (again.duplicates, again.rejected) == (len(lines), [])
    assert leaks(name, secret, everything(), text) == []
    ingest(Batch(project.pk, producer, len(lines), [line(tool_end(loop))]))
    assert not OpenStream.objects.exists()


def test_reports_of_parallel_calls_and_their_progress_are_streams_of_their_own(project, secret):
    begin = [*BEGIN, tool_start(call="c1"), tool_start(call="c2")]
    reports = []
    for part in parts_of(secret):
        reports += [tool_update(call="c1", text=part), tool_update(call="c2", text=part)]
        reports += [progress(call="c1", text=part)]
    send(project, [*begin, *reports])
    assert [each for each in parts(secret) if each in everything()] == []
    assert in_files(parts(secret)) == []
    send(project, [tool_end(call="c1"), tool_end(call="c2")], len(begin) + len(reports))
    assert not OpenStream.objects.exists()


def test_a_report_between_the_deltas_of_a_message_ends_no_stream(project, secret):
    events = [tool_start(), tool_update(text=f"key {secret[:9]}"), *BEGIN[2:], message_update(text="ok")]
    end_of_message = message_end(message=assistant("ok"))
    send(project, [*BEGIN[:2], *events, end_of_message, tool_update(text=f"{secret[9:]} done")])
    assert [each for each in parts(secret) if each in everything()] == []
    assert re.fullmatch(r"\[masked:aws-access-key-id:[0-9a-f]{8}\] done", reported(*PARTIAL)[-1])


def test_all_texts_of_a_partial_result_are_masked(project, secret):
    for number, part in enumerate((secret[:9], secret[9:])):
        many = {"content": [], "details": {"stdout": part, "lines": [f"{n} {secret[:9]}" for n in range(50)]}}
        send(project, [tool_update() | {"partial_result": many}], number)
    assert [each for each in parts(secret) if each in everything()] == []


def test_progress_of_no_loop_is_masked_and_keeps_hashes(project, secret):
    texts = [f"key {secret[:9]}", f"{secret[9:]} ok", "pushed 3f2a9c0d1e2b3f4a5c6d7e8f9a0b1c2d3e4f5a6b"]
    send(project, [progress("", call="judge-compaction", text=each) for each in texts])
    assert [each for each in parts(secret) if each in everything()] == []
    assert reported("text")[-1] == texts[-1]


def test_reports_without_a_secret_are_stored_as_they_were_sent(project):
    reports = [tool_update(text=f"line {n}\n" * n) for n in range(9)]
    for report in reports:
        report["partial_result"]["details"] = {"stream": "stdout"}
    events = [*BEGIN, tool_start(), *reports, progress()]
    send(project, events)
    assert stored() == [line(event) for event in events]


def test_beyond_the_limit_of_texts_the_oldest_is_forgotten(project, secret, monkeypatch):
    monkeypatch.setattr(loop_streams, "REPORTS_MAX", 3)
    calls = [f"c{n}" for n in range(5)]
    send(project, [tool_update(call=call, text=secret[:9]) for call in calls])
    send(project, [tool_update(call="c4", text=secret[9:])], len(calls))
    assert [each for each in parts(secret) if each in everything()] == []
    (row,) = OpenStream.objects.all()
    assert len(row.state) < 3 * 200


@pytest.mark.parametrize("event", [tool_update(), progress()])
def test_a_report_that_is_rejected_is_quarantined_without_its_text(project, secret, event):
    raw = line(event | {"loop_id": 7, "text": secret[:12], "partial_result": {"details": [secret[:12]]}})
    for each in (raw, raw[:-3]):
        ingest(Batch(project.pk, None, None, [each]))
    assert [secret[4:12].encode() in bytes(each.raw) for each in QuarantinedLine.objects.all()] == [False] * 2


def test_the_output_of_a_running_command_in_a_transcript_is_masked_where_it_ends_within_a_secret(
    project, secret
):
    lines = tape("claude-code/plain/5544a222-98f5-4c26-9650-fb98dfb87014.jsonl")
    data = {"type": "bash_progress", "fullOutput": f"running\nkey {secret[:12]}", "elapsedTimeSeconds": 3}
    event = {**json.loads(lines[-1]), "type": "progress", "uuid": str(uuid4()), "data": data}
    ingest(Batch(project.pk, "p", 0, [*lines, line(event)], "claude-code"))
    assert [each for each in parts(secret) if each in everything()] == []
    (report,) = [json.loads(each) for each in stored() if b"bash_progress" in each]
    assert report["data"]["fullOutput"].startswith("running\nkey [masked:unfinished-secret:")
    again = ingest(Batch(project.pk, "p", 0, [*lines, line(event)], "claude-code"))
    assert again.duplicates == len(lines) + 1
