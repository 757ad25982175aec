"""Accessibility violations that axe finds on an open page: https://github.com/dequelabs/axe-core."""

from __future__ import annotations

from pathlib import Path

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text()
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
COLOURS = ["color-contrast"]  # what another colour scheme can change
# Asked for by name: of the groups axe leaves some out, and it calls an order of headings a moderate fault.
NAMED = ["nested-interactive", "target-size", "heading-order"]
# What passes is neither described nor handed over: that would take longer than to find what does not.
RUN = """([rules, named]) => axe.run({
  runOnly: rules,
  rules: Object.fromEntries(named.map((name) => [name, { enabled: true }])),
  resultTypes: ["violations"],
}).then((found) => found.violations)"""


def serious(page, rules=RULES) -> list[str]:
    """Return the serious and critical violations on a page of the groups of rules or the rules.

    With groups all violations of the NAMED rules are among them.
    """
    named = NAMED if rules == RULES else []
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    return [
        f"{each['id']}: {node['html'][:200]} ({node['failureSummary'][:300]})"
        for each in page.evaluate(RUN, [rules, named])
        if each["impact"] in ("serious", "critical") or each["id"] in named
        for node in each["nodes"]
    ]
