"""Files and names below a home that would lead elsewhere, never end, or forge what is printed."""

import io
import json
import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from loopscope_client.commands import push
from loopscope_client.push import ledger as ledgers
from loopscope_client.push.sources import FileSource, sources
from loopscope_client.transcripts import opencode
from loopscope_client.transcripts.open_file import NotReadable
from tests.loopscope_client.hostile_server import says
from tests.loopscope_client.push.lines import line, write


def found(agent, folder):
    skipped = {}
    paths = [
        source.path.name
        for source in sources(agent, folder, lambda path, why: skipped.update({path.name: why}))
    ]
    return paths, skipped


@pytest.fixture
def folder(tmp_path):
    return write("pi", tmp_path / "pi", range(1)).parent


def test_no_link_out_of_the_home_is_followed(folder, tmp_path, options, server, stderr):
    secret = tmp_path / "credentials.jsonl"
    secret.write_bytes(b'{"password":"hunter2"}\n')
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "b.jsonl").write_bytes(b'{"password":"hunter3"}\n')
    (folder / "a.jsonl").symlink_to(secret)
    (folder / "more").symlink_to(tmp_path / "outside", target_is_directory=True)
    (folder / "same.jsonl").symlink_to(folder / "of-pi.jsonl")

    with pytest.raises(push.PushError, match="2 transcripts could not be sent"):
        push.run(options(yes=True), io.StringIO(), stderr)

    assert [each for lines in server.kept.values() for each in lines] == [line("pi", 0).strip()]
    assert "a.jsonl is left out until it changes: it is a symbolic link" in stderr.getvalue()
    assert "same.jsonl" not in stderr.getvalue()


def test_a_link_that_takes_the_place_of_a_file_is_not_read(folder, tmp_path):
    path = folder / "of-pi.jsonl"
    source = FileSource("pi", path, "p")
    path.unlink()
    path.symlink_to(tmp_path / "pi")
    with pytest.raises(NotReadable, match="symbolic link"):
        list(source.every())


def test_pipes_devices_and_folders_are_not_opened(folder):
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "folder.jsonl").mkdir()
    assert found("pi", folder) == (["of-pi.jsonl"], {"pipe.jsonl": "it is no file"})


def test_a_home_that_is_a_link_is_the_users_choice(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    assert found("pi", tmp_path / "link") == (["of-pi.jsonl"], {})


@pytest.mark.parametrize(
    "name", ["\x1b[2J\x1b[H", "\nTo https:good.example, as", "\u202egpj", "a\rb", "\udcff"]
)
def test_names_of_files_are_printed_visibly_and_sent(folder, options, server, stderr, name):
    (folder / f"{name}.jsonl").write_bytes(line("pi", 1))
    push.run(options(dry_run=True), io.StringIO(), stderr)
    push.run(options(yes=True), io.StringIO(), stderr)
    printed = stderr.getvalue()
    assert all(each == "\n" or each.isprintable() or each == "\ufffd" for each in printed)
    assert name not in printed
    assert sorted(map(len, server.kept.values())) == [1, 1], "no name stops a file"
    assert all(producer.isprintable() for producer in server.kept)


@pytest.mark.parametrize("status", [400, 413, 415])
def test_a_refused_file_does_not_stop_the_others(folder, options, server, stderr, status):
    (folder / "b.jsonl").write_bytes(line("pi", 1))
    (folder / "c.jsonl").write_bytes(line("pi", 2))
    server.script = [says(status, "bad_body")]
    with pytest.raises(push.PushError, match="1 transcript could not be sent"):
        push.run(options(yes=True), io.StringIO(), stderr)
    assert len(server.kept) == 2


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refused_token_ends_it(folder, options, server, stderr, status):
    (folder / "b.jsonl").write_bytes(line("pi", 1))
    server.always = says(status)
    with pytest.raises(push.PushError):
        push.run(options(yes=True), io.StringIO(), stderr)
    assert server.requests == 1


def test_a_file_that_cannot_be_read_does_not_stop_the_others(folder, monkeypatch):
    (folder / "b.jsonl").write_bytes(line("pi", 1))
    opened = Path.open

    def refuses(path, *words):
        if path.name == "b.jsonl":
            raise PermissionError(13, "Permission denied")
        return opened(path, *words)

    monkeypatch.setattr(Path, "open", refuses)
    assert found("pi", folder) == (["of-pi.jsonl"], {"b.jsonl": "Permission denied"})


def test_rejected_lines_are_named_and_the_status_says_so(folder, options, server, stderr):
    server.kept = {next(iter(sources("pi", folder))).producer: [b"{}"]}
    with pytest.raises(push.PushError, match="the server rejected 1 line"):
        push.run(options(yes=True), io.StringIO(), stderr)
    assert "of-pi.jsonl, line 1: seq_conflict" in stderr.getvalue()


def test_the_consent_is_for_a_folder_a_token_and_a_server(ledger, tmp_path):
    ledger.note_consent("pi", tmp_path, "one")
    assert ledger.has_consent("pi", tmp_path, "one")
    assert not ledger.has_consent("pi", tmp_path, "two")
    assert not ledger.has_consent("pi", tmp_path / "other", "one")
    assert not ledger.has_consent("codex", tmp_path, "one")


def test_another_token_needs_another_consent(folder, options, server, stderr):
    push.run(options(yes=True), io.StringIO(), stderr)
    with pytest.raises(push.PushError, match="without consent"):
        push.run(options(token="of another project"), io.StringIO(), stderr)
    with closing(sqlite3.connect(options().state / "push.sqlite3")) as store:
        assert "of another project" not in "".join(store.iterdump())


def test_the_ledger_is_for_this_user_alone_and_no_link(ledger, tmp_path):
    for name in ("push.lock", "push.sqlite3"):
        assert stat.S_IMODE((tmp_path / "state" / name).stat().st_mode) == 0o600
    other = tmp_path / "other"
    other.mkdir()
    (tmp_path / "target").write_text("mine")
    (other / "push.lock").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="symbolic links"), ledgers.opened(other, "https://a.example"):
        pass
    assert (tmp_path / "target").read_text() == "mine"


