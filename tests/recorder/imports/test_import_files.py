"""Importing files: everything readable is recorded once, and every problem is named."""

import gzip
import json
from hashlib import sha256
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import (
    Compaction,
    EventRecord,
    JournalEvent,
    LoopRecord,
    Producer,
    QuarantinedLine,
    Session,
)
from recorder.projection.export import phi_session, raw_lines
from tests.phi_core.compare_sessions import differences as differences_of
from tests.support import build

PHI_CORE = Path(__file__).parents[2] / "tapes" / "phi-core"
SCENARIOS = sorted(path.name.removesuffix(".sessions.json") for path in PHI_CORE.glob("*.sessions.json"))
AGENT_SIDE = PHI_CORE / "06-compaction-block-based.agent-side-session.json"

pytestmark = pytest.mark.django_db(transaction=True)


def run(*paths, fails=None, **options):
    """Import, and return what stdout and stderr got."""
    out, err = StringIO(), StringIO()
    if fails:
        with pytest.raises(CommandError, match=fails):
            call_command("import_runs", *map(str, paths), stdout=out, stderr=err, **options)
    else:
        call_command("import_runs", *map(str, paths), stdout=out, stderr=err, **options)
    return out.getvalue() + err.getvalue()


def sessions_of(scenario):
    """Return what phi-core saved of a scenario."""
    return json.loads((PHI_CORE / f"{scenario}.sessions.json").read_text())


def events_of(scenario):
    """Return the event file of a scenario."""
    return (PHI_CORE / f"{scenario}.events.jsonl").read_bytes()


def rows():
    """Return how many rows everything has."""
    return [
        model.objects.count() for model in (JournalEvent, EventRecord, Session, LoopRecord, QuarantinedLine)
    ]


def saved(tmp_path, sessions, name="session.json"):
    path = tmp_path / name
    path.write_text(json.dumps(sessions, indent=2))
    return path


def differences(theirs):
    """Return where the export differs from the file, by the protocol's rules."""
    return [
        difference
        for session in theirs
        for difference in differences_of(
            session, phi_session(Session.objects.get(session_id=session["session_id"]))
        )
    ]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_session_file_comes_out_as_it_went_in(project, tmp_path, scenario):
    theirs = sessions_of(scenario)
    for session in theirs:
        saved(tmp_path, session, f"{session['session_id']}.json")
    run(tmp_path)
    assert differences(theirs) == []


def test_a_session_that_an_agent_holds_keeps_its_messages_block_scope_and_formation(project):
    run(AGENT_SIDE)
    theirs = json.loads(AGENT_SIDE.read_text())
    ours = phi_session(Session.objects.get())
    assert differences_of(theirs, ours) == []
    assert ours["loops"][0]["compaction_block"] == theirs["loops"][0]["compaction_block"]
    assert Compaction.objects.get().content == "block"
    assert LoopRecord.objects.get().status == "running"


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_session_file_without_live_events_still_gives_its_turns(project, tmp_path, scenario):
    theirs = sessions_of(scenario)
    for session in theirs:
        for loop in session["loops"]:
            loop["events"] = []
    run(saved(tmp_path, theirs))
    assert differences(theirs) == []


def test_an_old_file_without_turns_scope_and_reasoning_is_read(project, tmp_path):
    theirs = sessions_of("01-tools-two-prompts")
    for session in theirs:
        del session["scope"]
        for loop in session["loops"]:
            loop["events"] = []
            del loop["turns"], loop["usage"]["reasoning"], loop["metadata"]
            loop["continuation_kind"] = None
    run(saved(tmp_path, theirs))
    loops = LoopRecord.objects.order_by("pk")
    assert [loop.status for loop in loops] == ["completed", "completed"]
    assert [loop.input_tokens for loop in loops] == [2775, 690]
    assert [loop.tool_calls for loop in loops] == [4, 0]
    assert [loop["turns"] for loop in phi_session(Session.objects.get())["loops"]] == [[], []]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_same_session_file_twice_changes_nothing(project, tmp_path, scenario):
    path = saved(tmp_path, sessions_of(scenario))
    run(path)
    before = rows()
    run(path)
    assert rows() == before


@pytest.mark.parametrize("packed", [False, True])
def test_the_same_event_file_twice_changes_nothing(project, tmp_path, packed):
    raw = events_of("02-continue-rerun-branch")
    path = tmp_path / ("run.jsonl.gz" if packed else "run.jsonl")
    path.write_bytes(gzip.compress(raw) if packed else raw)
    run(path)
    before = rows()
    assert "0 new events" in run(path)
    assert rows() == before
    assert b"\n".join(raw_lines(Session.objects.get())) == raw.strip()


