"""Producer names: continued by later processes, never shared by two at once."""

import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

from tests.loopscope_client.hostile_server import numbered, says, send
from tests.support.wait import LONGEST_S

ROOT = Path(__file__).parents[3]


def test_events_of_a_program_that_was_killed_are_sent_by_the_next(server, connect, tmp_path):
    program = f"""
        import os, signal
        from loopscope_client import Client
        client = Client("{server.url}", "token", spool="{tmp_path / "spool"}")
        for n in range(500):
            client.send({{"type": "Step", "loop_id": "l", "n": n}})
        os.kill(os.getpid(), signal.SIGKILL)
    """
    server.always = says(500)
    ended = subprocess.run([sys.executable, "-c", dedent(program)], cwd=ROOT, check=False, timeout=LONGEST_S)
    assert ended.returncode == -signal.SIGKILL
    server.always = None

    assert connect().flush(LONGEST_S)

    assert server.events() == numbered(500)
    assert len(list((tmp_path / "spool").iterdir())) == 1


def test_a_named_producer_continues_after_its_last_number(server, connect):
    first = connect(producer="p")
    send(first, numbered(5))
    assert first.close(LONGEST_S)

    second = connect(producer="p")
    send(second, numbered(5, start=5))

    assert second.flush(LONGEST_S)
    assert server.events("p") == numbered(10)


def test_a_named_producer_without_its_spool_fetches_its_last_number(server, connect, tmp_path):
    first = connect(producer="p")
    send(first, numbered(5))
    assert first.close(LONGEST_S)

    second = connect(producer="p", spool=tmp_path / "another")
    send(second, numbered(5, start=5))

    assert second.flush(LONGEST_S)
    assert server.events("p") == numbered(10)


def test_a_number_that_another_program_used_loses_no_line(server, connect):
    client = connect(producer="p")
    send(client, numbered(3))
    assert client.flush(LONGEST_S)
    server.kept["p"].append(b'{"type":"Other"}')

    send(client, numbered(3, start=3))

    assert client.flush(LONGEST_S)
    found = [event for event in server.events("p") if event["type"] == "Step"]
    assert sorted(found, key=lambda event: event["n"]) == numbered(6)


def test_a_second_client_of_the_same_name_gets_another_name(server, connect):
    one, two = connect(producer="p"), connect(producer="p")

    send(one, numbered(3))
    send(two, numbered(3))

    assert one.flush(LONGEST_S)
    assert two.flush(LONGEST_S)
    assert one.status.producer != two.status.producer
    assert server.events(one.status.producer) == server.events(two.status.producer) == numbered(3)


def test_a_name_of_any_length_and_letters_is_accepted(server, connect):
    client = connect(producer="\n " + "\u00e4" * 500)
    send(client, numbered(2))

    assert client.flush(LONGEST_S)
    assert len(server.kept) == 1


def test_lines_of_a_closed_client_are_sent_by_the_next_in_the_same_process(server, connect):
    server.always = says(500)
    client = connect()
    send(client, numbered(3))
    assert not client.close(0)
    server.always = None

    assert connect().flush(LONGEST_S)

    assert server.events() == numbered(3)


def test_a_forked_process_is_a_producer_of_its_own(server, tmp_path):
    program = f"""
        import os
        from loopscope_client import Client
        client = Client("{server.url}", "token", spool="{tmp_path / "spool"}", producer="p")
        client.send({{"type": "Step", "who": "parent", "n": 0}})
        child = os.fork()
        who = "parent" if child else "child"
        for n in range(1, 50):
            client.send({{"type": "Step", "who": who, "n": n}})
        assert client.close(60)
        if not child:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    """
    subprocess.run([sys.executable, "-c", dedent(program)], cwd=ROOT, check=True, timeout=LONGEST_S)

    found = [(event["who"], event["n"]) for event in server.events()]
    assert sorted(found) == [("child", n) for n in range(1, 50)] + [("parent", n) for n in range(50)]
    assert len(server.kept) == 2
