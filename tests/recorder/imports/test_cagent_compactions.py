"""The cost of a compaction in cagent: read from the cost of the session so far, a ledger line of its own."""

import json
import shutil
import sqlite3
from contextlib import closing
from io import StringIO

import pytest
from django.core.management import call_command

from recorder.models import LoopRecord, Project, Session, Turn
from recorder.operations.integrity_check import findings
from tests.support.foreign_tapes import TAPES, send, tape

pytestmark = pytest.mark.django_db(transaction=True)

ALL = "cagent/all-event-types.hand-made.events.jsonl"


@pytest.fixture
def project(db):
    return Project.objects.create(slug="default")


def line(kind, second=0, **fields):
    at = f"2026-03-14T09:00:{second:02}Z"
    return json.dumps({"type": kind, "timestamp": at, "agent_name": "root", **fields}).encode()


def used(cost, *, last=None, session="s", second=9):
    usage = {"context_length": 9, "cost": cost}
    if last is not None:
        usage["last_message"] = {"input_tokens": 3, "output_tokens": 2, "Cost": last, "Model": "m"}
    return line("token_usage", second, session_id=session, usage=usage)


def compacted(session="s"):
    return [
        line("session_compaction", 3, session_id=session, status="started"),
        line("session_summary", 4, session_id=session, summary="short"),
        line("session_compaction", 5, session_id=session, status="completed"),
    ]


STARTED = [
    line("agent_info", model="anthropic/claude-sonnet-4-5"),
    line("stream_started", session_id="s"),
    line("agent_choice", session_id="s", content="one"),
    line("message_added", session_id="s"),
    used(0.01, last=0.01, second=2),
]
STOPPED = [line("stream_stopped", 10, session_id="s")]


def segments():
    """Return nano-dollars by segment of the ledger."""
    sums: dict[str, int] = {}
    for segment, nano in LoopRecord.objects.exclude(cost_nano=None).values_list("segment", "cost_nano"):
        sums[segment] = sums.get(segment, 0) + nano
    return sums


def test_the_cost_of_a_compaction_is_a_line_of_its_own(project):
    send(project, tape(ALL), "cagent")
    assert segments() == {"single": 6_300_000, "compaction": 4_900_000}
    loop = LoopRecord.objects.get(role="compaction")
    assert (loop.status, loop.turns, loop.cost_source) == ("completed", 1, "reported")
    assert loop.parent.role == "normal"
    assert loop.config.model == "claude-sonnet-4-5"  # that of the agent at that time
    assert (loop.started_at.second, loop.duration_ms) == (0, 21)  # from its start to the usage
    assert Session.objects.get().cost_nano == 11_200_000
    assert not list(findings())


def test_a_usage_that_comes_with_the_next_message_leaves_out_that_message(project):
    lines = [*STARTED, *compacted(), line("agent_choice", 8, session_id="s", content="two")]
    lines += [line("message_added", 8, session_id="s"), used(0.017, last=0.002), *STOPPED]
    send(project, lines, "cagent")
    assert segments() == {"single": 12_000_000, "compaction": 5_000_000}


def test_a_compaction_outside_any_stream_is_billed_by_the_usage_that_follows(project):
    send(project, [*STARTED, *STOPPED, *compacted(), used(0.0125)], "cagent")
    assert segments() == {"single": 10_000_000, "compaction": 2_500_000}
    assert set(LoopRecord.objects.values_list("status", flat=True)) == {"completed"}


@pytest.mark.parametrize(
    "lines",
    [
        [*STARTED, *compacted(), used(0.01), *STOPPED],  # it cost nothing, or failed
        [*STARTED, used(0.02), *STOPPED],  # no compaction
        [*compacted(), used(0.02)],  # what the session cost before is unknown
        [*STARTED, *compacted(), used(0.02, session="other"), *STOPPED],
        [*STARTED, *compacted(), used(None), used("much"), *STOPPED],
    ],
)
def test_an_unknown_cost_is_not_invented(project, lines):
    send(project, lines, "cagent")
    assert "compaction" not in segments()


def test_cut_anywhere_the_same_is_recorded(project):
    lines = [*STARTED, *compacted(), used(0.0125), *STOPPED, *compacted(), used(0.013)]
    lines += [line("stream_started", 20, session_id="s"), line("stream_stopped", 21, session_id="s")]
    send(project, lines, "cagent")
    whole = loops(project)
    assert [nano for *_, role, nano in whole if role == "compaction"] == [2_500_000, None, 500_000]
    for cut in range(1, len(lines)):
        other = Project.objects.create(slug=f"cut-{cut}")
        send(other, lines, "cagent", cuts=[cut])
        assert loops(other) == whole, cut


def loops(project):
    found = LoopRecord.objects.filter(session__project=project).order_by("pk")
    return list(found.values_list("loop_id", "status", "turns", "duration_ms", "role", "cost_nano"))


def test_a_store_has_the_cost_beside_the_summary(project, tmp_path):
    path = tmp_path / "session.db"
    shutil.copy(TAPES / "cagent/two-sessions.v13.db", path)
    with closing(sqlite3.connect(path)) as store, store:
        key, text = store.execute(
            "SELECT id, messages FROM sessions ORDER BY length(messages) DESC"
        ).fetchone()
        items = [*json.loads(text), {"summary": "short", "cost": 0.0025}]
        store.execute("UPDATE sessions SET messages = ? WHERE id = ?", (json.dumps(items), key))
    call_command("import_runs", str(path), stdout=StringIO(), stderr=StringIO())
    assert segments()["compaction"] == 2_500_000
    (turn,) = Turn.objects.filter(loop__role="compaction", cost_nano__isnull=False)
    assert turn.loop.session.session_id == key
