"""The few dearest requests are bounded by classes of cost as by the costs themselves."""

from collections import Counter, defaultdict

from hypothesis import given
from hypothesis import strategies as st

from recorder.core.ledger.cost_classes import (
    CostClass,
    Few,
    Reading,
    cheapest_read,
    class_of,
    few,
    least_of,
    share_of,
)

COSTS = st.integers(1, 2**62)


def classes(costs):
    sums = defaultdict(int)
    for cost in costs:
        sums[class_of(cost)] += cost
    calls = Counter(class_of(cost) for cost in costs)
    return [CostClass(name, calls[name], nano) for name, nano in sums.items()]


def counted(costs):
    """Return how many of the dearest make the share, one by one."""
    left, count = share_of(sum(costs)), 0
    for cost in sorted(costs, reverse=True):
        if left <= 0:
            break
        left, count = left - cost, count + 1
    return count


@given(COSTS, COSTS)
def test_classes_sort_as_costs_do(one, other):
    assert (class_of(one) < class_of(other)) <= (one < other)
    assert least_of(class_of(one)) <= one
    assert 4 * (one - 1) < 5 * least_of(class_of(one))


@given(st.lists(COSTS | st.integers(1, 1_000), min_size=1, max_size=60))
def test_the_count_is_between_both_bounds(costs):
    found = few(classes(costs))

    assert found is not None
    assert found.least <= counted(costs) <= found.most
    assert found.cheapest == class_of(sorted(costs, reverse=True)[counted(costs) - 1])


def test_two_of_ten_requests_make_nine_tenths():
    assert few(classes([50_000, 40_000, *[1_250] * 8])) == Few(2, 2, class_of(40_000))


def test_without_a_cost_there_are_none():
    assert few([]) is None
    assert few([CostClass("100", 3, 0)]) is None


def test_whole_classes_are_read_up_to_a_limit():
    found = [CostClass("120", 2, 9), CostClass("110", 5, 9), CostClass("100", 50, 9)]

    assert cheapest_read(found, 1, 10) == Reading("120", is_cut=False)
    assert cheapest_read(found, 3, 10) == Reading("110", is_cut=False)
    assert cheapest_read(found, 9, 10) == Reading("110", is_cut=False)
    assert cheapest_read(found, 9, 1) == Reading("120", is_cut=True)
