"""The fault proxy makes the faults of its settings and no others."""

import asyncio
import gc
import socket
import threading
from contextlib import contextmanager, suppress

import pytest

from tests.faults.support.proxy import Fault, proxy
from tests.support.wait import LONGEST_S, until

SENT = bytes(range(256)) * 40


@pytest.fixture
def echo():
    """A server that sends back what it gets: its port, and how much came in each connection."""
    came = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve():
            while True:
                try:
                    line, _ = listening.accept()
                except OSError:
                    return
                with line:
                    came.append(0)
                    try:
                        while piece := line.recv(65536):
                            came[-1] += len(piece)
                            line.sendall(piece)
                    except OSError:
                        pass

        thread = threading.Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1], came
        listening.shutdown(socket.SHUT_RDWR)
    thread.join()


@contextmanager
def sent(port, fault):
    """Send through the proxy; return the connection."""
    with proxy(port, lambda: fault) as at, socket.create_connection(("127.0.0.1", at)) as line:
        line.settimeout(LONGEST_S)
        line.sendall(SENT)
        yield line


def through(port, fault):
    """Send through the proxy; return what comes back before the end, and the error that ended it."""
    with sent(port, fault) as line:
        back = b""
        try:
            while len(back) < len(SENT) and (piece := line.recv(65536)):
                back += piece
        except OSError as error:
            return back, type(error)
        return back, None


def assert_silence(line):
    line.settimeout(0.3)
    with pytest.raises(TimeoutError):
        line.recv(1)


@pytest.mark.parametrize("fault", [Fault(), Fault(one_byte=True), Fault(delay_s=0.01)])
def test_what_is_not_cut_arrives_whole(echo, fault):
    assert through(echo[0], fault) == (SENT, None)


def test_each_chunk_waits_for_the_delay_and_the_rate_in_both_directions(echo, monkeypatch):
    waits, wait = [], asyncio.sleep
    monkeypatch.setattr(asyncio, "sleep", lambda seconds: waits.append(seconds) or wait(0))
    assert through(echo[0], Fault(delay_s=3, rate=len(SENT) * 5)) == (SENT, None)

    waits = [seconds for seconds in waits if seconds]  # without the turns it gives to others
    assert len(waits) >= 2
    assert sum(waits) == pytest.approx(3 * len(waits) + 2 * 0.2)


@pytest.mark.parametrize("ending", ["close", "reset"])
def test_a_connection_is_cut_after_so_many_bytes(echo, ending):
    back, _ = through(echo[0], Fault(cut_after=1000, ending=ending))

    assert len(back) <= 1000
    until(lambda: echo[1] == [1000])  # the other end reads in its own time


def test_a_half_open_connection_says_nothing_more(echo):
    with sent(echo[0], Fault(cut_after=1000, ending="silence")) as line:
        assert len(line.recv(1000, socket.MSG_WAITALL)) == 1000
        assert_silence(line)


def test_a_proxy_that_ends_while_it_connects_closes_the_connection(echo, monkeypatch):
    connecting = threading.Event()

    async def connect(*_to):
        connecting.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(asyncio, "open_connection", connect)
    with socket.socket() as line:
        line.settimeout(LONGEST_S)
        with proxy(echo[0], Fault) as at:
            line.connect(("127.0.0.1", at))
            connecting.wait()

        assert line.recv(1) == b""
    gc.collect()  # an unclosed stream would warn here, and not in whichever test is the next


def test_a_proxy_that_ends_while_a_connection_ends_closes_both_its_ends(echo, monkeypatch):
    ending = threading.Event()

    async def back(*_):
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        ending.set()
        await asyncio.Event().wait()

    monkeypatch.setattr("tests.faults.support.proxy._back", back)
    with proxy(echo[0], Fault) as at:
        with socket.create_connection(("127.0.0.1", at)):
            pass
        assert ending.wait(LONGEST_S)

    gc.collect()  # an unclosed stream would warn here


def test_answers_are_swallowed(echo):
    with sent(echo[0], Fault(swallow_answers=True)) as line:
        until(lambda: echo[1] == [len(SENT)])
        assert_silence(line)
