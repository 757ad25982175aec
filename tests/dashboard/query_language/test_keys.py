"""The table of keys, and the reference page that lists it."""

from pathlib import Path

from dashboard.query_language.keys import KEYS, near

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "query-language.md"


def row(key):
    name = f"{key.name}NAME" if key.name.endswith(".") else key.name
    types = " or ".join(
        ", ".join(f"`{word}`" for word in key.choices) if kind == "choice" else kind for kind in key.types
    )
    own = ", ".join(key.own)
    return f"| `{name}` | {types} | {key.meaning} | `{key.example}` | {own} |"


def test_the_reference_lists_every_key_as_the_table_has_it():
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert rows == [row(key) for key in KEYS.values()]


def test_a_near_key_is_proposed_only_if_it_is_the_only_one():
    assert near("costs") == "cost"
    assert near("csot") == "cost"
    assert near("modle") == "model"
    assert near("tol") == "tool"
    assert near("xyz") is None
    assert near("loopz") is None  # loop and loops
