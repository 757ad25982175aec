"""`loopscope-push` against a faulty server: consent, refusals, and where it continues."""

import gzip
import io
import json
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from loopscope_client.commands import push
from loopscope_client.push import ledger as ledgers
from loopscope_client.push.ledger import Progress
from loopscope_client.push.send import Unavailable
from loopscope_client.push.sources import LINE_MAX, FileSource, LostLines, sources
from loopscope_client.transcripts.files import producer_name
from tests.loopscope_client.push.lines import line, write


class Terminal(io.StringIO):
    def isatty(self):
        return True


def stored(server):
    return [number for lines in server.kept.values() for number in range(len(lines))]


def never():
    return False


def source_of(tmp_path):
    return next(iter(sources("pi", tmp_path / "pi")))


def test_an_agent_must_be_named(options, stderr):
    with pytest.raises(push.PushError, match="name an agent"):
        push.run(options(agent=None), io.StringIO(), stderr)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"token": None}, "a token is missing"),
        ({"url": "http://loopscope.example"}, "without TLS"),
        ({"url": "ftp://loopscope.example"}, "is not a URL such as https://"),
        ({"url": "https://[::1"}, "is not a URL such as https://"),
        ({"url": "https://loopscope.example:port"}, "is not a URL such as https://"),
        ({"url": "https://"}, "is not a URL such as https://"),
        ({"agent": ["pi", "codex"]}, "--home is for one agent"),
    ],
)
def test_arguments_are_refused_before_anything_is_sent(options, server, stderr, given, why):
    with pytest.raises(push.PushError, match=why):
        push.run(options(**given), io.StringIO(), stderr)

    assert server.requests == 0


def test_a_dry_run_lists_the_transcripts_and_sends_nothing(options, server, stderr, tmp_path):
    path = write("pi", tmp_path / "pi", range(2))

    push.run(options(dry_run=True, token=None), io.StringIO(), stderr)

    assert "pi: 1 transcript," in stderr.getvalue()
    assert str(path) in stderr.getvalue()
    assert server.requests == 0
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(("answer", "sent"), [("y\n", 2), ("\n", 0), ("no\n", 0)])
def test_it_asks_before_the_first_upload(options, server, stderr, tmp_path, answer, sent):
    write("pi", tmp_path / "pi", range(2))

    if sent:
        push.run(options(), Terminal(answer), stderr)
        write("pi", tmp_path / "pi", range(2, 3))
        push.run(options(), Terminal(""), stderr)  # does not ask again
        sent += 1
    else:
        with pytest.raises(push.PushError, match="nothing was sent"):
            push.run(options(), Terminal(answer), stderr)

    assert len(stored(server)) == sent


def test_without_a_terminal_it_needs_consent_by_an_option(options, server, stderr, tmp_path):
    write("pi", tmp_path / "pi", range(2))

    with pytest.raises(push.PushError, match="without consent"):
        push.run(options(), io.StringIO(), stderr)
    assert server.requests == 0

    push.run(options(yes=True), io.StringIO(), stderr)
    assert "sent 2 lines of 1 transcript\n" in stderr.getvalue()


def test_lines_are_sent_once_and_a_line_without_its_end_waits(pusher, server, tmp_path):
    path = write("pi", tmp_path / "pi", range(3))
    pusher.push(source_of(tmp_path), never)
    with path.open("ab") as file:
        file.write(line("pi", 3)[:20])
    pusher.push(source_of(tmp_path), never)
    assert len(stored(server)) == 3

    with path.open("ab") as file:
        file.write(line("pi", 3)[20:])
    pusher.push(source_of(tmp_path), never)

    assert [json.dumps(each) for each in server.events()] == [
        line("pi", number).decode().strip() for number in range(4)
    ]


@pytest.fixture
def grows(monkeypatch):
    """Return a function: from then on a file gets a text as soon as a read has met its end."""

    class Growing(io.FileIO):
        def readinto(self, buffer):
            length = super().readinto(buffer)
            if not length and waiting:
                file, text = waiting.pop()
                with file:
                    file.write(text)
            return length

    waiting = []

    def grows(path, text):
        waiting.append((path.open("ab"), text))
        monkeypatch.setattr(Path, "open", lambda path, _mode: io.BufferedReader(Growing(path)))

    return grows


def test_a_line_that_is_completed_while_it_is_read_is_sent_whole(tmp_path, grows):
    path = write("pi", tmp_path / "pi", range(1))
    with path.open("ab") as file:
        file.write(line("pi", 1)[:20])
    grows(path, line("pi", 1)[20:])
    source = FileSource("pi", path, "p")

    batch = source.next(Progress())

    assert batch.lines == [line("pi", 0).strip()]
    assert source.next(batch.end).lines == [line("pi", 1).strip()]


def test_a_file_whose_first_line_is_completed_while_it_is_read_has_one_producer(tmp_path, grows):
    path = write("pi", tmp_path / "pi", [])
    path.write_bytes(line("pi", 0)[:20])
    grows(path, line("pi", 0)[20:])

    assert list(sources("pi", tmp_path / "pi")) == []
    assert source_of(tmp_path).producer == producer_name("pi", path.name, line("pi", 0).strip())


