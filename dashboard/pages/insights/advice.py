"""One line for each insight: what was found, how sure it is, and what to do. Pure."""

from __future__ import annotations

from dashboard.rendering.number_format import percent, plural

FOUND = {
    "procedure": "Repeated procedure",
    "solution": "Error with a solution",
    "fact": "Fact from conversations",
}
TO_DO = {
    "procedure": "If it is intended, make it one tool or one documented command.",
    "solution": "Put the steps into the agent's instructions, or correct the tool's default.",
    "fact": "Check it, then add it to the agent's instructions.",
}
STRONG_FROM, MODERATE_FROM = 10, 3  # cases


def line(kind: str, times: int, worked: int, loops: int) -> str:
    """Return the line; facts have no cases that worked, so their loops count."""
    if kind == "fact":
        return f"{FOUND[kind]}: stated in {plural(loops, 'loop')}, {evidence(loops)}. {TO_DO[kind]}"
    cases = f"{plural(times, 'case')} in {plural(loops, 'loop')}, {percent(worked / max(times, 1))} worked"
    return f"{FOUND[kind]}: {cases}, {evidence(times)}. {TO_DO[kind]}"


def evidence(cases: int) -> str:
    """Return how much a number of cases supports."""
    if cases >= STRONG_FROM:
        return "strong evidence"
    return "moderate evidence" if cases >= MODERATE_FROM else "weak evidence"
