"""The roles that the groups of an OpenID Connect user give: rules of a setting, and groups of a claim.

A rule is `group:role` for all projects or `group:project:role` for one. Rules with the group `*` are the
default: they hold when no other rule gives a role. Of several roles in one project the highest counts.
Nothing here reads the database.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

ROLES = ("viewer", "member", "admin")  # ascending; those of Membership
DEFAULT = "*"  # the group of default rules
ALL = "*"  # the project of rules for all projects

Claims = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Rule:
    """Members of `group` have `role` in `project`, or in all projects."""

    group: str
    project: str  # slug
    role: str


def parse_rules(text: str) -> tuple[Rule, ...]:
    """Read rules separated by commas. Raises ValueError with the rule that cannot be read.

    The group is everything before the last two colons, so that a group with colons needs a project, which may
    be `*`.
    """
    return tuple(_rule(part) for part in map(str.strip, text.split(",")) if part)


def groups_in(claims: Claims, path: str) -> frozenset[str]:
    """Return the texts at a dotted path of claims: of a list, a text alone, or the keys of an object.

    A claim whose own name has dots is found as well. Anything else there, or nothing, is no group.
    """
    match _value_at(claims, path):
        case str(text):
            return frozenset({text})
        case list(values) | dict(values):
            return frozenset(value for value in values if isinstance(value, str))
        case _:
            return frozenset()


def granted(rules: Iterable[Rule], groups: Iterable[str], projects: Iterable[str]) -> dict[str, str]:
    """Return the role in each of these projects that the groups give one in, else those of the default."""
    rules, groups, projects = list(rules), set(groups) - {DEFAULT}, list(projects)
    roles = _roles([rule for rule in rules if rule.group in groups], projects)
    return roles or _roles([rule for rule in rules if rule.group == DEFAULT], projects)


def _rule(text: str) -> Rule:
    match text.rsplit(":", 2):
        case [group, project, role] if group and project and role in ROLES:
            return Rule(group, project, role)
        case [group, role] if group and role in ROLES:
            return Rule(group, ALL, role)
        case _:
            raise ValueError(text)


def _value_at(value: object, path: str) -> object:
    if not isinstance(value, Mapping):
        return None
    if path in value:
        return value[path]
    head, dot, rest = path.partition(".")
    return _value_at(value.get(head), rest) if dot else None


def _roles(rules: list[Rule], projects: list[str]) -> dict[str, str]:
    roles: dict[str, str] = {}
    for rule in rules:
        for project in projects:
            if rule.project in (ALL, project):
                roles[project] = max(roles.get(project, rule.role), rule.role, key=ROLES.index)
    return roles