def test_blank_lines_have_no_number(pusher, server, ledger, tmp_path):
    path = write("pi", tmp_path / "pi", range(1))
    with path.open("ab") as file:
        file.write(b"\n \r\n" + line("pi", 1) + b"\n")

    pusher.push(source_of(tmp_path), never)

    assert len(stored(server)) == 2
    assert ledger.progress(source_of(tmp_path).producer) == Progress(path.stat().st_size, 2)


def test_the_ledger_stays_behind_while_the_server_fails(pusher, server, ledger, tmp_path):
    write("pi", tmp_path / "pi", range(2))
    producer = source_of(tmp_path).producer
    server.close()

    with pytest.raises(Unavailable):
        pusher.push(source_of(tmp_path), never)

    assert ledger.progress(producer) == Progress()


def test_a_server_that_lost_its_database_gets_the_lines_again(pusher, server, tmp_path):
    write("pi", tmp_path / "pi", range(3))
    pusher.push(source_of(tmp_path), never)
    server.kept.clear()
    write("pi", tmp_path / "pi", range(3, 5))

    pusher.push(source_of(tmp_path), never)

    assert len(stored(server)) == 5


def test_a_file_that_lost_lines_is_refused(pusher, server, ledger, tmp_path):
    path = write("pi", tmp_path / "pi", range(2))
    source = source_of(tmp_path)
    ledger.acknowledge(source.producer, path, Progress(0, 9))
    server.kept[source.producer] = [b"{}"] * 5

    with pytest.raises(LostLines, match="no longer has"):
        pusher.push(source, never)


def test_a_file_that_lost_lines_does_not_hold_up_the_others(options, server, stderr, tmp_path):
    path = write("pi", tmp_path / "pi", range(4))
    push.run(options(yes=True), io.StringIO(), stderr)
    path.write_bytes(line("pi", 0))
    path.with_name("later.jsonl").write_bytes(line("pi", 0))
    with pytest.raises(push.PushError, match="1 transcript could not be sent"):
        push.run(options(), io.StringIO(), stderr)

    assert f"{path} is left out until it changes" in stderr.getvalue()
    assert sorted(map(len, server.kept.values())) == [1, 4]


def test_two_processes_do_not_share_a_ledger(ledger, options, stderr):
    with pytest.raises(push.PushError, match="another loopscope-push runs"):
        push.run(options(yes=True), io.StringIO(), stderr)


def test_the_ledgers_of_two_servers_are_apart(ledger, tmp_path):
    ledger.acknowledge("p", Path("f"), Progress(5, 1))
    ledger.note_consent("pi")

    with ledgers.opened(tmp_path / "other", "https://elsewhere.example") as other:
        assert other.progress("p") == Progress()
        assert not other.has_consent("pi")


def test_of_a_line_that_is_too_long_the_beginning_is_sent(tmp_path):
    path = tmp_path / "f.jsonl"
    path.write_bytes(b"x" * (3 * LINE_MAX) + b"\n" + line("pi", 1))

    batch = FileSource("pi", path, "p").next(Progress())

    assert [len(each) for each in batch.lines[:1]] == [LINE_MAX + 2]
    following = FileSource("pi", path, "p").next(batch.end)
    lines = [*batch.lines, *(following.lines if following else [])]
    assert lines[1:] == [line("pi", 1).strip()]


def test_only_transcripts_are_found(tmp_path):
    write("pi", tmp_path / "pi", range(1))
    (tmp_path / "pi" / "sessions" / "settings.json").write_text("{}")
    (tmp_path / "pi" / "sessions" / "empty.jsonl").write_text("")
    (tmp_path / "pi" / "sessions" / "old.jsonl.gz").write_bytes(gzip.compress(b"{}\n"))

    assert [source.path.name for source in sources("pi", tmp_path / "pi" / "sessions")] == ["of-pi.jsonl"]


def test_a_home_that_does_not_exist_is_empty(tmp_path):
    assert list(sources("codex", tmp_path / "nowhere")) == []


def test_a_store_was_seen_when_all_of_its_sessions_were_sent(monkeypatch, tmp_path):
    store, sent, seen = tmp_path / "opencode.db", [], {}
    store.touch()
    is_away = [False, True]

    def sources(_agent, _home, _skip, has_changed):
        if has_changed(store):
            yield from (SimpleNamespace(path=store, producer=name) for name in ("one", "two"))

    def send(source, _is_stopped):
        if is_away and is_away.pop(0):
            raise Unavailable("away", 0)
        sent.append(source.producer)

    monkeypatch.setattr(push, "sources", sources)
    chosen, pusher = SimpleNamespace(agents=["opencode"], home=None), SimpleNamespace(push=send)
    for _ in range(3):
        with suppress(Unavailable):
            push._round(chosen, pusher, seen, never, SimpleNamespace(add=None))

    assert sent == ["one", "one", "two"]
