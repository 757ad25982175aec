"""Every transcript is found or named, whatever release of an agent wrote it."""

import contextlib
import gzip
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from loopscope_client.push import streams
from loopscope_client.push.ledger import Progress
from loopscope_client.push.sources import sources
from loopscope_client.transcripts import files, open_file
from tests.loopscope_client.push.lines import line
from tests.recorder.imports.transcripts.opencode_store import Store

TAPES = Path(__file__).parents[2] / "tapes"


def found(agent, folder=None):
    skipped = {}
    every = list(sources(agent, folder, lambda path, why: skipped.update({path.name: why})))
    return every, skipped


def lines(source):
    return [json.loads(each.sent) for each in source.every()]


def test_archived_sessions_of_codex_are_found(monkeypatch, tmp_path):
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    for name in ("sessions/2026/01/01/rollout-1.jsonl", "archived_sessions/rollout-2.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes(line("codex", 0))
    assert sorted(source.path.name for source in found("codex")[0]) == ["rollout-1.jsonl", "rollout-2.jsonl"]


def test_a_session_that_is_moved_to_the_archive_has_the_same_producer(tmp_path):
    for folder in ("sessions", "archived_sessions"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "rollout-1.jsonl").write_bytes(line("codex", 0))
    assert len({source.producer for source in found("codex", tmp_path)[0]}) == 1


def test_packed_files_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(open_file, "zstd_module", lambda: None)
    (tmp_path / "rollout-1.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    (tmp_path / "rollout-2.jsonl.gz").write_bytes(gzip.compress(line("codex", 0)))
    every, skipped = found("codex", tmp_path)
    assert every == []
    assert "packed with zstd" in skipped["rollout-1.jsonl.zst"]
    assert "packed with gzip" in skipped["rollout-2.jsonl.gz"]


@pytest.mark.parametrize("has_store", [True, False])
def test_the_files_of_an_older_opencode_are_named_where_no_store_is(tmp_path, has_store):
    store = tmp_path / "storage/session/project"
    store.mkdir(parents=True)
    assert found("opencode", tmp_path) == ([], {})
    (store / "ses_1.json").write_text("{}")
    if has_store:
        (tmp_path / "opencode.db").touch()
    _, skipped = found("opencode", tmp_path)
    assert ("opencode db migrate" in skipped.get("session", "")) is not has_store


class Zstd:
    """A module that reads zstd, with another packing."""

    __name__ = "compression.zstd"
    ZstdError = ValueError

    class ZstdDecompressor:
        eof, unused_data = False, b""

        def decompress(self, part):
            self.eof = part.endswith(b"!")
            if b"bad" in part:
                raise ValueError("bad")
            return part.removesuffix(b"!") * (100_000_000 if b"bomb" in part else 1)


@pytest.mark.parametrize(
    ("packed", "why"),
    [
        (b"{}\n!", ""),
        (b"bad", "cannot be unpacked: bad"),
        (b"{}\n", "before the end"),
        (b"bomb!", "250 times"),
    ],
)
def test_packed_files_are_read_where_python_can(tmp_path, monkeypatch, packed, why):
    monkeypatch.setattr(open_file, "zstd_module", Zstd)
    monkeypatch.setattr(files, "zstd", lambda: True)
    (tmp_path / "rollout-1.jsonl.zst").write_bytes(packed)
    (tmp_path / "rollout-2.jsonl").write_bytes(b"{}\n")
    every, skipped = found("codex", tmp_path)
    if why:
        assert why in skipped["rollout-1.jsonl.zst"]
        return
    assert [lines(source) for source in every] == [[{}], [{}]]
    one, other = (source.producer.rpartition(":")[0] for source in every)
    assert one == other, "a rollout that is packed later is the same one"


def test_a_packed_file_is_unpacked_once_for_all_its_batches(tmp_path, monkeypatch):
    unpacked, unpack = [], open_file._unpacked
    monkeypatch.setattr(open_file, "zstd_module", Zstd)
    monkeypatch.setattr(open_file, "_unpacked", lambda file: unpacked.append(file) or unpack(file))
    monkeypatch.setattr(streams, "BATCH_LINES", 2)
    (tmp_path / "rollout-1.jsonl.zst").write_bytes(b"{}\n" * 5 + b"!")
    source = streams.FileSource("codex", tmp_path / "rollout-1.jsonl.zst", "p")

    assert [len(batch.lines) for batch in batches(source)] == [2, 2, 1]
    assert len(unpacked) == 1
    assert source._unpacked == []


def test_folders_in_folders_are_found_however_deep(tmp_path):
    names = ["d"] * 1_500  # more than Python calls functions in functions
    with contextlib.chdir(tmp_path):
        for name in names:
            Path(name).mkdir()
            os.chdir(name)
        Path("rollout-1.jsonl").write_bytes(line("codex", 0))
    every, skipped = found("codex", tmp_path)
    subprocess.run(["rm", "-r", tmp_path / "d"], check=True)  # Python's own functions cannot

    assert [source.path for source in every] == [tmp_path.joinpath(*names, "rollout-1.jsonl")]
    assert skipped == {}


def batches(source):
    done = Progress(0, 0)
    while (batch := source.next(done)) is not None:
        yield batch
        done = batch.end


@pytest.mark.parametrize("name", ["opencode.db", "opencode-local.db", "opencode-dev.db"])
def test_a_store_of_any_channel_is_found(tmp_path, name):
    shutil.copyfile(TAPES / "opencode" / "write" / "opencode.db", tmp_path / name)
    (tmp_path / "other.db").write_bytes(b"")
    every, skipped = found("opencode", tmp_path)
    assert len(every) == 1
    assert skipped == {}


@pytest.mark.parametrize("named", ["mine.db", "absolute"])
def test_a_store_that_a_variable_names_is_found(tmp_path, monkeypatch, named):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    place = tmp_path / "elsewhere.db" if named == "absolute" else tmp_path / "opencode" / named
    place.parent.mkdir(exist_ok=True)
    shutil.copyfile(TAPES / "opencode" / "write" / "opencode.db", place)
    monkeypatch.setenv("OPENCODE_DB", str(place) if named == "absolute" else named)
    assert [source.path for source in found("opencode")[0]] == [place]
    monkeypatch.setenv("OPENCODE_DB", ":memory:")
    assert found("opencode")[0] == []


def test_sessions_of_pi_that_a_variable_moves_are_found(tmp_path, monkeypatch):
    monkeypatch.setenv("PI_CODING_AGENT_SESSION_DIR", str(tmp_path))
    (tmp_path / "a.jsonl").write_bytes(line("pi", 0))
    assert len(found("pi")[0]) == 1


CHAT = {
    "sessionId": "s1",
    "projectHash": "ab",
    "startTime": "2026-01-05T09:00:00.000Z",
    "lastUpdated": "2026-01-05T09:00:09.000Z",
    "messages": [
        {"id": "a", "type": "user", "content": "Hi"},
        {"id": "b", "type": "gemini", "content": "Yo"},
    ],
}


def test_a_chat_of_gemini_that_is_a_document_gives_a_head_and_its_messages(tmp_path):
    path = tmp_path / "x" / "chats" / "session-1.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(CHAT, indent=1))
    (tmp_path / "x" / "chats" / "session-2.json").write_text(json.dumps(CHAT)[:-9])
    (tmp_path / "x" / "logs.json").write_text("[]")
    (source,), skipped = found("gemini-cli", tmp_path)
    assert lines(source) == [
        {"sessionId": "s1", "projectHash": "ab", "startTime": "2026-01-05T09:00:00.000Z"},
        *CHAT["messages"],
    ]
    assert skipped == {"session-2.json": "it is no complete JSON document"}


def test_a_document_of_a_sub_agent_of_gemini_is_a_chat_whatever_its_name(tmp_path):
    path = tmp_path / "x" / "chats" / "s0" / "legacy01.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(CHAT | {"kind": "subagent"}))
    (tmp_path / "x" / "chats" / "notes.json").write_text("[]")

    (source,), skipped = found("gemini-cli", tmp_path)

    assert (source.path, skipped) == (path, {})


@pytest.mark.parametrize("has_older", [True, False])
def test_sessions_of_opencode_2_are_named_and_the_older_ones_read(tmp_path, has_older):
    store = Store(tmp_path / "opencode.db")
    store.prompt(store.session("ses_1"), "Go")
    store.db.execute("CREATE TABLE session_v2 (id text)")
    store.db.execute("CREATE TABLE session_message (id text)")
    if not has_older:
        store.db.executescript("DROP TABLE part; DROP TABLE message; DROP TABLE session")
    every, skipped = found("opencode", tmp_path)
    assert (len(every), skipped) == (int(has_older), {} if has_older else skipped)

    store.db.execute("INSERT INTO session_v2 VALUES ('ses_2')")

    every, skipped = found("opencode", tmp_path)
    assert len(every) == int(has_older)
    assert "sessions of OpenCode 2 (table session_v2), which are not read" in skipped["opencode.db"]


def test_the_journal_of_a_workflow_is_no_transcript(tmp_path):
    folder = tmp_path / "s1" / "subagents" / "workflows" / "wf_1"
    folder.mkdir(parents=True)
    (folder / "journal.jsonl").write_bytes(b'{"type":"started","agentId":"aw1"}\n')
    (folder / "agent-aw1.jsonl").write_bytes(line("claude-code", 0))
    every, skipped = found("claude-code", tmp_path)
    assert [source.path.name for source in every] == ["agent-aw1.jsonl"]
    assert skipped == {}
    assert lines(every[0])[0] == {
        "type": "agent-meta",
        "sessionId": "of-claude",
        "agentId": "aw1",
        "workflowRunId": "wf_1",
    }


@pytest.mark.parametrize("above", ["2026-11-22T10-00-00-000Z_s1", "notes"])
def test_the_folder_of_a_run_of_sub_agents_of_pi_is_its_first_line(tmp_path, monkeypatch, above):
    path = tmp_path / "--w--" / above / "r7" / "run-0" / "session.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(line("pi", 0))
    (source,), _ = found("pi", tmp_path)
    head = {"type": "agent-meta", "sessionId": "s1", "agentId": "run-0", "runId": "r7"}
    assert (lines(source)[0] == head) is (above != "notes")
    monkeypatch.chdir(path.parent)
    (source,), _ = found("pi", Path())
    assert (lines(source)[0] == head) is (above != "notes")


META = {
    "agentType": "general-purpose",
    "toolUseId": "toolu_1",
    "parentAgentId": "a0",
    "spawnDepth": 2,
    "finished": True,
}


def test_the_meta_file_of_a_sub_agent_is_its_first_line(tmp_path):
    folder = tmp_path / "s1" / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-a1.jsonl").write_bytes(line("claude-code", 0))
    (folder / "agent-a1.meta.json").write_text(json.dumps(META))
    (source,), _ = found("claude-code", tmp_path)
    assert lines(source) == [
        {
            "type": "agent-meta",
            "sessionId": "of-claude",
            "agentId": "a1",
            "toolUseId": "toolu_1",
            "parentAgentId": "a0",
            "agentType": "general-purpose",
            "spawnDepth": 2,
        },
        json.loads(line("claude-code", 0)),
    ]
    (folder / "agent-a1.meta.json").write_text(json.dumps(META | {"finished": True, "model": "m"}))
    assert lines(found("claude-code", tmp_path)[0][0]) == lines(source), "what changes is not sent"


@pytest.mark.parametrize(
    "meta", ["[1]", "{", "{}", '{"toolUseId": 1, "spawnDepth": true}', '{"toolUseId":"\\n"}', "link"]
)
def test_other_content_beside_the_transcript_of_a_sub_agent_is_left_out(tmp_path, meta):
    folder = tmp_path / "s1" / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-a1.jsonl").write_bytes(line("claude-code", 0))
    if meta == "link":
        (tmp_path / "other").write_text(json.dumps(META))
        (folder / "agent-a1.meta.json").symlink_to(tmp_path / "other")
    else:
        (folder / "agent-a1.meta.json").write_text(meta)
    (source,), _ = found("claude-code", tmp_path)
    assert len(lines(source)) == 1


def test_the_line_of_a_sub_agent_is_sent_once_and_only_before_the_first(pusher, server, tmp_path):
    folder = tmp_path / "s1" / "subagents"
    folder.mkdir(parents=True)
    path = folder / "agent-a1.jsonl"
    path.write_bytes(line("claude-code", 0))
    pusher.push(found("claude-code", tmp_path)[0][0], lambda: False)
    (folder / "agent-a1.meta.json").write_text(json.dumps(META))
    with path.open("ab") as file:
        file.write(line("claude-code", 1))
    pusher.push(found("claude-code", tmp_path)[0][0], lambda: False)
    assert [json.loads(each)["type"] for each in next(iter(server.kept.values()))] == ["user", "user"]

    server.kept.clear()
    with path.open("ab") as file:
        file.write(line("claude-code", 2))
    pusher.push(found("claude-code", tmp_path)[0][0], lambda: False)
    (kept,) = server.kept.values()
    assert [json.loads(each)["type"] for each in kept] == ["agent-meta", "user", "user", "user"]
