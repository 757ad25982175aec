"""Two real nodes on a scratch database of the PostgreSQL and the Redis that the tests run on."""

from dataclasses import dataclass
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from django.conf import settings
from django.db import connection

from tests.faults.support.databases import fresh
from tests.nodes.cut_proxy import Cut
from tests.nodes.nodes import Nodes, project
from tests.support.wait import until

HAS_BOTH = connection.vendor == "postgresql" and bool(settings.REDIS_URL)


@dataclass(frozen=True)
class Cluster:
    nodes: list
    redis: Cut
    base: Cut


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent.name == "nodes":
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.postgres)
            if not HAS_BOTH:
                item.add_marker(pytest.mark.skip(reason="nodes share PostgreSQL and Redis"))


def postgres():
    at = settings.DATABASES["default"]
    who = at["USER"] + (f":{at['PASSWORD']}" if at["PASSWORD"] else "")
    return f"postgres://{who}@{at['HOST'] or '127.0.0.1'}:{at['PORT'] or 5432}/postgres"


def through(url, proxy):
    """Return the same address by way of a proxy."""
    at = urlsplit(url)
    who = f"{at.username}{f':{at.password}' if at.password else ''}@" if at.username else ""
    return at._replace(netloc=f"{who}127.0.0.1:{proxy.port}").geturl()


def between(url, port):
    """Return a proxy before the service at this address."""
    at = urlsplit(url)
    return Cut(at.hostname, at.port or port)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """Two nodes whose connections to Redis and PostgreSQL can be cut; Redis is down when they start."""
    redis = between(settings.REDIS_URL, 6379)
    redis.cut()
    with fresh(postgres()) as database:
        base = between(database["DATABASE_URL"], 5432)
        with Nodes(
            tmp_path_factory.mktemp("nodes"),
            REDIS_URL=through(settings.REDIS_URL, redis),
            DATABASE_URL=through(database["DATABASE_URL"], base),
            LOOPSCOPE_SECRET_KEY=f"shared by the nodes of this run only: {uuid4()}",
        ) as nodes:
            for node in nodes.all:  # before any test lets it back
                until(lambda node=node: "Redis does not answer" in node.log())
            yield Cluster(nodes.all, redis, base)


@pytest.fixture
def nodes(cluster):
    """The two nodes, with Redis and PostgreSQL reachable."""
    for way in (cluster.redis, cluster.base):
        way.mend()
    for node in cluster.nodes:
        until(lambda node=node: hears(node))
    return cluster.nodes


def hears(node):
    """Whether a node's last log line about Redis reports it as reachable."""
    gone, back = (node.log().rfind(f"Redis {words}") for words in ("does not answer", "answers again"))
    return back >= gone


@pytest.fixture
def tenant(nodes, request):
    """A project of the test's own: its slug and a token."""
    slug = request.node.name.removeprefix("test_")[:40].replace("_", "-").strip("-")
    return slug, project(nodes[0], slug)
