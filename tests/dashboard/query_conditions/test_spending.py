"""Which parts of a query select turns, and when the rollups can answer."""

import pytest
from django.utils import timezone

from dashboard.query_conditions.queries.context import EVERYTHING
from dashboard.query_conditions.spending import spending_scope
from dashboard.query_language import parse
from dashboard.shared.spending import scope

pytestmark = pytest.mark.django_db


def scope_of(text):
    return spending_scope(1, parse(text), timezone.now())


def test_an_empty_query_selects_everything():
    assert scope_of("") is scope.EVERYTHING
    assert scope_of("").without([]).is_everything
    assert not scope_of("").without(["judge"]).is_everything


@pytest.mark.parametrize(
    "text", ["agent:a", "-model:a*", "(config:a OR provider:b) (agent:c)", "NOT (agent:a model:b)"]
)
def test_agents_and_configs_are_read_from_rollups(text):
    found = scope_of(text)
    assert found.rollups is not None
    assert found.sessions == EVERYTHING


@pytest.mark.parametrize("text", ["role:judge", "agent:a loop:b", "-branch:won"])
def test_other_keys_of_loops_select_turns_of_all_sessions(text):
    found = scope_of(text)
    assert found.rollups is None
    assert found.sessions == EVERYTHING
    assert found.turns != EVERYTHING


@pytest.mark.parametrize("text", ["word", "status:failed", "agent:a OR word", "-(model:a tag:b)"])
def test_a_part_with_words_or_another_key_selects_sessions(text):
    found = scope_of(text)
    assert found.rollups is None
    assert found.turns == found.loops == found.groups == EVERYTHING
    assert found.sessions != EVERYTHING


def test_parts_of_both_kinds_select_turns_of_sessions():
    found = scope_of("tag:a (model:b tag:c)")
    assert found.rollups is None
    assert found.sessions != EVERYTHING
    assert found.turns != EVERYTHING
