"""The limit of sign-in attempts holds for all nodes together, and for each alone while Redis is away."""

import re
import urllib.error
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar

from dashboard.pages.account.throttle import TRIES

ALONE = "Attempts to sign in are counted in each process"


def sign_in(node, name):
    """Try a wrong password at a node; return the status."""
    opened = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar())).open
    with opened(f"{node.url}/signin") as answer:
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', answer.read().decode())[1]
    form = {"csrfmiddlewaretoken": token, "username": name, "password": "wrong"}
    body = urllib.parse.urlencode(form).encode()
    try:
        with opened(urllib.request.Request(f"{node.url}/signin", body, {"Origin": node.url})) as answer:
            return answer.status
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code


def test_tries_at_one_node_count_at_the_other_and_each_counts_alone_without_redis(cluster, nodes):
    here, there = nodes
    answers = [sign_in(node, "shared") for node in (here, there, here, there, here, there, here)]
    assert answers == [403] * TRIES + [429] * (7 - TRIES)

    cluster.redis.cut()
    assert [sign_in(here, "alone") for _ in range(TRIES + 1)] == [403] * TRIES + [429]
    assert sign_in(there, "alone") == 403
    assert ALONE in here.log()
    assert ALONE in there.log()
