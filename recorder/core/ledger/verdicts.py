"""The verdict on one call's prompt cache: what was expected to be read, what was, and the cause of the rest.

A cause is named only with evidence: a difference between the two requests, or the time between two calls
whose requests are equal. A miss without either is `unknown`; one with both is `undecided`, unless the
provider read as far as the difference allows, which shows that its cache had not expired.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from recorder.core.ledger.blocks import Kind
from recorder.core.ledger.cache_rules import LIKELY_STEP, CacheRules, is_documented, rules_of
from recorder.core.records import Json

Verdict = Literal[
    "append_only",
    "model_changed",
    "settings_changed",
    "tools_changed",
    "system_changed",
    "history_edited",
    "ttl_lapsed",
    "undecided",
    "provider_miss",
    "first_call",
    "unknown",
]
VERDICTS: tuple[Verdict, ...] = (
    *("system_changed", "tools_changed", "history_edited", "model_changed", "settings_changed"),
    *("ttl_lapsed", "undecided", "provider_miss", "unknown", "append_only", "first_call"),
)
DIFFERENT: tuple[Verdict, ...] = ("tools_changed", "system_changed", "history_edited", "undecided")
NO_MISS: tuple[Verdict, ...] = ("append_only", "first_call")


class Side(NamedTuple):
    """One of two requests: its model, its settings, and the kinds of its blocks in order."""

    model: str
    settings: Mapping[str, Json]
    kinds: Sequence[Kind]


@dataclass(frozen=True, slots=True)
class Cached:
    """The tokens that the calls so far left in the provider's cache."""

    prompt: int = 0  # of the last request
    marked: int = 0  # read and written by the last call
    has_read: bool = False  # a call of the chain has read from the cache
    is_long: bool = False  # written for the longer life
    reports_writes: bool = False  # the last call wrote to the cache, by its usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A call beside the one before it. Tokens."""

    before: Side
    after: Side
    is_first: bool
    is_recorded: bool  # the messages of both requests are known byte for byte
    prefix_blocks: int
    prefix_tokens: int
    kept_tokens: int  # of the request before: kept, or replaced in place
    before_tokens: int
    cached: Cached
    call_read: int
    prompt: int | None
    provider: str
    idle_s: float
    compacted: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict. `expected_read` is None where nothing can be expected: no figures, or no cache in use."""

    verdict: Verdict
    prefix_blocks: int
    prefix_tokens: int
    expected_read: int | None
    lost_tokens: int
    idle_s: float
    life_s: int | None
    reason: str  # the provider's own, "" if it gave none


def judge(call: Comparison) -> Judgement:
    """Return the verdict on a call."""
    rules = rules_of(call.provider, call.after.model)
    expected = _expected(call, rules)
    lost = 0 if expected is None else max(0, expected - call.call_read)
    step = rules.step if rules.control == "explicit" else LIKELY_STEP  # an automatic cache may lag behind
    if lost < (step or LIKELY_STEP):  # a rest smaller than a step cannot be read
        lost = 0
    life = _life(call, rules)
    verdict = _verdict(call, lost, life, rules)
    if verdict in NO_MISS:
        lost = 0
    return Judgement(
        verdict, call.prefix_blocks, call.prefix_tokens, expected, lost, call.idle_s, life, call.reason
    )


def _expected(call: Comparison, rules: CacheRules) -> int | None:
    """Return the tokens that would have been read if the request had only kept what it kept."""
    if call.is_first or call.prompt is None:
        return None
    if rules.control == "explicit":
        extent = call.cached.marked
    else:
        has_figures = call.cached.has_read or call.call_read or is_documented(call.provider, call.after.model)
        known = call.cached.marked if call.cached.reports_writes else call.cached.prompt
        extent = known if has_figures else 0
    if call.kept_tokens < call.before_tokens:
        extent = min(extent, call.kept_tokens)
    expected = min(extent, call.prompt) // (rules.step or 1) * (rules.step or 1)
    return expected if expected >= rules.least_tokens else None


def _verdict(call: Comparison, lost: int, life: int | None, rules: CacheRules) -> Verdict:
    if call.is_first:
        return "first_call"
    if call.before.model and call.after.model and call.before.model != call.after.model:
        return "model_changed"
    found = _difference(call)
    if not lost:
        return found or "append_only"
    found = found or _changed_settings(call, rules)
    is_lapsed = life is not None and call.idle_s > life
    if found is not None:
        return "undecided" if is_lapsed and not _is_alive(call, rules) else found
    if is_lapsed:
        return "ttl_lapsed"
    return "provider_miss" if call.is_recorded else "unknown"


def _changed_settings(call: Comparison, rules: CacheRules) -> Verdict | None:
    """Return the verdict on other settings; those that the provider does not cache by are no cause."""
    before, after = call.before.settings, call.after.settings
    is_other = any(before.get(name) != after.get(name) for name in rules.settings)
    return "settings_changed" if is_other else None


def _is_alive(call: Comparison, rules: CacheRules) -> bool:
    """Return whether the provider read all that both requests begin with, so its cache had not expired."""
    step = rules.step or LIKELY_STEP
    return call.call_read >= max(rules.least_tokens, call.prefix_tokens - step + 1)


def _difference(call: Comparison) -> Verdict | None:
    """Return what differs first, in the order in which providers cache; None if the request only appends."""
    place = call.prefix_blocks
    if place == len(call.before.kinds):
        return None
    kinds = {kinds[place] for kinds in (call.before.kinds, call.after.kinds) if place < len(kinds)}
    if "tool_definition" in kinds:
        return "tools_changed"
    return "system_changed" if "system" in kinds else "history_edited"


def _life(call: Comparison, rules: CacheRules) -> int | None:
    return rules.long_life_s if call.cached.is_long and rules.long_life_s else rules.life_s