def test_an_event_file_that_has_grown_brings_in_what_is_new(project, tmp_path):
    lines = events_of("01-tools-two-prompts").splitlines(keepends=True)
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join(lines[:20]))
    run(path, flush=False)
    assert LoopRecord.objects.get().status == "running"
    path.write_bytes(b"".join(lines))
    assert f"{len(lines) - 20} new events" in run(path)
    assert [loop.status for loop in LoopRecord.objects.all()] == ["completed", "completed"]


def test_two_files_that_begin_with_the_same_line_are_two_recordings(project, tmp_path):
    notice = build.line({"type": "Header", "version": 1})
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    first.write_bytes(b"\n".join([notice, *map(build.line, build.small_loop("s.a.1"))]))
    second.write_bytes(b"\n".join([notice, *map(build.line, build.small_loop("t.a.1"))]))

    run(first, second)
    assert not QuarantinedLine.objects.exists()
    assert set(LoopRecord.objects.values_list("loop_id", flat=True)) == {"s.a.1", "t.a.1"}
    assert LoopRecord.objects.values("producer").distinct().count() == 2

    before = rows()
    run(second, first)
    assert rows() == before

    second.write_bytes(b"\n".join([second.read_bytes(), *map(build.line, build.small_loop("t.a.2"))]))
    run(second)
    producers = LoopRecord.objects.filter(loop_id__startswith="t").values_list("producer", flat=True)
    assert len(producers) == 2
    assert len(set(producers)) == 1


def test_a_file_that_was_imported_under_the_former_name_keeps_its_producer(project, tmp_path):
    lines = events_of("01-tools-two-prompts").splitlines()
    name = f"import:{sha256(lines[0]).hexdigest()[:32]}"
    ingest(Batch(project.pk, name, 0, lines[:20], "native"))
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"\n".join(lines))
    assert f"{len(lines) - 20} new events" in run(path)
    assert Producer.objects.get().name == name


def test_a_finished_file_leaves_nothing_running(project, tmp_path):
    path = tmp_path / "run.ndjson"
    path.write_bytes(events_of("09-process-killed-in-tool"))
    run(path)
    assert LoopRecord.objects.get().status == "aborted"
    before = rows()
    run(path)
    assert rows() == before


def test_a_session_file_adds_to_a_live_recording_only_what_the_recording_lacks(project, tmp_path):
    path = tmp_path / "live.jsonl"
    path.write_bytes(events_of("06-compaction-block-based"))
    run(path)
    loops, events = LoopRecord.objects.count(), EventRecord.objects.count()
    (theirs,) = sessions_of("06-compaction-block-based")
    theirs["loops"][0]["compaction_block"] = json.loads(AGENT_SIDE.read_text())["loops"][0][
        "compaction_block"
    ]
    output = run(saved(tmp_path, theirs))
    assert "3 loops were already recorded" in output
    assert LoopRecord.objects.count() == loops
    assert EventRecord.objects.count() == events + 1
    assert "keep_recent" in str(Compaction.objects.order_by("pk").last().block)


def test_the_session_that_an_agent_holds_adds_its_block_and_no_loop(project, tmp_path):
    path = tmp_path / "live.jsonl"
    path.write_bytes(events_of("06-compaction-block-based"))
    run(path)
    loops = LoopRecord.objects.count()
    for _ in range(2):
        run(AGENT_SIDE)
    assert LoopRecord.objects.count() == loops
    assert Compaction.objects.exclude(block=None).count() == 1
    assert not LoopRecord.objects.filter(status="running").exists()


def test_an_event_file_leaves_out_loops_that_were_recorded_from_elsewhere(project, tmp_path):
    run(saved(tmp_path, sessions_of("03-parallel-judge")))
    before = rows()
    path = tmp_path / "same.jsonl"
    path.write_bytes(events_of("03-parallel-judge"))
    run(path)
    assert LoopRecord.objects.count() == before[3]


def test_a_session_file_saved_later_brings_in_its_new_loops(project, tmp_path):
    (theirs,) = sessions_of("02-continue-rerun-branch")
    run(saved(tmp_path, {**theirs, "loops": theirs["loops"][:2]}))
    run(saved(tmp_path, theirs))
    assert LoopRecord.objects.count() == len(theirs["loops"])
    assert differences([theirs]) == []


