"""Changes the masking rules of a project, each change with its entry of the audit log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from django.db import transaction

from recorder.core.records import Json
from recorder.masking import project_rules
from recorder.masking.catalogue import BY_NAME
from recorder.masking.matcher import OwnPattern, RuleSettings
from recorder.masking.rule import NAME
from recorder.models import Project
from recorder.operations import audit
from recorder.operations.audit import Actor


class BadName(ValueError):
    """A name that an own pattern cannot have, with the reason."""


def switch_rule(project: Project, name: str, actor: Actor, *, is_on: bool) -> bool:
    """Switch a rule of ours; return False if there is none of this name."""
    rule = BY_NAME.get(name)
    if rule is None:
        return False

    def edit(rules: RuleSettings) -> RuleSettings:
        if rule.kind == "candidate":
            return replace(rules, on=rules.on | {name} if is_on else rules.on - {name})
        return replace(rules, off=rules.off - {name} if is_on else rules.off | {name})

    _change(project, name, actor, edit)
    return True


def add_pattern(project: Project, name: str, pattern: str, actor: Actor) -> None:
    """Add a pattern of the project's own, switched on.

    Raises BadName, BadPattern (with RE2's reason), or ValueError if the project has too many.
    """
    check_name(name)

    def edit(rules: RuleSettings) -> RuleSettings:
        if any(own.name == name for own in rules.patterns):
            raise BadName("another pattern has this name")
        return replace(rules, patterns=(*rules.patterns, OwnPattern(name, pattern)))

    _change(project, name, actor, edit)


def switch_pattern(project: Project, name: str, actor: Actor, *, is_on: bool) -> None:
    """Switch a pattern of the project's own. Raises BadPattern if RE2 does not read it any more."""

    def edit(rules: RuleSettings) -> RuleSettings:
        changed = (replace(own, is_on=is_on) if own.name == name else own for own in rules.patterns)
        return replace(rules, patterns=tuple(changed))

    _change(project, name, actor, edit)


def remove_pattern(project: Project, name: str, actor: Actor) -> None:
    """Remove a pattern of the project's own."""

    def edit(rules: RuleSettings) -> RuleSettings:
        return replace(rules, patterns=tuple(own for own in rules.patterns if own.name != name))

    _change(project, name, actor, edit)


def check_name(name: str) -> None:
    """Raise BadName if no pattern of a project can have this name."""
    if not NAME.fullmatch(name):
        raise BadName("1 to 40 characters: a-z, 0-9 and - between them")
    if name in BY_NAME:
        raise BadName("a rule of Loopscope has this name")


def _change(project: Project, name: str, actor: Actor, edit: Callable[[RuleSettings], RuleSettings]) -> None:
    with transaction.atomic():
        # Two changes at once: the second one reads what the first one stored.
        Project.objects.select_for_update().get(pk=project.pk)
        before = project_rules.load(project.pk)
        after = edit(before)
        if after == before:
            return
        project_rules.save(project.pk, after)
        audit.record(
            project, actor, "masking.change", name, before=_state(before, name), after=_state(after, name)
        )


def _state(rules: RuleSettings, name: str) -> Json:
    """Return what rules say of one of them, for the audit log; None is a pattern that is not there."""
    if name in BY_NAME:
        is_on = name in rules.on if BY_NAME[name].kind == "candidate" else name not in rules.off
        return {"is_on": is_on}
    own = next((own for own in rules.patterns if own.name == name), None)
    return None if own is None else {"is_on": own.is_on, "pattern": own.pattern}
