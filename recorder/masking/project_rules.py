"""The masking rules of projects: stored, cached by process, and changed at once.

Each transaction reads when the rules of its project were changed last, one row by its primary key; compiled
rules are kept until that differs. So a change holds for the next batch, in every process.
"""

from __future__ import annotations

import hmac
import logging
from dataclasses import replace
from datetime import UTC, datetime

from django.conf import settings

from recorder.database import sql
from recorder.masking.catalogue import BY_NAME, CANDIDATES
from recorder.masking.masker import Masker
from recorder.masking.matcher import OwnPattern, RuleSettings, compile_rules, own_rule
from recorder.masking.regex import BadPattern
from recorder.models import MaskingSettings

log = logging.getLogger(__name__)

PATTERNS_MAX = 50
_CHANGED = "SELECT changed_at FROM recorder_maskingsettings WHERE project_id = %s"
_maskers: dict[int, tuple[object, Masker]] = {}  # by project: when its rules were changed


def masker_of(project: int) -> Masker:
    """Return the masker of a project with the rules that hold now. One query, two after a change."""
    rows = sql.read(_CHANGED, project)
    changed_at, secret = (rows[0][0] if rows else None), settings.SECRET_KEY
    held = _maskers.get(project)
    if held is not None and held[0] == (changed_at, secret):
        return held[1]
    rules = load(project) if rows else RuleSettings()
    masker = Masker(compile_rules(_valid(rules)), key_of(project))
    _maskers[project] = ((changed_at, secret), masker)
    return masker


def strict_masker_of(project: int) -> Masker:
    """Return the masker with all rules and the project's patterns, also those that it has switched off.

    One query; the compiled rules are kept by their patterns.
    """
    patterns = tuple(replace(own, is_on=True) for own in load(project).patterns)
    every = RuleSettings(on=frozenset(rule.name for rule in CANDIDATES), patterns=patterns)
    return Masker(compile_rules(_valid(every)), key_of(project))


def key_of(project: int) -> bytes:
    """Return the key of a project's tags, 32 bytes, derived from the installation's secret key."""
    return hmac.digest(settings.SECRET_KEY.encode(), b"loopscope.masking.%d" % project, "sha256")


def load(project: int) -> RuleSettings:
    """Return what a project changed of the rules. One query."""
    row = MaskingSettings.objects.filter(project=project).first()
    if row is None:
        return RuleSettings()
    patterns = tuple(OwnPattern(each["name"], each["pattern"], each["is_on"]) for each in row.patterns)
    return RuleSettings(frozenset(row.on), frozenset(row.off), patterns)


def save(project: int, rules: RuleSettings) -> None:
    """Store the rules of a project; they hold from the next batch on, for new lines only.

    Raises:
        ValueError: a name is no candidate rule or no definite one, or is given twice, or there are more than
            `PATTERNS_MAX` patterns.
        BadPattern: a pattern is not valid, also one that is off; it is a ValueError.
    """
    _check_names(rules)
    for own in rules.patterns:
        own_rule(own)
    row = MaskingSettings(project_id=project, changed_at=datetime.now(UTC))
    row.on, row.off = sorted(rules.on), sorted(rules.off)
    row.patterns = [{"name": own.name, "pattern": own.pattern, "is_on": own.is_on} for own in rules.patterns]
    row.save()


def _check_names(rules: RuleSettings) -> None:
    for name in sorted(rules.on | rules.off):
        kind = BY_NAME[name].kind if name in BY_NAME else None
        if kind != ("candidate" if name in rules.on else "definite"):
            raise ValueError(f"{name} is not a rule that can be switched so")
    if len(rules.patterns) > PATTERNS_MAX:
        raise ValueError(f"a project has at most {PATTERNS_MAX} patterns")
    if len({own.name for own in rules.patterns}) < len(rules.patterns):
        raise ValueError("two patterns have the same name")


def _valid(rules: RuleSettings) -> RuleSettings:
    """Return the rules without patterns that another version of RE2 or of Loopscope accepted."""
    valid = []
    for own in rules.patterns:
        try:
            own_rule(own)
        except BadPattern as error:
            log.warning("the masking pattern %s cannot be used: %s", own.name, error)
        else:
            valid.append(own)
    return RuleSettings(rules.on, rules.off, tuple(valid))
