"""Transcripts of coding agents give the records of their scripts: cut anywhere, in any order of files."""

import json
import os
import shutil
import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopscope_client.transcripts import opencode
from recorder.core.formats.registry import TRANSCRIPTS
from recorder.imports.detect import recordings
from recorder.imports.import_files import import_files
from recorder.imports.report import Report
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import EventRecord, LoopRecord, Producer, Project, Session, Turn
from recorder.projection.rebuild import rebuild
from tests.recorder.journal.spans import captures

pytestmark = pytest.mark.django_db(transaction=True)

TAPES = Path(__file__).parents[2] / "tapes"
SCENARIOS = sorted(
    f"{path.parent.parent.name}/{path.parent.name}"
    for agent in TRANSCRIPTS
    for path in (TAPES / agent).glob("*/expected.json")
)
OTHER_NAMES = ("opencode/cache",)  # whose store has other names of tools than the script
STORED_TITLES = {"opencode": '{"title": "Scripted session"}'}  # what the scripted model gave as the title


@pytest.fixture
def project():
    return Project.objects.create(slug="p")


def files(scenario):
    return sorted(path for path in (TAPES / scenario).iterdir() if path.name != "expected.json")


def imported(project, *paths, wanted="auto", flush=True):
    report = Report()
    found = recordings(list(paths), wanted, report)
    import_files(project, found, report, lambda size, label: None, flush=flush)
    return report


def expected(scenario):
    return json.loads((TAPES / scenario / "expected.json").read_text())


