"""Generates the tables of rules in docs/reference/masking.md: `python -m tools.masking_reference`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from recorder.masking.catalogue import CANDIDATES, DEFINITE
from recorder.masking.rule import Rule

PAGE = Path(__file__).parents[1] / "docs/reference/masking.md"
HEADINGS = {"## Definite rules": DEFINITE, "## Candidate rules": CANDIDATES}


def page(text: str) -> str:
    """Return the page with its tables written anew: each is the end of the section of its heading."""
    for heading, rules in HEADINGS.items():
        before, found, section = text.partition(f"{heading}\n")
        assert found, heading
        body, _, after = section.partition("\n## ")
        words = body.partition("\n| ")[0].strip("\n")
        rest = f"\n## {after}" if after else ""
        text = f"{before}{heading}\n\n{words}\n\n{_table(rules)}{rest}"
    return text


def _table(rules: Iterable[Rule]) -> str:
    rows = [f"| `{rule.name}` | {rule.title} | {_anchors(rule)} |\n" for rule in rules]
    return "".join(("| rule | masks | a line has to contain |\n| --- | --- | --- |\n", *rows))


def _anchors(rule: Rule) -> str:
    return ", ".join(f"`{anchor}`" for anchor in rule.anchors) or "digits"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
