"""`loopscope-push --follow` that is stopped by a signal: what is on disk by then is sent, within a time."""

import io
import signal
from threading import Thread, main_thread

import pytest

from loopscope_client.commands import last_round, push
from loopscope_client.transport import http
from tests.loopscope_client.hostile_server import hangs
from tests.loopscope_client.push.lines import write
from tests.support.wait import until


def send(name):
    """Send a signal to the thread that the command runs in, as it is the only one of a real process."""
    signal.pthread_kill(main_thread().ident, name)


def in_background(act):
    thread = Thread(target=act)
    thread.start()
    return thread


@pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGINT])
def test_what_was_written_last_is_sent_behind_the_signal(
    options, server, stderr, tmp_path, monkeypatch, name
):
    monkeypatch.setattr(push, "POLL_S", 60)
    write("pi", tmp_path / "pi", range(2))

    def write_and_stop():
        until(lambda: sum(map(len, server.kept.values())) == 2)
        write("pi", tmp_path / "pi", range(2, 5))
        send(name)

    thread, before = in_background(write_and_stop), signal.getsignal(name)
    push.run(options(yes=True, follow=True), io.StringIO(), stderr)
    thread.join()

    assert [len(lines) for lines in server.kept.values()] == [5]
    assert "sent 5 lines of 1 transcript\n" in stderr.getvalue()
    assert signal.getsignal(name) == before


@pytest.mark.parametrize("is_again", [False, True])
def test_the_last_round_ends_in_time_or_at_the_next_signal(
    options, server, stderr, tmp_path, monkeypatch, is_again
):
    monkeypatch.setattr(http, "ANSWER_S", 600)  # the request would outlast the test
    monkeypatch.setattr(last_round, "LAST_S", 600 if is_again else 0.2)
    server.always = hangs(server)
    write("pi", tmp_path / "pi", range(2))

    def stop():
        server.requested.wait()
        send(signal.SIGTERM)
        if is_again:
            send(signal.SIGINT)

    thread = in_background(stop)
    push.run(options(yes=True, follow=True), io.StringIO(), stderr)
    thread.join()

    assert server.requests == 1
    assert "sent 0 lines of 0 transcripts\n" in stderr.getvalue()


def test_a_signal_ends_a_command_that_does_not_follow_behind_its_request(options, server, stderr, tmp_path):
    write("pi", tmp_path / "pi", range(1200))  # three requests

    def act(_handler, _lines):
        send(signal.SIGTERM)
        return True

    server.script = [act]
    push.run(options(yes=True), io.StringIO(), stderr)

    assert [len(lines) for lines in server.kept.values()] == [500]