@pytest.mark.parametrize("order", ["named", "reversed"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_transcript_gives_the_records_of_its_script(project, scenario, order):
    paths = files(scenario) if order == "named" else files(scenario)[::-1]
    for path in paths:
        assert imported(project, path).problems == []
    wanted = expected(scenario)
    found = captures.totals(project)
    assert {name: found[name] for name in wanted["totals"]} == wanted["totals"]
    session, first = Session.objects.get(), wanted["loops"][0]
    assert (session.session_id, session.agent_id) == (wanted["session_id"], first["agent"])
    assert session.outcome == [loop for loop in wanted["loops"] if loop["parent"] is None][-1]["status"]
    assert session.title == STORED_TITLES.get(
        scenario.partition("/")[0], LoopRecord.objects.order_by("started_at").first().title
    )
    assert_loops(scenario, wanted["loops"])


@pytest.mark.parametrize("order", ["named", "reversed"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_line_of_a_transcript_belongs_to_its_session(project, scenario, order):
    for path in files(scenario)[:: 1 if order == "named" else -1]:
        imported(project, path)
    assert not EventRecord.objects.filter(session=None).exists()
    before = Session.objects.get().events
    rebuild(project)
    assert Session.objects.get().events == before
    assert not EventRecord.objects.filter(session=None).exists()


def assert_loops(scenario, wanted):
    loops = list(LoopRecord.objects.order_by("started_at", "id"))
    for loop, want in zip(loops, wanted, strict=True):
        assert (loop.agent_id, loop.outcome) == (want["agent"], want["status"])
        ref = loop.spawned_by.first()
        assert (ref and loops.index(ref.loop)) == want["parent"]
        assert (ref and ref.tool_name) == want["via_tool"]
        turns = loop.turn_records.filter(state="done").order_by("ordinal")
        for turn, of_script in zip(turns, want["turns"], strict=True):
            usage = of_script["usage"]
            assert (turn.uncached_tokens, turn.cache_read_tokens, turn.cache_write_tokens) == (
                *(usage["input_uncached"], usage["cache_read"], usage["cache_write"]),
            )
            assert (turn.output_tokens, turn.reasoning_tokens) == (usage["output"], usage["reasoning"])
            calls = [(tool.tool_name, tool.state == "failed") for tool in turn.tool_records.order_by("id")]
            if scenario not in OTHER_NAMES:
                assert calls == [(call["name"], call["error"]) for call in of_script["tool_calls"]]
            assert bool(turn.error) == bool(of_script["error"])


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_folder_is_recognised_and_imported_once(project, scenario, tmp_path):
    for path in files(scenario):
        shutil.copy(path, tmp_path)
    report = imported(project, tmp_path)
    assert (report.problems, report.sessions) == ([], 1)
    before = captures.shape(project)

    again = imported(project, tmp_path, wanted=scenario.partition("/")[0])

    assert (again.problems, again.events, again.loops) == ([], 0, 0)
    assert captures.shape(project) == before
    rebuild(project)
    assert [*captures.differences(captures.shape(project), before)] == []


@pytest.mark.parametrize("scenario", [each for each in SCENARIOS if not each.startswith("opencode")])
def test_a_file_may_be_cut_anywhere(scenario):
    """The reader continues from its stored state between any two lines."""
    streams = [
        (path.name, [line for line in path.read_bytes().split(b"\n") if line.strip()])
        for path in files(scenario)
    ]
    form = scenario.partition("/")[0]
    whole = Project.objects.create(slug="whole")
    send(whole, form, streams, {})
    wanted = captures.shape(whole)

    @settings(max_examples=8, deadline=None)
    @given(cuts=st.lists(st.integers(1, 60), max_size=6), number=st.uuids())
    def check(cuts, number):
        project = Project.objects.create(slug=f"cut-{number.hex}")
        send(project, form, streams, cuts)
        assert [*captures.differences(captures.shape(project), wanted)] == []

    check()


def send(project, form, streams, cuts):
    for name, lines in streams:
        places = sorted({0, *(cut for cut in cuts if cut < len(lines)), len(lines)})
        for start, end in pairwise(places):
            ingest(Batch(project.pk, name, start, lines[start:end], form))
        ingest(Batch(project.pk, name, None, [], form, flush=True))


def test_a_file_that_grows_is_continued(project, tmp_path):
    (source,) = files("claude-code/write")
    lines = source.read_bytes().splitlines(keepends=True)
    path = tmp_path / source.name
    for end in range(1, len(lines) + 1):
        path.write_bytes(b"".join(lines[:end]))
        report = imported(project, path, wanted="claude-code", flush=False)
        assert (report.problems, report.events) == ([], 1)
    loop = LoopRecord.objects.get()
    assert (loop.status, loop.turns, loop.tool_calls) == ("completed", 3, 2)


def test_the_folder_of_one_agent_skips_other_files(project, tmp_path):
    shutil.copy(files("claude-code/plain")[0], tmp_path / "session.jsonl")
    shutil.copy(files("codex/write")[0], tmp_path / "rollout.jsonl")
    (tmp_path / "notes.jsonl").write_text('{"text": "mine"}\n')

    report = imported(project, tmp_path, wanted="codex")

    assert (report.problems, report.files, report.skipped) == ([], 1, 2)
    assert Session.objects.get().source == "codex"


def test_the_home_of_an_agent_is_imported_in_order_of_its_last_writes(tmp_path):
    for at, (name, scenario) in enumerate({"b": "plain", "c": "write", "a": "parallel"}.items()):
        shutil.copy(files(f"claude-code/{scenario}")[0], tmp_path / f"{name}.jsonl")
        os.utime(tmp_path / f"{name}.jsonl", (at, at))

    found = recordings([tmp_path], "auto", Report())

    assert [each.path.stem for each in found] == ["b", "c", "a"]


HOMES = {
    "claude-code": ("task", "projects/-home-dev-project"),
    "codex": ("task", "sessions/2026/11/22"),
    "gemini-cli": ("write", "tmp/project/chats"),
    "opencode": ("write", "."),
    "pi": ("branch", "sessions/--home-dev--"),
}


@pytest.mark.parametrize("wanted", ["auto", "named"])
@pytest.mark.parametrize("agent", HOMES)
def test_the_home_of_an_agent_is_imported_without_its_other_files(project, tmp_path, agent, wanted):
    scenario, below = HOMES[agent]
    folder = tmp_path / below
    folder.mkdir(parents=True, exist_ok=True)
    for path in files(f"{agent}/{scenario}"):
        shutil.copy(path, folder)
    (tmp_path / "settings.json").write_text('{"theme": "dark"}')
    (tmp_path / "history.jsonl").write_text('{"display": "hello", "project": "/home/dev"}\n')
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "log.jsonl").write_bytes(b"no \x00 text\n")
    (tmp_path / "agent.meta.json").write_text("{}")
    with closing(sqlite3.connect(tmp_path / "state.sqlite")) as store:
        store.execute("CREATE TABLE threads (id text)")

    report = imported(project, tmp_path, wanted=agent if wanted == "named" else "auto")

    assert (report.problems, report.rejected, report.skipped) == ([], 0, 6)
    assert report.files == len(files(f"{agent}/{scenario}"))
    assert Session.objects.get().source == agent


def test_a_line_that_is_being_written_waits_for_its_end(project, tmp_path):
    (source,) = files("claude-code/write")
    content = source.read_bytes()
    path = tmp_path / source.name
    for end in (10, 400, len(content) // 2, len(content) - 20, len(content)):
        path.write_bytes(content[:end])
        report = imported(project, path, wanted="claude-code", flush=False)
        assert (report.problems, report.rejected) == ([], 0)
    assert Producer.objects.get().high + 1 == content.count(b"\n")
    loop = LoopRecord.objects.get()
    assert (loop.status, loop.turns, loop.tool_calls) == ("completed", 3, 2)


def test_a_cut_off_line_is_named_and_imported_later(project, tmp_path):
    (source,) = files("claude-code/write")
    content = source.read_bytes()
    path = tmp_path / source.name
    path.write_bytes(content[:-20])

    (problem,) = imported(project, path).problems
    assert problem.endswith("line 14 is not complete; it is imported once more lines follow")

    path.write_bytes(content)
    assert (imported(project, path).problems, LoopRecord.objects.get().turns) == ([], 3)


def test_the_lines_of_a_session_of_opencode_are_those_of_its_store(project, tmp_path):
    (store,) = files("opencode/write")
    with closing(opencode.opened(store)) as opened:
        ((_, lines),) = opencode.sessions(opened)
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"\n".join(lines))

    assert imported(project, path).events == len(lines)
    assert imported(project, store).events == 0


def test_a_bad_line_is_rejected_alone(project, tmp_path):
    (source,) = files("claude-code/write")
    lines = source.read_bytes().splitlines(keepends=True)
    path = tmp_path / source.name
    path.write_bytes(b"".join([*lines[:5], b"{not json}\n", *lines[5:]]))

    report = imported(project, path)

    assert report.reasons == {"bad_json": 1}
    assert LoopRecord.objects.get().turns == 3


def test_a_transcript_that_breaks_off_is_an_aborted_loop(project, tmp_path):
    (source,) = files("codex/write")
    path = tmp_path / source.name
    path.write_bytes(b"".join(source.read_bytes().splitlines(keepends=True)[:16]))

    imported(project, path)

    loop = LoopRecord.objects.get()
    assert (loop.status, loop.outcome, loop.turns) == ("aborted", "aborted", 1)


def test_reported_costs_win(project):
    imported(project, *files("opencode/write"))

    session = Session.objects.get()
    assert (session.cost_source, session.cost_nano) == ("reported", 40_470_000)


def test_a_session_that_sent_spans_is_imported_into_the_same_session(project):
    """Claude Code sends the same session by OpenTelemetry and writes it to disk."""
    for batch in captures.lines("coding_agents/claude-code-otlp/write"):
        captures.record(project, batch)

    report = imported(project, *files("claude-code/write"))

    assert (report.problems, report.live) == ([], 0)
    assert report.events > 0
    session = Session.objects.get()
    assert (session.source, session.loops, session.cost_source) == ("claude-code", 1, "reported")
    assert session.turns == Turn.objects.count() == 3
