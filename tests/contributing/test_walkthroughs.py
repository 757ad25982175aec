"""The walk-throughs of CONTRIBUTING.md work as they are written and touch as many files as they say."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.contributing.walkthrough import ROOT, apply, copy_of_the_project, patched, touched, walkthroughs

WALKTHROUGHS = walkthroughs((ROOT / "CONTRIBUTING.md").read_text())
TITLES = ["Add a field", "Add an event", "Add a format", "Add a page"]


def check_style(folder):
    """Run the linter and the formatters over what a walk-through added."""
    tools = Path(sys.executable).parent
    files = [name for name in touched(folder) if "migrations" not in name]
    python = [name for name in files if name.endswith(".py")]
    subprocess.run([tools / "ruff", "check", *python], cwd=folder, check=True)
    subprocess.run([tools / "ruff", "format", "--check", *python], cwd=folder, check=True)
    if templates := [name for name in files if name.endswith(".html")]:
        subprocess.run([tools / "djangofmt", "--check", *templates], cwd=folder, check=True)


def test_there_is_one_for_a_field_an_event_a_format_and_a_page():
    assert [each.title for each in WALKTHROUGHS] == TITLES


@pytest.mark.slow
@pytest.mark.parametrize("walkthrough", WALKTHROUGHS, ids=lambda each: each.title)
def test_a_walkthrough_works_and_touches_as_many_files_as_it_says(walkthrough, tmp_path):
    folder = copy_of_the_project(tmp_path)

    for block in walkthrough.blocks:
        apply(block, folder)

    assert len(touched(folder)) == walkthrough.files, touched(folder)
    check_style(folder)


def test_a_diff_adds_lines_after_and_before_its_context():
    text = "a\nb\nc\nb\n"
    assert patched(text, " c\n+new\n") == "a\nb\nc\nnew\nb\n"
    assert patched(text, " a\n...\n+new\n c\n") == "a\nb\nnew\nc\nb\n"
    assert patched(text, "+new\n b\n...\n b\n+new\n") == "a\nnew\nb\nc\nb\nnew\n"
    assert patched(text, " c\n b\n+new\n") == "a\nb\nc\nb\nnew\n"


@pytest.mark.parametrize("diff", [" z\n+new\n", " a\n c\n+new\n", "+new\n z\n", "+new\n"])
def test_a_diff_whose_context_is_gone_is_refused(diff):
    with pytest.raises(ValueError, match="not there"):
        patched("a\nb\nc\n", diff)
