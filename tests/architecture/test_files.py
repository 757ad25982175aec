"""Sizes of files, functions and folders."""

import ast
from collections import Counter, defaultdict

from tests.architecture.tree import CODE, FILES, OURS, ROOT, name_of, nodes

MAX_LINES, MAX_FUNCTION, MAX_ENTRIES = 350, 40, 13  # hard limits; aim for 200 and 10
CLAUSES = {"What", "How", "Who", "Which", "Where", "When", "Why", "That"}  # a property may say "Whether"
# Flat by nature: a part of the server each, a page each, a migration each, a command each.
EXCEPTED = {
    *("recorder", "dashboard", "dashboard/pages", "templates"),
    *("recorder/migrations", "recorder/management/commands"),
}


def test_every_module_has_a_docstring():
    wrong = [
        name_of(file)
        for file in OURS
        if (text := file.read_text()) and not ast.get_docstring(ast.parse(text))
    ]
    assert wrong == []


def test_docstrings_of_the_dashboard_begin_with_a_noun_or_a_verb():
    """`What is compared of sessions.` names nothing that a reader could search for."""
    wrong = [
        f"{name_of(file)}: {head}"
        for file in CODE
        if name_of(file).startswith("dashboard/")
        for node in nodes(file)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and (head := (ast.get_docstring(node) or "").partition("\n")[0]).split(" ")[0] in CLAUSES
    ]
    assert wrong == []


def test_no_file_and_no_function_is_too_long():
    long = [f"{name_of(file)}: {n}" for file in OURS if (n := file.read_text().count("\n")) > MAX_LINES]
    long += [
        f"{name_of(file)}:{node.lineno} {node.name}: {n}"
        for file in CODE
        for node in nodes(file)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (n := (node.end_lineno or 0) - node.lineno + 1) > MAX_FUNCTION
    ]
    assert long == []


def folder_sizes() -> tuple[Counter[str], dict[str, set[str]]]:
    """Return the number of modules and the sub-folders of each folder, of tracked files."""
    modules: Counter[str] = Counter()
    folders: dict[str, set[str]] = defaultdict(set)
    for file in FILES:
        if file.suffix == ".py" and file.name != "__init__.py":
            modules[name_of(file.parent)] += 1
        for folder in file.relative_to(ROOT).parents:
            if folder.name:
                folders[folder.parent.as_posix()].add(folder.name)
    return modules, folders


def test_no_folder_has_too_many_modules():
    modules, _ = folder_sizes()
    assert {folder: n for folder, n in modules.items() if n > MAX_ENTRIES and folder not in EXCEPTED} == {}


def test_no_folder_has_too_many_sub_folders():
    """A folder of tests may have those of the folder that it mirrors."""
    _, folders = folder_sizes()
    many = {}
    for folder, names in folders.items():
        mirrored = folders.get(folder.removeprefix("tests/"), set()) if folder.startswith("tests/") else set()
        if folder not in EXCEPTED and len(names - mirrored) > MAX_ENTRIES:
            many[folder] = len(names)
    assert many == {}
