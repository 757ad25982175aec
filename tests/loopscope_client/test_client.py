"""A client against a faulty server: no loss, no duplicates, unchanged order."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from textwrap import dedent

import pytest

from loopscope_client import AsyncClient, Client
from tests.loopscope_client.hostile_server import (
    hangs,
    numbered,
    refuses_over,
    resets,
    says,
    send,
    stores_and_resets,
    trickles,
)
from tests.support.wait import LONGEST_S

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "fault",
    [
        says(500),
        says(503, "busy", Retry_After="0"),
        says(429, "rate_limited", Retry_After="0"),
        says(404),
        says(200),
        resets,
        stores_and_resets,
    ],
)
def test_every_event_arrives_once_and_in_order_after_faults(server, connect, fault):
    server.script = [fault, fault, says(500), fault]
    client = connect()

    send(client, numbered(2_000))

    assert client.flush(LONGEST_S)
    assert server.events() == numbered(2_000)


def test_a_call_returns_and_raises_nothing_while_the_server_hangs(server, connect):
    server.always = hangs(server)
    client = connect()
    client.send({"type": "Step"})
    assert server.requested.wait(LONGEST_S)

    send(client, numbered(1_000))

    assert client.status.queued == 1_001
    assert not client.close(timeout=0)


def test_a_response_that_trickles_in_times_out(server, connect, monkeypatch):
    monkeypatch.setattr("loopscope_client.transport.http.ANSWER_S", 0.3)
    server.script = [trickles(server)]
    client = connect()

    send(client, numbered(3))

    assert client.flush(LONGEST_S)
    assert server.events() == numbered(3)


def test_a_refused_connection_raises_nothing(connect):
    client = connect(url="http://127.0.0.1:9")

    send(client, numbered(100))

    assert client.status.queued == 100


def test_after_a_gap_it_sends_from_the_number_of_the_server(server, connect):
    client = connect(producer="p")
    send(client, numbered(10))
    assert client.flush(LONGEST_S)
    del server.kept["p"][4:]  # a server restored from a backup

    send(client, numbered(5, start=10))

    assert client.flush(LONGEST_S)
    assert server.events("p") == numbered(15)


def test_a_server_that_lost_more_than_the_spool_has_gets_the_remaining_lines(server, connect):
    client = connect(producer="p", spool_bytes=32 * 1024)
    for start in range(0, 1_000, 100):
        send(client, numbered(100, start))
        assert client.flush(LONGEST_S)
    server.kept.clear()

    send(client, numbered(3, start=1_000))

    assert client.flush(LONGEST_S)
    found = [event["n"] for event in server.events("p")]
    assert found == list(range(found[0], 1_003))
    assert 0 < found[0] <= 1_000
    assert client.status.renumbered == 1


def test_a_full_spool_accepts_starts_and_ends(server, connect):
    server.always = says(401)
    client = connect(spool_bytes=64 * 1024)
    send(client, [{"type": "TurnRequest", "loop_id": "l", "payload": "x" * 1_000}] * 100)
    send(client, [{"type": "ToolExecutionStart", "loop_id": "l", "n": n} for n in range(50)])

    assert set(client.status.dropped) == {"TurnRequest"}
    assert client.status.queued_bytes <= 64 * 1024


@pytest.mark.parametrize(("status", "state"), [(401, "unauthorized"), (403, "forbidden")])
def test_a_refused_token_keeps_the_events_in_the_spool(server, connect, status, state):
    server.script = [says(status)]
    client = connect()
    send(client, numbered(3))
    assert not client.flush(LONGEST_S)

    send(client, numbered(3, start=3))

    assert (client.status.state, client.status.queued, server.requests) == (state, 6, 1)
    client.close()
    assert connect().flush(LONGEST_S)
    assert server.events() == numbered(6)


def test_a_body_that_is_too_large_is_split(server, connect):
    server.always = refuses_over(2_000)
    client = connect()

    send(client, numbered(1_000))

    assert client.flush(LONGEST_S)
    assert server.events() == numbered(1_000)


def test_an_event_above_the_limit_is_shortened_and_marked(server, connect):
    server.always = refuses_over(20_000)
    client = connect()

    client.send({"type": "MessageEnd", "loop_id": "l", "message": {"role": "user", "content": "x" * 100_000}})
    client.send({"type": "Step", "n": 1})

    assert client.flush(LONGEST_S)
    cut, after = server.events()
    assert (cut["type"], cut["loop_id"], after["n"]) == ("MessageEnd", "l", 1)
    assert "characters cut]" in cut["message"]["content"]
    assert client.status.cut >= 1


def test_a_partly_written_line_is_discarded(server, connect, tmp_path):
    server.always = says(401)
    client = connect(producer="p")
    send(client, numbered(3))
    assert not client.close(LONGEST_S)
    with next((tmp_path / "spool").glob("*/*.jsonl")).open("ab") as file:
        file.write(b'{"type":"St')
    server.always = None

    again = connect(producer="p")
    send(again, numbered(1, start=3))

    assert again.flush(LONGEST_S)
    assert server.events("p") == numbered(4)


def test_a_full_spool_drops_streamed_text_first_and_reports_the_count(server, connect):
    server.script = [says(503, Retry_After="1")]
    client = connect(spool_bytes=64 * 1024)
    delta = {"type": "MessageUpdate", "loop_id": "l", "message": {}, "delta": {"Text": {"delta": "x" * 200}}}

    send(client, [delta] * 1_000)
    send(client, [{"type": "TurnEnd", "loop_id": "l", "n": n} for n in range(100)])

    dropped = client.status.dropped
    assert 0 < dropped["MessageUpdate"] < 1_000
    assert set(dropped) == {"MessageUpdate"}
    assert client.flush(LONGEST_S)
    client.send({"type": "AgentEnd", "loop_id": "l"})
    assert client.flush(LONGEST_S)
    found = server.events()
    assert [event["n"] for event in found if event["type"] == "TurnEnd"] == list(range(100))
    notices = [event for event in found if event["type"] == "Notice"]
    assert [(event["loop_id"], event["data"]) for event in notices] == [("l", dropped)]


def test_threads_share_a_client(server, connect):
    client = connect()
    agents = [
        threading.Thread(
            target=send, args=(client, [{"type": "Step", "who": who, "n": n} for n in range(300)])
        )
        for who in range(4)
    ]
    for agent in agents:
        agent.start()
    for agent in agents:
        agent.join()

    assert client.flush(LONGEST_S)

    found = server.events()
    assert [[event["n"] for event in found if event["who"] == who] for who in range(4)] == [
        list(range(300))
    ] * 4


def test_a_client_left_open_is_flushed_at_exit(server, tmp_path):
    program = f"""
        from loopscope_client import Client
        client = Client("{server.url}", "token", spool="{tmp_path / "spool"}")
        client.send({{"type": "Step", "loop_id": "l", "n": 0}})
    """
    subprocess.run([sys.executable, "-c", dedent(program)], cwd=ROOT, check=True, timeout=LONGEST_S)

    assert server.events() == numbered(1)


def test_importing_needs_no_settings_and_no_package(tmp_path):
    program = "import sys, loopscope_client; print([n for n in sys.modules if n in ('django', 'pydantic')])"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DJANGO")}
    done = subprocess.run(
        [sys.executable, "-S", "-c", program],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"


def test_an_invalid_url_raises_at_once():
    with pytest.raises(ValueError, match="is not a URL"):
        Client("ftp://example", "token")


async def test_the_asyncio_client_records_the_same_events(server, tmp_path):
    async with AsyncClient(server.url, "token", spool=tmp_path / "spool") as client:
        await client.send({"type": "Step", "loop_id": "l", "n": 0})
        client.send({"type": "Step", "loop_id": "l", "n": 1})
        assert await client.flush(LONGEST_S)

    assert server.events() == numbered(2)
