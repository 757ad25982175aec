"""The flame graph of every recorded stream adds up: to its session's cost, and in every node."""

from dataclasses import replace

import pytest

from dashboard.pages.flame.build import tree
from dashboard.pages.flame.queries.blocks import parts_of_turns
from dashboard.pages.flame.queries.sessions import Moment, contexts, records
from dashboard.pages.flame.tree import added, identified
from recorder.ledger import follower
from recorder.models import Project, Session
from tests.recorder.ledger.test_follower import STREAMS, play

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def project(transactional_db):
    return Project.objects.create(slug="default")


def nodes(node):
    yield node
    for child in node.children:
        yield from nodes(child)


def with_blocks(found):
    return replace(found, parts=parts_of_turns(contexts(found)))


def holds(node):
    for each in nodes(node):
        assert min(*each.amounts, *each.other) >= 0, each.name
        if each.children:
            assert each.amounts == added(child.amounts for child in each.children)
            assert each.other == added(child.other for child in each.children)
    ids = [each.id for each in nodes(node)]
    assert len(set(ids)) == len(ids)


def loops_of(node):
    return [each for each in nodes(node) if each.kind in ("loop", "sub-agent")]


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
def test_a_stream_adds_up_to_its_cost_with_and_without_blocks(project, path):
    play(project, path)
    follower.run_all()

    for session in Session.objects.all():
        found = records(session, Moment())
        plain, divided = identified(tree(found)), identified(tree(with_blocks(found)))
        holds(plain)
        holds(divided)
        inside = {loop.session for loop in found.loops.values()} | {session.pk}
        assert plain.amounts == divided.amounts
        assert plain.amounts.cost == sum(
            each.cost_nano or 0 for each in Session.objects.filter(pk__in=inside)
        )
        assert len(loops_of(plain)) == len(found.loops)
