"""Damaged, cut, rewritten and unusual transcripts by `import_runs`: a line is lost, never a file."""

import json
import os
import shutil
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from recorder.models import (
    JournalEvent,
    LoopRecord,
    Producer,
    Project,
    QuarantinedLine,
    Session,
    ToolCall,
    Turn,
)
from tests.recorder.imports.transcripts.opencode_store import Store

pytestmark = pytest.mark.django_db(transaction=True)
TAPES = Path(__file__).parents[3] / "tapes"
AT = "2026-01-01T00:00:0{}.000Z"


@pytest.fixture
def project():
    return Project.objects.create(slug="p")


@pytest.fixture
def run(capsys, project):
    """Return a function that runs the command and returns its exit status and what it printed."""

    def run(*paths, **options):
        try:
            call_command("import_runs", *map(str, paths), project="p", **options)
            status = 0
        except CommandError:
            status = 1
        printed = capsys.readouterr()
        return status, printed.out + printed.err

    return run


def claude(number, text):
    return {
        "type": "user",
        "uuid": f"u{number}",
        "sessionId": "s1",
        "timestamp": AT.format(number),
        "message": {"role": "user", "content": text},
    }


def answer(number, text, **more):
    message = {"id": f"m{number}", "role": "assistant", "model": "claude-opus-4-5", "stop_reason": "end_turn"}
    message |= {"content": [{"type": "text", "text": text}], "usage": {"input_tokens": 1, "output_tokens": 2}}
    return claude(number, "") | {"type": "assistant", "message": message | more}


LINES = [json.dumps(each).encode() for each in (
    claude(0, "One"), answer(1, "Two"), claude(2, "Three"), answer(3, "Four")
)]  # fmt: skip


def written(path, content, *, is_old=True):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    if is_old:
        os.utime(path, (1, 1))
    return path


def utf16(lines):
    return ("\ufeff" + "".join(f"{line.decode()}\r\n" for line in lines)).encode("utf-16-le")


@pytest.mark.parametrize(
    ("content", "lost"),
    [
        (b"\n".join(LINES) + b"\n", 0),
        (b"\n".join([*LINES[:2], b"\0" * 400, *LINES[2:]]) + b"\n", 1),
        (b"\0" * 300_000 + b"\n" + b"\n".join(LINES) + b"\n", 1),
        (b"\0" * 5000 + b"\n".join(LINES) + b"\n", 1),
        (LINES[0] + LINES[1] + b"\n" + LINES[2] + LINES[3] + b"\n", 0),
        (LINES[0] + b"\n" + LINES[1] + b"\n" + LINES[1][:40] + LINES[2] + b"\n" + LINES[3] + b"\n", 1),
        (b"\n".join([*LINES[:2], b"\xff\xfe\xfd{", *LINES[2:]]) + b"\n", 1),
        (b"\xef\xbb\xbf" + b"\n".join(LINES) + b"\n", 0),
        (utf16(LINES), 0),
        (b"\n".join([*LINES[:2], b'{"type":{"a":1}}', *LINES[2:]]) + b"\n", 1),
        (b"\n".join([b'{"type":{"a":1}}', *LINES]) + b"\n", 1),
        (b"\n".join([b'{"type":["a"]}', b"[1]", b"null", *LINES]) + b"\n", 3),
    ],
)
def test_bad_bytes_cost_a_line_and_it_is_named(run, tmp_path, content, lost):
    path = written(tmp_path / "s1.jsonl", content)
    status, printed = run(tmp_path)
    assert (status, QuarantinedLine.objects.count(), printed.count(f"{path}, line ")) == (
        bool(lost),
        lost,
        lost,
    )
    assert list(LoopRecord.objects.order_by("pk").values_list("status", flat=True)) == ["completed"] * 2
    assert Turn.objects.count() == 2

    events = JournalEvent.objects.count()
    assert run(tmp_path, is_again=True)[0] == 0
    assert JournalEvent.objects.count() == events


def test_the_end_of_a_file_that_is_cut_in_a_line_aborts_nothing(run, tmp_path):
    path = written(tmp_path / "s1.jsonl", b"\n".join(LINES)[:-10])
    assert "line 4 is not complete" in run(path)[1]
    assert list(LoopRecord.objects.order_by("pk").values_list("status", flat=True)) == [
        "completed",
        "running",
    ]
    written(path, b"\n".join(LINES) + b"\n")
    assert run(path)[0] == 0
    assert [loop.status for loop in LoopRecord.objects.all()] == ["completed"] * 2


