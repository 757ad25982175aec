"""Any node accepts any producer, and shows what the others recorded."""

import random
from concurrent.futures import ThreadPoolExecutor

from websockets.exceptions import ConnectionClosed

from tests.faults.support import producer_stream
from tests.nodes.nodes import Reader, digest, frame, ingest_socket, post, project
from tests.support.build import agent_start, line
from tests.support.wait import LONGEST_S

LINES = producer_stream.lines("p", 0, 600)


def closed(socket):
    """Return the code that a socket is closed with."""
    try:
        while True:
            socket.recv(timeout=LONGEST_S)
    except ConnectionClosed as gone:
        return gone.rcvd.code


def test_a_stream_split_and_repeated_over_two_nodes_is_recorded_as_if_sent_once(nodes, tenant):
    slug, token = tenant
    clean = project(nodes[0], "clean")
    assert post(nodes[0], clean, LINES, 0)[0] == 200

    chance, first = random.Random(3), 0
    while first < len(LINES):
        start = max(0, first - chance.randint(0, 40))
        batch = LINES[start : start + chance.randint(1, 90)]
        status, answer = post(chance.choice(nodes), token, batch, start)
        assert (status, answer["duplicates"]) == (200, min(first - start, len(batch)))
        first = answer["upto"] + 1

    assert digest(nodes[0], slug) == digest(nodes[0], "clean")


def test_the_same_batches_sent_to_both_nodes_at_once_are_stored_once(nodes, tenant):
    _, token = tenant
    batches = [(start, LINES[start : start + 20]) for start in range(0, len(LINES), 20)]

    def send(node):
        accepted = 0
        for start, batch in batches:
            status, answer = post(node, token, batch, start)
            while status == 409:  # the other is behind: from there
                from_ = answer["from"]
                status, answer = post(node, token, LINES[from_ : start + 20], from_)
            assert status == 200, answer
            accepted += answer["accepted"]
        return accepted

    with ThreadPoolExecutor(2) as both:
        accepted = sum(both.map(send, nodes))

    assert accepted == len(LINES)
    assert post(nodes[1], token, LINES[:500], 0)[1]["duplicates"] == 500


def test_both_nodes_report_a_gap_and_a_conflict(nodes, tenant):
    _, token = tenant
    post(nodes[0], token, LINES[:5], 0)

    status, gap = post(nodes[1], token, LINES[7:8], 7)
    assert (status, gap["code"], gap["from"]) == (409, "gap", 5)
    (rejected,) = post(nodes[1], token, [line(agent_start("other.a.1"))], 2)[1]["rejected"]
    assert (rejected["seq"], rejected["code"]) == (2, "seq_conflict")


def test_a_page_on_one_node_shows_what_another_took(nodes):
    reader = Reader(nodes[0])
    agent = nodes[1].agent()
    with reader.look() as page:
        page.next()
        agent.send(agent_start("shown.a.1"))
        page.until(lambda body: "shown" in body)
    with reader.look(node=nodes[1]) as page:
        assert "shown" in page.next()


def test_a_producer_that_connects_to_another_node_takes_over(nodes, tenant):
    _, token = tenant
    with ingest_socket(nodes[0], token) as (old, high):
        assert high == -1
        old.send(frame(0, LINES[:3]))
        with ingest_socket(nodes[1], token) as (new, reached):
            assert closed(old) == 4409
            new.send(frame(reached + 1, LINES[reached + 1 : 10]))
            assert '"upto":9' in new.recv(timeout=LONGEST_S)
