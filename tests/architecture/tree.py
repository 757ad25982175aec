"""The tracked files by kind, and small readers of syntax trees, for the tests of the architecture."""

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TRACKED = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
FILES = [ROOT / name for name in TRACKED.stdout.splitlines() if (ROOT / name).is_file()]
OURS = [
    file
    for file in FILES
    if file.suffix == ".py" and file.is_relative_to(ROOT) and "migrations" not in file.parts
]
ASSETS = [file for file in FILES if file.suffix in {".css", ".js"} and "vendor" not in file.parts]
CODE = [file for file in OURS if file.relative_to(ROOT).parts[0] in {"recorder", "dashboard"}]
TEMPLATES = [
    file for file in FILES if file.suffix == ".html" and file.relative_to(ROOT).parts[0] == "templates"
]


def name_of(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def nodes(file: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(file.read_text(), filename=str(file)))


def chain(node: ast.AST) -> list[str]:
    """Return the names of `a.b(...).c`, from the left."""
    match node:
        case ast.Attribute():
            return [*chain(node.value), node.attr]
        case ast.Call():
            return chain(node.func)
        case ast.Subscript():
            return chain(node.value)
        case ast.Name():
            return [node.id]
        case _:
            return []