def test_a_bad_line_is_named_and_its_neighbours_are_imported(project, tmp_path):
    lines = events_of("09-process-killed-in-tool").splitlines(keepends=True)
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join([*lines[:3], b"{oops\n", b"\n", *lines[3:]]))
    output = run(path, fails="not everything")
    assert "run.jsonl, line 4: bad_json" in output
    assert EventRecord.objects.count() == len(lines)


def test_a_packed_file_that_was_cut_off_gives_what_is_readable(project, tmp_path):
    raw = events_of("06-compaction-block-based")
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(gzip.compress(raw)[:-6000])
    output = run(path, fails="not everything")
    assert "cut.jsonl.gz: the compressed data is damaged or cut off" in output
    assert EventRecord.objects.exists()


def test_a_huge_line_is_rejected_alone(project, tmp_path):
    lines = events_of("09-process-killed-in-tool").splitlines(keepends=True)
    huge = b'{"type":"Notice","session_id":"s","kind":"' + b"x" * 9_000_000 + b'"}\n'
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join([*lines[:2], huge, *lines[2:]]))
    output = run(path, fails="not everything")
    assert "line 3: too_large" in output
    assert EventRecord.objects.count() == len(lines)


@pytest.mark.parametrize(
    ("name", "content", "output"),
    [
        ("run.jsonl", b"", "no readable content"),
        ("run.jsonl", bytes(range(256)) * 100, "not a text file"),
        ("run.jsonl", b"hello\nworld\n", "no line is a JSON object"),
        ("run.jsonl", b'{"type":"weather_report","session_id":"g"}\n', "an unknown runtime"),
        ("store.db", b"SQLite format 3\x00" + bytes(4000), "damaged or cut off"),
        ("run.json", b"{", "line 1: "),
        ("run.json", b'{"name": "package"}', "session_id"),
        ("run.json", b"[1, 2]", "not an object"),
        ("run.json", b"[]", "no session"),
        ("run.json", b'{"session_id": "s", "created_at": "x", "loops": [{}]}', "loop_id"),
        ("run.json", b'{"session_id": "s", "loops": [{"loop_id": "l", "started_at": "now"}]}', "started_at"),
        ("run.json", b"[" * 100_000, "nested too deeply"),
        ("run.json", b'{"session_id": NaN}', "NaN"),
        ("run.json.gz", gzip.compress(b"{}" * 5000)[:-20], "damaged or cut off"),
        ("run.jsonl.gz", b"\x1f\x8bnot really", "no readable content"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_reason(project, tmp_path, name, content, output):
    path = tmp_path / name
    path.write_bytes(content)
    answer = run(path, fails="not everything")
    assert str(path) in answer
    assert output in answer


@pytest.mark.parametrize(
    ("first", "place"),
    [
        ({"type": "system", "subtype": "init", "session_id": "a1"}, "~/.claude/projects/*/a1.jsonl"),
        ({"type": "thread.started", "thread_id": "b2"}, "~/.codex/sessions/*/*/*/rollout-*-b2.jsonl"),
        ({"type": "init", "session_id": "c3", "model": "gemini-2.5-flash"}, "~/.gemini/tmp/*/chats"),
        ({"type": "step_start", "sessionID": "d4", "part": {}}, "~/.local/share/opencode/opencode.db"),
    ],
)
def test_what_a_coding_agent_prints_is_refused_with_the_place_of_its_transcript(
    project, tmp_path, first, place
):
    path = tmp_path / "stdout.jsonl"
    path.write_bytes(json.dumps(first).encode() + b"\n")
    assert place in run(path, fails="not everything")


def test_a_folder_with_junk_gives_its_recordings(project, tmp_path):
    inner = tmp_path / "deep" / "er"
    inner.mkdir(parents=True)
    (theirs,) = sessions_of("01-tools-two-prompts")
    saved(inner, theirs, f"{theirs['session_id']}.json")
    (inner / f"{theirs['session_id']}.json.lock").write_text("")
    (inner / f"{theirs['session_id']}.json.tmp.4711").write_text('{"half')
    (tmp_path / "notes.txt").write_text("nothing")
    (tmp_path / "picture.png").write_bytes(bytes(300))
    output = run(tmp_path)
    assert "1 file, 1 new session, 2 new loops" in output
    assert "4 files skipped" in output


def test_a_path_that_is_not_there_does_not_stop_the_others(project, tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(events_of("10-user-cancel"))
    output = run(tmp_path / "nowhere", path, fails="not everything")
    assert "nowhere: there is no such file or folder" in output
    assert LoopRecord.objects.count() == 1


def test_an_unknown_project_is_an_error(tmp_path):
    run(tmp_path, fails="no project 'default'")