def test_a_session_that_runs_is_not_aborted(run, tmp_path):
    path = written(tmp_path / "s1.jsonl", LINES[0] + b"\n", is_old=False)
    status, printed = run(tmp_path)
    assert status == 0
    assert "1 file is being written: loops that did not end there stay open" in printed
    assert LoopRecord.objects.get().status == "running"

    written(path, LINES[0] + b"\n" + LINES[1] + b"\n")
    run(tmp_path)
    assert [(loop.status, loop.turns) for loop in LoopRecord.objects.all()] == [("completed", 1)]


def test_a_file_that_is_continued_is_read_again_when_it_is_quiet(run, tmp_path):
    path = written(tmp_path / "s1.jsonl", LINES[0] + b"\n", is_old=False)
    run(tmp_path)
    os.utime(path, (1, 1))
    run(tmp_path)
    assert LoopRecord.objects.get().status == "aborted"


def test_a_file_written_anew_gives_its_new_lines_and_says_so(run, tmp_path):
    more = [json.dumps(each).encode() for each in (claude(4, "Five"), answer(5, "Six"))]
    path = written(tmp_path / "s1.jsonl", b"\n".join(LINES) + b"\n")
    run(path)
    written(path, b"\n".join([*LINES[:2], *more, b"{bad"]) + b"\n")
    status, printed = run(path)
    assert "it was written anew since it was recorded: 3 lines of it are new" in printed
    assert "seq_conflict" not in printed
    assert status == 1, "a line is bad"
    assert LoopRecord.objects.count() == 3
    assert run(path, is_again=True)[0] == 0
    assert Producer.objects.get().high == 6


def test_a_file_that_lost_its_end_changes_nothing(run, tmp_path):
    path = written(tmp_path / "s1.jsonl", b"\n".join(LINES) + b"\n")
    run(path)
    written(path, LINES[0] + b"\n")
    assert run(path)[0] == 0
    assert Producer.objects.get().high == 3


