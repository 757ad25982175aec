"""Accessibility violations that axe finds on an open page: https://github.com/dequelabs/axe-core."""

from __future__ import annotations

from pathlib import Path

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text()
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
COLOURS = ["color-contrast"]  # what another colour scheme can change
# What passes is neither described nor handed over: that would take longer than to find what does not.
RUN = "rules => axe.run({runOnly: rules, resultTypes: ['violations']}).then(found => found.violations)"


def serious(page, rules=RULES) -> list[str]:
    """Return the serious and critical violations on a page of the rules, or of the groups of rules."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    return [
        f"{each['id']}: {node['html'][:200]} ({node['failureSummary'][:300]})"
        for each in page.evaluate(RUN, rules)
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]
