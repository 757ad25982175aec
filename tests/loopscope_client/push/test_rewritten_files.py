"""Transcripts that are written anew: what is new in them is sent once, after what was sent before."""

import io
import random

import pytest

from loopscope_client.commands import push
from loopscope_client.push.ledger import Progress
from loopscope_client.push.sources import FileSource, LostLines, SessionSource
from tests.loopscope_client.push.lines import line, write


def never():
    return False


@pytest.fixture
def path(tmp_path):
    return write("pi", tmp_path / "pi", range(6))


@pytest.fixture
def push_file(pusher, path):
    return lambda: pusher.push(FileSource("pi", path, "p"), never)


def wanted(*numbers):
    return [line("pi", number).strip() for number in numbers]


def test_a_file_that_was_cut_back_and_grew_longer_gives_its_new_lines(push_file, pusher, server, path):
    push_file()
    path.write_bytes(b"".join(line("pi", number) for number in (0, 1, 2, 10, 11, 12, 13, 14)))
    push_file()
    assert server.kept["p"] == wanted(0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14)
    assert pusher.counts.anew == {str(path): 5}

    write_more(path, 15)
    push_file()
    push_file()
    assert server.kept["p"] == wanted(0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15)


def write_more(path, number):
    with path.open("ab") as file:
        file.write(line("pi", number))


def test_a_file_that_was_cut_back_and_is_still_shorter_gives_its_new_lines(push_file, server, path):
    push_file()
    path.write_bytes(line("pi", 0) + line("pi", 10))
    push_file()
    assert server.kept["p"] == wanted(0, 1, 2, 3, 4, 5, 10)


def test_a_file_that_was_only_cut_back_is_named_and_goes_on_later(push_file, server, path):
    push_file()
    path.write_bytes(b"".join(line("pi", number) for number in range(3)))
    with pytest.raises(LostLines, match="shorter"):
        push_file()
    write_more(path, 10)
    push_file()
    assert server.kept["p"] == wanted(0, 1, 2, 3, 4, 5, 10)


def test_lines_that_come_twice_are_sent_twice(push_file, server, path):
    path.write_bytes(line("pi", 0) + line("pi", 1) * 2)
    push_file()
    path.write_bytes(line("pi", 2) + line("pi", 1) * 3 + line("pi", 0))
    push_file()
    assert server.kept["p"] == wanted(0, 1, 1, 2, 1)


def test_a_stop_in_the_middle_repeats_no_line(pusher, ledger, server, path, monkeypatch):
    monkeypatch.setattr("loopscope_client.push.send.BATCH_LINES", 2)
    source = FileSource("pi", path, "p")
    pusher.push(source, never)
    path.write_bytes(b"".join(line("pi", number) for number in (0, *range(10, 19))))
    stops = iter([False, False, False, True])
    pusher.push(source, lambda: next(stops))
    assert len(server.kept["p"]) < 15
    assert ledger.progress("p").is_anew
    pusher.push(source, never)
    assert server.kept["p"] == wanted(*range(6), *range(10, 19))
    assert not ledger.progress("p").is_anew


def test_a_server_that_lost_lines_of_a_file_written_anew_gets_them_again(push_file, server, path):
    push_file()
    path.write_bytes(b"".join(line("pi", number) for number in (0, 1, 10, 11, 12, 13, 14)))
    push_file()
    del server.kept["p"][8:]
    write_more(path, 15)
    push_file()
    assert server.kept["p"] == wanted(*range(6), 10, 11, 12, 13, 14, 15)


def test_a_session_whose_message_was_replaced_gives_the_new_one(pusher, server, tmp_path):
    def push_lines(*lines):
        pusher.push(SessionSource("opencode", tmp_path, "p", list(lines)), never)

    push_lines(b"1", b"2", b"3")
    push_lines(b"1", b"2", b"4", b"5")
    push_lines(b"1", b"2", b"4", b"5", b"6")
    assert server.kept["p"] == [b"1", b"2", b"3", b"4", b"5", b"6"]


def test_the_command_says_what_it_noticed(options, stderr, server, path):
    push.run(options(yes=True), io.StringIO(), stderr)
    path.write_bytes(b"".join(line("pi", number) for number in (0, 1, *range(10, 20))))
    push.run(options(), io.StringIO(), stderr)
    assert f"{path} was written anew: 10 lines of it are new" in stderr.getvalue()
    assert "sent 10 lines of 1 transcript\n" in stderr.getvalue()


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_done_to_a_file_the_server_has_each_line_once(pusher, server, tmp_path, seed):
    pick, path = random.Random(seed), tmp_path / "f.jsonl"
    source, held, written = FileSource("pi", path, "p"), [], set()
    for step in range(12):
        match pick.randrange(4):
            case 0:
                held = held[: pick.randrange(len(held) + 1)]
            case 1:
                held = [each for each in held if pick.random() < 0.8]
        held += [f"{step}-{number}".encode() for number in range(pick.randrange(1, 4))]
        written |= set(held)
        path.write_bytes(b"".join(b"%b\n" % each for each in held))
        pusher.push(source, never)
    assert sorted(server.kept["p"]) == sorted(written)


def test_an_older_ledger_without_fingerprints_is_believed(pusher, ledger, server, path):
    server.kept["p"] = wanted(0, 1)
    ledger.acknowledge("p", path, Progress(len(line("pi", 0) + line("pi", 1)), 2))
    pusher.push(FileSource("pi", path, "p"), never)
    assert server.kept["p"] == wanted(*range(6))
