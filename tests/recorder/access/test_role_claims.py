"""Roles from the groups of a claim: rules of a setting, paths into claims, and the highest role."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorder.access.role_claims import ALL, DEFAULT, ROLES, Rule, granted, groups_in, parse_rules
from recorder.models import Membership

PROJECTS = ("acme", "beta", "gamma")
GROUPS = ("agents", "leads", "ops", "*")
groups = st.sets(st.sampled_from(GROUPS))
rule = st.builds(
    Rule, st.sampled_from(GROUPS), st.sampled_from((*PROJECTS, ALL, "gone")), st.sampled_from(ROLES)
)
rules = st.lists(rule, max_size=8)
names = st.text("abc:-. ", min_size=1, max_size=8).map(str.strip).filter(bool)


def test_the_roles_are_those_of_memberships():
    assert list(ROLES) == Membership.Role.values


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("", []),
        (" , ", []),
        ("agents:viewer", [("agents", "*", "viewer")]),
        ("agents:acme:admin, *:viewer", [("agents", "acme", "admin"), ("*", "*", "viewer")]),
        ("urn:acme:agents:*:member", [("urn:acme:agents", "*", "member")]),
    ],
)
def test_rules_are_read(text, rules):
    assert parse_rules(text) == tuple(Rule(*rule) for rule in rules)


@pytest.mark.parametrize(
    "text", ["agents", "agents:owner", ":viewer", "agents::viewer", "::viewer", "a:viewer, b", "a:b:c:Viewer"]
)
def test_a_rule_that_is_none_is_an_error_that_names_it(text):
    with pytest.raises(ValueError, match=text.rpartition(", ")[2]):
        parse_rules(text)


@given(st.lists(st.tuples(names, st.sampled_from((*PROJECTS, ALL)), st.sampled_from(ROLES)), max_size=5))
def test_what_is_written_is_read(parts):
    written = ",".join(":".join(part) for part in parts)
    assert parse_rules(written) == tuple(Rule(*part) for part in parts)


@given(rules, groups, st.sets(st.sampled_from(PROJECTS)))
def test_each_role_has_a_rule_and_none_is_higher(rules, groups, projects):
    roles = granted(rules, groups, projects)
    matching = [rule for rule in rules if rule.group in groups - {DEFAULT}]
    if not any(rule.project in {ALL, *projects} for rule in matching) or not projects:
        matching = [rule for rule in rules if rule.group == DEFAULT]
    for project in projects:
        given = [ROLES.index(rule.role) for rule in matching if rule.project in (ALL, project)]
        assert roles.get(project) == (ROLES[max(given)] if given else None)
    assert roles.keys() <= projects


@given(rules, groups, groups)
def test_another_group_takes_nothing_away_unless_it_ends_the_default(rules, groups, more):
    ruled = [rule for rule in rules if rule.group != DEFAULT]
    before, after = granted(ruled, groups, PROJECTS), granted(ruled, groups | more, PROJECTS)
    assert all(ROLES.index(after[project]) >= ROLES.index(role) for project, role in before.items())


@pytest.mark.parametrize(
    ("claims", "path", "groups"),
    [
        ({"groups": ["a", "b"]}, "groups", {"a", "b"}),
        ({"groups": "a"}, "groups", {"a"}),
        ({"groups": ["a", 1, None, ["b"]]}, "groups", {"a"}),
        ({"realm": {"roles": ["a"]}}, "realm.roles", {"a"}),
        ({"https://acme.example/groups": ["a"]}, "https://acme.example/groups", {"a"}),
        ({"a": {"b.c": {"d": ["x"]}, "b": 1}}, "a.b.c.d", set()),
        ({"roles": {"agents": {"org": "1"}, "leads": {}}}, "roles", {"agents", "leads"}),
        ({"groups": 1}, "groups", set()),
        ({"groups": "a"}, "groups.a", set()),
        ({}, "groups", set()),
        ({"groups": ["a"]}, "", set()),
    ],
)
def test_groups_are_found_at_a_path(claims, path, groups):
    assert groups_in(claims, path) == groups


@given(
    st.recursive(st.none() | st.text() | st.integers(), lambda x: st.lists(x) | st.dictionaries(st.text(), x))
)
def test_no_claim_raises(value):
    assert all(
        isinstance(group, str) for group in groups_in({"a": value}, "a.b") | groups_in({"a": value}, "a")
    )
