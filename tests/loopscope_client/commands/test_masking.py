"""`loopscope-push --mask` and `loopscope-tail --mask`, as commands: what is sent, and what is sent again."""

import json
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from loopscope_client.commands import push, tail
from loopscope_client.masking.key_file import NAME, stored_key
from loopscope_client.masking.masker import Masker
from loopscope_client.transcripts.long_lines import KEPT, LINE_MAX

ROOT = Path(__file__).parents[3]
SECRET = "AKIAIOSFODNN7EXAMPLE"


def written(path, *texts):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(line(text) + b"\n" for text in texts))


def line(text):
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    return json.dumps({"type": "message", "id": "m", "message": message}).encode()


def run(module, *words, stdin=b"", **variables):
    command = [sys.executable, "-m", f"loopscope_client.commands.{module}", *words]
    if module == "push":
        main = "from loopscope_client.commands.push import main; raise SystemExit(main())"
        command = [sys.executable, "-c", main, *words]
    environment = os.environ | {"LOOPSCOPE_TOKEN": "t"} | variables
    done = subprocess.run(command, cwd=ROOT, env=environment, input=stdin, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stderr.decode()


def pushed(server, tmp_path, *words, **variables):
    places = ("--home", str(tmp_path / "pi"), "--state", str(tmp_path / "state"))
    about = ("--agent", "pi", "--url", server.url, "--machine", "desk", "--yes")
    return run("push", *about, *places, *words, **variables)


def tailed(server, tmp_path, *words, file="events.jsonl", stdin=b"", **variables):
    name = file if file == "-" else str(tmp_path / file)
    about = (name, "--url", server.url, "--spool", str(tmp_path / "spool"), "--once", *words)
    return run("tail", *about, stdin=stdin, **variables)


def stored(server):
    return [each for lines in server.kept.values() for each in lines]


def test_push_sends_masks_and_repeats_the_same_ones_without_its_ledger(server, tmp_path):
    written(tmp_path / "pi" / "sessions" / "a.jsonl", "plain", f"key {SECRET}")
    pushed(server, tmp_path, "--mask")
    key = tmp_path / "state" / NAME
    masked = Masker(key.read_bytes().strip()).line(line(f"key {SECRET}"))
    assert stored(server) == [line("plain"), masked]
    assert SECRET.encode() not in masked

    # As after a kill between the server's answer and the note in the ledger.
    for each in (tmp_path / "state").glob("push.sqlite3*"):
        each.unlink()
    printed = pushed(server, tmp_path, "--mask")

    assert stored(server) == [line("plain"), masked]
    assert "sent 2 lines" in printed
    assert "rejected" not in printed
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_tail_sends_masks_and_repeats_the_same_ones_without_its_spool(server, tmp_path):
    written(tmp_path / "events.jsonl", f"key {SECRET}", "plain")
    tailed(server, tmp_path, "--mask")
    key = tmp_path / "spool" / NAME
    wanted = [Masker(key.read_bytes().strip()).line(line(f"key {SECRET}")), line("plain")]
    assert stored(server) == wanted

    for folder in filter(Path.is_dir, (tmp_path / "spool").iterdir()):
        folder.rename(tmp_path / f"gone-{folder.name}")
    printed = tailed(server, tmp_path, "--mask")

    assert stored(server) == wanted
    assert "2 lines stored, 0 rejected" in printed
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_tail_masks_the_lines_of_a_pipe(server, tmp_path):
    tailed(server, tmp_path, "--mask", "--mask-key", "one", file="-", stdin=line(SECRET) + b"\n")
    assert stored(server) == [Masker("one").line(line(SECRET))]
    assert not (tmp_path / "spool" / NAME).exists()


@pytest.mark.parametrize("words", [("--mask-key", "one"), ()])
def test_a_key_of_the_caller_is_used_and_none_is_stored(server, tmp_path, words):
    given = {} if words else {"LOOPSCOPE_MASK_KEY": "one"}
    written(tmp_path / "pi" / "sessions" / "a.jsonl", SECRET)
    written(tmp_path / "events.jsonl", SECRET)
    pushed(server, tmp_path, "--mask", *words, **given)
    tailed(server, tmp_path, "--mask", *words, **given)
    assert stored(server) == [Masker("one").line(line(SECRET))] * 2
    assert not [*tmp_path.rglob(NAME)]


def test_nothing_is_masked_without_the_option(server, tmp_path):
    written(tmp_path / "pi" / "sessions" / "a.jsonl", SECRET)
    pushed(server, tmp_path)
    assert stored(server) == [line(SECRET)]


def test_a_line_that_is_cut_holds_no_half_of_a_secret(server, tmp_path):
    half = KEPT[0] // 2 - 11  # the cut is in the secret
    written(tmp_path / "pi" / "sessions" / "a.jsonl", "x" * half + f" {SECRET} " + "x" * LINE_MAX)
    pushed(server, tmp_path)
    assert SECRET[:10].encode() in stored(server)[0], "else this tests nothing"
    assert SECRET.encode() not in stored(server)[0], "else this tests nothing"
    server.kept.clear()
    for each in (tmp_path / "state").glob("push.sqlite3*"):
        each.unlink()
    pushed(server, tmp_path, "--mask")
    (sent,) = stored(server)
    assert b"AKIA" not in sent
    assert len(sent) < LINE_MAX


@pytest.mark.parametrize("command", ["push", "tail"])
def test_a_line_that_cannot_be_masked_is_not_sent(command, server, tmp_path, monkeypatch, capsys):
    def fails(*_):
        raise ValueError(SECRET)

    monkeypatch.setattr(Masker, "spans", fails)
    written(tmp_path / "pi" / "sessions" / "a.jsonl", SECRET)
    about = ["--url", server.url, "--token", "t", "--mask"]
    if command == "push":
        places = ["--home", str(tmp_path / "pi"), "--state", str(tmp_path / "state")]
        assert push.main([*about, *places, "--agent", "pi", "--yes"]) == 1
    else:
        file = str(tmp_path / "pi" / "sessions" / "a.jsonl")
        assert tail.main([*about, file, "--spool", str(tmp_path / "spool"), "--once"]) == 1
    printed = capsys.readouterr().err
    assert "masking failed" in printed
    assert SECRET not in printed
    assert stored(server) == []


@pytest.mark.parametrize("command", [push, tail])
def test_a_key_without_masking_is_refused(command, tmp_path, capsys):
    about = ["--url", "http://127.0.0.1:9", "--token", "t", "--mask-key", "one"]
    words = ["--agent", "pi", "--home", str(tmp_path)] if command is push else [str(tmp_path / "a.jsonl")]
    assert command.main([*about, *words]) == 1
    assert "--mask-key is for --mask" in capsys.readouterr().err


def test_an_empty_key_is_refused(tmp_path, capsys):
    about = ["--url", "http://127.0.0.1:9", "--token", "t", "--mask", "--mask-key", ""]
    places = ["--home", str(tmp_path), "--state", str(tmp_path / "state")]
    assert push.main([*about, "--agent", "pi", "--yes", *places]) == 1
    assert tail.main([*about, str(tmp_path / "a.jsonl"), "--spool", str(tmp_path)]) == 1
    assert capsys.readouterr().err.count("the key of masks is empty") == 2


def test_processes_that_start_at_once_have_one_key(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: stored_key(tmp_path / "state"), range(32)))
    assert len(keys) == 1
    assert [each.name for each in (tmp_path / "state").iterdir()] == [NAME]


def test_a_file_that_holds_no_key_is_refused(tmp_path):
    (tmp_path / NAME).write_bytes(b"")
    with pytest.raises(ValueError, match="no key"):
        stored_key(tmp_path)