def test_a_ledger_that_cannot_be_opened_is_one_line(options, stderr, tmp_path):
    (tmp_path / "state").write_text("no folder")
    with pytest.raises(push.PushError, match="cannot be used: "):
        push.run(options(yes=True), io.StringIO(), stderr)


ENDLESS = "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id, '' AS data FROM n"
OTHERS = "CREATE TABLE message (id); CREATE TABLE part (id)"
STORES = {
    "a view": f"CREATE VIEW session AS {ENDLESS}; {OTHERS}",
    "a virtual table": f"CREATE VIRTUAL TABLE session USING fts5(id); {OTHERS}",
    "computed values": f"CREATE TABLE session (id, data AS (hex(zeroblob(1000000)))); {OTHERS}",
    "other tables": "CREATE TABLE a (b)",
}


@pytest.mark.parametrize("kind", STORES)
def test_a_store_that_is_none_is_named(tmp_path, kind):
    with closing(sqlite3.connect(tmp_path / "opencode.db")) as store:
        store.executescript(STORES[kind])
    paths, skipped = found("opencode", tmp_path)
    assert paths == []
    assert "it is no store of OpenCode" in skipped["opencode.db"]


def test_a_store_whose_list_of_tables_is_damaged_is_named(tmp_path):
    path = tmp_path / "opencode.db"
    with closing(sqlite3.connect(path)) as store:
        store.executescript("CREATE TABLE session (id); CREATE TABLE message (id); CREATE TABLE part (id)")
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE message", b"CREATE \xff\xfeBLE message"))

    assert found("opencode", tmp_path)[1] == {
        "opencode.db": "the store cannot be read: its list of tables is damaged"
    }


def test_a_query_that_does_not_end_is_interrupted(tmp_path):
    path = tmp_path / "opencode.db"
    with closing(sqlite3.connect(path)) as store:
        store.execute("CREATE TABLE a (b)")
    with (
        closing(opencode.opened(path)) as store,
        pytest.raises(sqlite3.OperationalError, match="interrupted"),
    ):
        store.execute(f"SELECT max(id) FROM ({ENDLESS})").fetchall()


def test_a_file_that_is_no_store_is_named(tmp_path):
    (tmp_path / "opencode.db").write_bytes(b"x" * 5000)
    assert "cannot be read" in found("opencode", tmp_path)[1]["opencode.db"]


def test_a_text_of_a_type_that_is_no_text_is_sent(folder, options, server, stderr):
    (folder / "a.jsonl").write_bytes(json.dumps({"type": {"a": 1}}).encode() + b"\n")
    push.run(options(yes=True), io.StringIO(), stderr)
    assert len(server.kept) == 2
