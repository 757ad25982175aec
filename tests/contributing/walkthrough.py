"""Walk-throughs of CONTRIBUTING.md: parsed into steps, and applied to a copy of the project.

A walk-through is a section `### Add ...` with a count of files (`Files: 7.`) and numbered steps. A step that
begins with a path in backticks has a block that changes the file (`diff`) or creates it (any other language).
The lines of `sh` blocks are commands.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECTION = re.compile(r"^### (Add [^\n]+)\n(.*?)(?=^##|\Z)", re.M | re.S)
STEP = re.compile(r"^\d+\. ", re.M)
BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """A block of code in a step: `language` says what is done with it, `path` is its file, if it has one."""

    language: str
    text: str
    path: str


@dataclass(frozen=True)
class Walkthrough:
    """A walk-through, and the number of files that it says it touches."""

    title: str
    files: int
    blocks: list[Block]


def walkthroughs(text: str) -> list[Walkthrough]:
    """Parse all walk-throughs of a document."""
    return [
        Walkthrough(title, int(re.search(r"Files: (\d+)\.", body)[1]), list(_blocks(body)))
        for title, body in SECTION.findall(text)
    ]


def _blocks(body: str):
    for step in STEP.split(body)[1:]:
        path = re.match(r"`([^`]+)`", step)
        for _, language, text in BLOCK.findall(step):
            yield Block(language, textwrap.dedent(text), path[1] if path else "")


def copy_of_the_project(folder: Path) -> Path:
    """Copy all tracked files into a repository of their own, as they are now.

    The compiled modules are copied, too, which Python uses while size and time of their sources are the same:
    to compile the project for each walk-through takes longer than its commands.
    """
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, names.decode().split("\0")):
        if (ROOT / name).is_file():
            _copy(ROOT / name, folder / name)
            if name.endswith(".py") and (compiled := Path(cache_from_source(ROOT / name))).is_file():
                _copy(compiled, Path(cache_from_source(folder / name)))
    _git(folder, "init", "--quiet")
    _git(folder, "add", "--all")
    author = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    _git(folder, *author, "commit", "--quiet", "--message", "Before")
    return folder


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


def apply(block: Block, folder: Path) -> None:
    """Do what a block says in a copy of the project."""
    target = folder / block.path
    if block.language == "sh":
        for command in block.text.splitlines():
            _git(folder, "add", "--all")  # some tests look at tracked files only
            _run(command, folder)
    elif block.language == "diff":
        target.write_text(patched(target.read_text(), block.text))
    else:
        assert not target.exists(), f"{block.path} exists already"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(block.text)


def patched(text: str, diff: str) -> str:
    """Return `text` with the added lines of a diff without line numbers.

    Parts of the diff are separated by `...`. The context lines of a part follow each other in `text`, after
    the part before. Raises ValueError if they do not.
    """
    lines, at = text.splitlines(), 0
    for part in re.split(r"^\.\.\.\n", diff, flags=re.M):
        changes = [(line[:1], line[1:]) for line in part.splitlines()]
        context = [rest for sign, rest in changes if sign != "+"]
        at = _position(lines, context, at)
        lines[at : at + len(context)] = [rest for _, rest in changes]
        at += len(changes)
    return "\n".join(lines) + "\n"


def _position(lines: list[str], context: list[str], start: int) -> int:
    for at in range(start, len(lines)):
        if context and lines[at : at + len(context)] == context:
            return at
    raise ValueError(f"These lines are not there: {context}")


def touched(folder: Path) -> list[str]:
    """Return the files that differ from the copy, or are new."""
    found = _git(folder, "status", "--porcelain", "--untracked-files=all")
    return [line[3:] for line in found.splitlines()]


def _run(command: str, folder: Path) -> None:
    words = shlex.split(command)
    assert words[0] == "python", command
    done = subprocess.run(
        [sys.executable, *words[1:]], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"


def _git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True).stdout
