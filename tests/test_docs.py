"""Documents name only what exists: links, paths, the index of pages and the map of the architecture."""

import re
from pathlib import Path

import pytest

from tests.contributing.walkthrough import walkthroughs

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
DOCUMENTS = [
    *(
        ROOT / name
        for name in (
            "README.md",
            "CONTRIBUTING.md",
            "SECURITY.md",
            "bench/RESULTS.md",
            "tests/faults/README.md",
        )
    ),
    *PAGES,
]
LINK = re.compile(r"\]\(([^)\s]+)\)")
# A path from the root of the repository, in prose, in a table or in a diagram; `*` as in a shell.
NAMED = re.compile(
    r"(?<![\w./-])((?:bench|dashboard|deploy|docs|loopscope_client|recorder|static|templates|tests|tools|\.ci)/[\w./*-]*[\w*/])"
)
MAP_ROW = re.compile(r"^\| (.+\?) \| `([^`]+)` \|$", re.M)
INDEX = DOCS / "README.md"
PRODUCT = ("recorder", "dashboard", "loopscope_client")
CREATED = [  # by who follows a walk-through; tests/contributing follows them all
    block.path
    for walkthrough in walkthroughs((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    for block in walkthrough.blocks
    if block.language != "diff" and block.path
]
FRONTS = ("pipeline.py", "registry.py", "routing.py", "settings.py", "urls.py")  # always in the map


def name_of(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def exists(path: str) -> bool:
    if any(f"{created}/".startswith(f"{path}/") for created in CREATED):
        return True
    return any(ROOT.glob(path)) if "*" in path else (ROOT / path).exists()


def linked(page: Path) -> list[Path]:
    """Return the files that a page's relative links lead to."""
    targets = [found.partition("#")[0] for found in LINK.findall(page.read_text(encoding="utf-8"))]
    return [(page.parent / target).resolve() for target in targets if target and "://" not in target]


@pytest.mark.parametrize("page", DOCUMENTS, ids=name_of)
def test_every_relative_link_leads_to_a_file(page):
    assert [str(target) for target in linked(page) if not target.exists()] == []


@pytest.mark.parametrize("page", DOCUMENTS, ids=name_of)
def test_every_path_that_a_page_names_exists(page):
    assert [path for path in NAMED.findall(page.read_text(encoding="utf-8")) if not exists(path)] == []


def test_the_index_links_every_page_once():
    listed = [target for target in linked(INDEX) if target.is_relative_to(DOCS)]
    assert sorted(listed) == [page for page in PAGES if page != INDEX]


def test_every_line_of_the_index_says_what_a_page_is_about():
    entries = [line for line in INDEX.read_text(encoding="utf-8").splitlines() if line.startswith("- ")]
    wrong = [line for line in entries if "](adr/" not in line and not re.search(r"\]\([^)]+\): \S", line)]
    assert wrong == []


def test_decision_records_carry_the_number_of_their_file():
    numbers = {page: int(page.name[:4]) for page in PAGES if page.parent.name == "adr"}
    assert len(set(numbers.values())) == len(numbers) > 10
    titles = {page: page.read_text(encoding="utf-8").partition("\n")[0] for page in numbers}
    assert [
        name_of(page) for page, number in numbers.items() if not titles[page].startswith(f"# {number}. ")
    ] == []


def test_the_map_of_the_architecture_answers_each_question_with_one_file():
    rows = MAP_ROW.findall((DOCS / "architecture.md").read_text(encoding="utf-8"))
    questions, paths = [row[0] for row in rows], [row[1] for row in rows]
    assert len(rows) >= 20
    assert len(set(questions)) == len(set(paths)) == len(rows)
    assert [path for path in paths if not (ROOT / path).is_file()] == []
    fronts = {name_of(file) for name in FRONTS for part in PRODUCT for file in (ROOT / part).rglob(name)}
    assert len(fronts) > 2
    # The registry lists those of the pages.
    fronts = {front for front in fronts if not front.startswith("dashboard/pages/")}
    assert fronts - set(paths) == set()


def test_a_path_that_does_not_exist_is_found():
    found = NAMED.findall("In `recorder/gone.py`, tests/nothing/ and (static/*.none).")
    assert found == ["recorder/gone.py", "tests/nothing/", "static/*.none"]
    assert not any(exists(path) for path in found)
