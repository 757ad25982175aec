"""Cached values are used again until something changes."""

from itertools import count

import pytest

from dashboard.live.cached_value import VALUES, ProcessCache, cached
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import Project
from recorder.pubsub.invalidation import Invalidation, publish_here
from tests.support import build

pytestmark = pytest.mark.django_db


@pytest.fixture
def value():
    """Return a function that returns the cached value: how often it was computed before."""
    numbers = count()

    def value(name="totals", project=1, query="?since=24h", seconds=60.0):
        return cached(name, project, query, seconds, lambda: next(numbers))

    return value


def test_a_value_is_computed_once_for_each_name_project_and_query(value):
    assert [value(), value()] == [0, 0]
    assert [value(name="tabs"), value(project=2), value(query="?")] == [1, 2, 3]
    assert [value(), value(name="tabs"), value(project=2), value(query="?")] == [0, 1, 2, 3]


def test_a_recorded_line_ends_the_use_of_a_value(value):
    value()
    project = Project.objects.create(slug="any")
    ingest(Batch(project.pk, None, None, [build.line(build.agent_start("s.a.1"))]))
    assert [value(), value()] == [1, 1]


def test_an_invalidation_of_the_project_ends_the_use_of_a_value(value):
    assert [value(), value(project=2)] == [0, 1]
    publish_here(Invalidation(1))
    assert [value(), value(project=2)] == [2, 1]


def test_without_a_change_a_value_is_used_for_its_seconds(value):
    assert [value(seconds=0), value(seconds=0)] == [0, 1]


def test_what_changes_while_a_value_is_computed_ends_its_use():
    def compute():
        publish_here(Invalidation(1))
        return "before"

    assert cached("totals", 1, "?", 60.0, compute) == "before"
    assert cached("totals", 1, "?", 60.0, lambda: "after") == "after"


def test_cached_objects_end_with_a_change_and_the_last_used_ones_stay_up_to_a_size():
    cache = ProcessCache(size=len, most=8, seconds=60.0)

    def is_cached(key, value="1234"):
        computed = []
        cache.get(1, key, lambda: computed.append(key) or value)
        return not computed

    assert [is_cached("a"), is_cached("b"), is_cached("a"), is_cached("c")] == [False, False, True, False]
    assert [is_cached("a"), is_cached("b")] == [True, False]
    assert [is_cached("large", "123456789"), is_cached("large", "123456789")] == [False, False]
    assert is_cached("a")
    for number in range(VALUES):
        is_cached(number, "")
    assert not is_cached("a")
    publish_here(Invalidation(1))
    assert not is_cached("a")
