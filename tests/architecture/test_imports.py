"""No import cycles, of modules or of the parts of a folder; the layers are in pyproject.toml."""

import grimp
import pytest


def cycle(imports: dict[str, set[str]]) -> set[str]:
    """Return the modules on import cycles, and those on a path between two cycles.

    A module that imports nothing is on no cycle, nor is one that nothing imports: the function removes such
    modules until none is left to remove.
    """
    left = {name: set(imported) for name, imported in imports.items()}
    while True:
        imported = set().union(*left.values())
        ends = {name for name, needs in left.items() if not needs or name not in imported}
        if not ends:
            return set(left)
        left = {name: needs - ends for name, needs in left.items() if name not in ends}


@pytest.fixture(scope="module")
def graph():
    packages = ("recorder", "dashboard", "loopscope_client")
    return grimp.build_graph(*packages, exclude_type_checking_imports=True, cache_dir=None)


def siblings(imports: dict[str, set[str]], folder: str) -> dict[str, set[str]]:
    """Return which parts of a folder, modules or folders, import which others of them."""

    def part(module: str) -> str:
        return module.removeprefix(f"{folder}.").partition(".")[0] if module.startswith(f"{folder}.") else ""

    parts: dict[str, set[str]] = {}
    for module, imported in imports.items():
        if own := part(module):
            parts.setdefault(own, set()).update({part(name) for name in imported} - {"", own})
    return parts


def test_no_circle_among_the_parts_of_a_folder(graph):
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    folders = [name for name in graph.modules if graph.find_children(name)]
    found = {folder: parts for folder in folders if (parts := cycle(siblings(imports, folder)))}

    assert found == {}


def test_the_parts_of_a_folder_are_its_modules_and_folders():
    imports = {"a.b.c": {"a.d", "e"}, "a.d": {"a.b.x"}, "e": {"a.b"}, "ab.c": {"a.b"}}

    assert siblings(imports, "a") == {"b": {"d"}, "d": {"b"}}


def test_no_import_cycles(graph):
    assert cycle({name: graph.find_modules_directly_imported_by(name) for name in graph.modules}) == set()


def test_an_import_cycle_is_found():
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": set()}) == {"a", "b", "c"}
