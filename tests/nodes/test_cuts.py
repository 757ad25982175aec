"""Redis or PostgreSQL unavailable for a while: nothing acknowledged is lost, and pages recover unaided."""

from time import monotonic

from recorder.pubsub.redis_relay import SEND_S
from tests.faults.support import producer_stream
from tests.nodes.conftest import hears
from tests.nodes.nodes import Reader, post
from tests.support.build import agent_start
from tests.support.wait import until

POSTS = 100
LINES = producer_stream.lines("p", 0, 300)


def test_nodes_start_at_once_and_without_redis_and_say_so(cluster):
    for node in cluster.nodes:
        assert "Redis does not answer" in node.log()
        assert "Loopscope listens" in node.log()


def test_redis_away_delays_no_answer_and_pages_are_true_when_it_is_back(cluster, nodes):
    (here, there), redis = nodes, cluster.redis
    reader, token = Reader(here), there.token
    redis.hang()
    with reader.look() as page:
        page.next()
        waits = []
        for number in range(POSTS):
            began = monotonic()
            assert post(there, token, LINES[number : number + 1], number)[0] == 200
            waits.append(monotonic() - began)
            page.drain()
        late = [wait for wait in waits if wait > SEND_S]
        assert len(late) < POSTS / 2, "answers waited for Redis"

        redis.mend()
        until(lambda: hears(here) and hears(there))
        with reader.look() as new:
            fresh_page = new.next()
        if page.frames[-1] != fresh_page:
            page.until(lambda body: body == fresh_page)


def test_a_cut_that_redis_itself_forgets_is_noticed(cluster, nodes):
    (here, there), redis = nodes, cluster.redis
    agent = there.agent()
    with Reader(here).look() as page:
        page.next()
        redis.cut()
        agent.send(agent_start("missed.a.1"))
        redis.mend()
        page.until(lambda body: "missed" in body)


def test_postgresql_away_is_answered_busy_and_nothing_acknowledged_is_lost(cluster, nodes):
    (here, there), base = nodes, cluster.base
    producer, acked = "through the cut", -1
    for number in range(20):
        acked = post(here, here.token, LINES[number : number + 1], number, producer)[1]["upto"]
    token = here.token
    assert there.token

    base.cut()
    for _ in range(2):  # the longer it is away, the longer a pool would wait before it tries again
        status, answer = post(here, token, LINES[20:21], 20, producer)
        assert (status, answer["code"]) == (503, "busy")
    base.mend()

    until(lambda: post(here, token, LINES[20:40], 20, producer)[0] == 200)
    until(lambda: post(there, token, LINES[:1], 0, producer)[0] == 200)
    answer = post(there, token, LINES[:40], 0, producer)[1]
    assert (answer["upto"], answer["duplicates"], acked) == (39, 40, 19)
