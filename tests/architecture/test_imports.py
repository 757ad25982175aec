"""No import cycles; the layers are import-linter's, in pyproject.toml."""

import grimp


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


def test_no_import_cycles():
    packages = ("recorder", "dashboard", "loopscope_client")
    graph = grimp.build_graph(*packages, exclude_type_checking_imports=True, cache_dir=None)

    assert cycle({name: graph.find_modules_directly_imported_by(name) for name in graph.modules}) == set()


def test_an_import_cycle_is_found():
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": set()}) == {"a", "b", "c"}