def test_a_result_of_5_mb_ends_its_call(run, tmp_path):
    call = {"type": "tool_use", "id": "c1", "name": "Read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "x" * 5_000_000}
    lines = [
        claude(0, "One"),
        answer(1, "", content=[call], stop_reason="tool_use"),
        claude(2, [result]) | {"toolUseResult": {"file": "x" * 5_000_000}},
        answer(3, "Done"),
    ]
    path = written(tmp_path / "s1.jsonl", b"".join(json.dumps(each).encode() + b"\n" for each in lines))
    assert run(path)[0] == 0
    assert LoopRecord.objects.get().outcome == "completed"
    assert ToolCall.objects.get().state != "running"


def test_a_file_that_has_not_changed_is_not_read_again(run, tmp_path, monkeypatch):
    for number in range(3):
        line = json.dumps(claude(0, "One") | {"sessionId": f"s{number}"}).encode()
        written(tmp_path / f"s{number}.jsonl", line + b"\n")
    run(tmp_path)
    opened = []
    monkeypatch.setattr(Path, "open", lambda path, *words: opened.append(path))
    status, printed = run(tmp_path)
    assert (status, opened) == (0, [])
    assert "3 files have not changed since the last import" in printed


@pytest.mark.parametrize("change", ["content", "time", "deleted"])
def test_a_file_that_changed_or_is_not_recorded_is_read_again(run, tmp_path, change):
    path = written(tmp_path / "s1.jsonl", LINES[0] + b"\n")
    run(tmp_path)
    if change == "content":
        written(path, b"\n".join(LINES) + b"\n")
    elif change == "time":
        os.utime(path, (2, 2))
    else:
        Project.objects.all().delete()
        Project.objects.create(slug="p")
    assert "not changed" not in run(tmp_path)[1]


def test_links_pipes_and_odd_names_of_a_folder(run, tmp_path):
    secret = written(tmp_path / "secret" / "a.jsonl", LINES[0] + b"\n")
    home = written(tmp_path / "home" / "s1.jsonl", LINES[0] + b"\n").parent
    (home / "link.jsonl").symlink_to(secret)
    (home / "folder").symlink_to(secret.parent, target_is_directory=True)
    os.mkfifo(home / "pipe.jsonl")
    written(home / "\x1b[2J\nok.jsonl", b"{bad\n" + LINES[0] + b"\n")
    status, printed = run(home)
    assert status == 1
    assert printed.count("it is a symbolic link, which is not followed") == 2
    assert "pipe.jsonl: it is no file" in printed
    assert "\x1b" not in printed
    assert "it is no file" in run("/dev/zero")[1]


def test_a_chat_of_gemini_that_is_a_document_is_imported(run, tmp_path):
    tokens = {"input": 10, "output": 5, "cached": 0, "thoughts": 1, "tool": 0, "total": 16}
    messages = [{"id": "a", "timestamp": AT.format(1), "type": "user", "content": "Hi"}]
    messages += [{"id": "b", "timestamp": AT.format(2), "type": "gemini", "content": "Yo", "tokens": tokens}]
    chat = {"sessionId": "g1", "projectHash": "ab", "startTime": AT.format(0), "messages": messages}
    path = written(
        tmp_path / "x" / "chats" / "session-1.json", json.dumps(chat | {"lastUpdated": "a"}).encode()
    )
    assert run(tmp_path)[0] == 0
    assert Session.objects.get().source == "gemini-cli"
    assert Turn.objects.count() == 1

    more = [{"id": "c", "timestamp": AT.format(3), "type": "user", "content": "More"}]
    written(path, json.dumps(chat | {"lastUpdated": "b", "messages": messages + more}).encode())
    assert run(tmp_path)[0] == 0
    assert (LoopRecord.objects.count(), Producer.objects.get().high) == (2, 3)


def test_a_packed_rollout_is_named(run, tmp_path):
    shutil.copytree(TAPES / "codex" / "write", tmp_path / "sessions")
    written(tmp_path / "sessions" / "rollout-9.jsonl.zst", b"\x28\xb5\x2f\xfd")
    status, printed = run(tmp_path)
    assert status == 1
    assert "rollout-9.jsonl.zst: it is packed with zstd" in printed
    assert LoopRecord.objects.exists()


@pytest.mark.parametrize("place", ["", "storage"])
def test_the_files_of_an_older_opencode_are_named_as_one(run, tmp_path, place):
    for name in ("session/p/ses_1.json", "message/ses_1/msg_1.json", "part/msg_1/prt_1.json"):
        written(tmp_path / "storage" / name, b'{"id": "x"}')

    status, printed = run(tmp_path / place)

    assert (status, printed.count("opencode db migrate"), printed.count("_1.json")) == (1, 1, 0)


def test_a_recording_beside_the_files_of_an_older_opencode_is_imported(run, tmp_path):
    for name in ("session/p/ses_1.json", "message/ses_1/msg_1.json"):
        written(tmp_path / name, b'{"id": "x"}')
    shutil.copytree(TAPES / "pi/branch", tmp_path / "other")

    _, printed = run(tmp_path)

    assert (printed.count("opencode db migrate"), printed.count("msg_1.json")) == (1, 0)
    assert LoopRecord.objects.exists()


@pytest.mark.parametrize("has_older", [True, False])
def test_sessions_of_opencode_2_are_named_and_older_ones_imported(run, tmp_path, has_older):
    store = Store(tmp_path / "opencode.db")
    store.prompt(store.session("ses_1"), "Go")
    store.db.executescript("CREATE TABLE session_v2 (id); CREATE TABLE session_message (id)")
    store.db.execute("INSERT INTO session_v2 VALUES ('ses_2')")
    if not has_older:
        store.db.executescript("DROP TABLE part; DROP TABLE message; DROP TABLE session")

    status, printed = run(tmp_path)

    assert status == 1
    assert "it has sessions of OpenCode 2 (table session_v2), which are not read" in printed
    assert LoopRecord.objects.count() == int(has_older)


META = {"agentType": "general-purpose", "toolUseId": "toolu_1", "parentAgentId": "a0", "spawnDepth": 2}


def sub_agent(folder, content=LINES[0] + b"\n"):
    path = written(folder / "s1" / "subagents" / "agent-a1.jsonl", content)
    written(path.with_name("agent-a1.meta.json"), json.dumps(META).encode())
    return path


def test_the_meta_file_of_a_sub_agent_is_its_first_line(run, tmp_path):
    sub_agent(tmp_path)
    run(tmp_path)
    assert Producer.objects.get().high == 1
    sub_agent(tmp_path, b"\n".join(LINES) + b"\n")
    assert run(tmp_path)[0] == 0
    assert Producer.objects.get().high == 4
    assert not QuarantinedLine.objects.exists()


def test_a_sub_agent_that_was_recorded_without_it_goes_on_without(run, tmp_path):
    path = sub_agent(tmp_path)
    meta = path.with_name("agent-a1.meta.json")
    meta.unlink()
    run(tmp_path)
    sub_agent(tmp_path, b"\n".join(LINES) + b"\n")
    assert run(tmp_path)[0] == 0
    assert Producer.objects.get().high == 3
    assert not QuarantinedLine.objects.exists()


def test_a_line_that_was_changed_in_the_middle_is_refused_as_changed(run, tmp_path):
    path = written(tmp_path / "s1.jsonl", b"\n".join(LINES) + b"\n")
    run(path)
    written(path, b"\n".join([LINES[0], LINES[2], LINES[2], LINES[3]]) + b"\n")
    status, printed = run(path)
    assert status == 1
    assert "the file was changed since, and this line is not recorded" in printed
