"""Names of modules: a standard term for what a module has or does."""

import ast
from collections import Counter
from pathlib import Path

from tests.architecture.tree import CODE, OURS, name_of, nodes

VAGUE = set("utils util helpers helper manager managers service services common misc".split())
# Words that have a standard term: publish, endpoint, replay, params, state, poll.
RETIRED = set(
    "bell doorbell ring knock door told tell telling retold said asked asking known remember remembering "
    "recall glance swift worded among spent taken passed seen kept given looked attending soundness alike "
    "piece pieces whoever stand stands reckon".split()
)
BARE_FORMS = {"Row", "Line", "Params", "Page", "Step", "Pass"}  # of classes
# Past participles that do not end in -ed, and other words that do.
IRREGULAR = set("begun built cut done drawn found gone held left lost made sent shown written".split())
NO_PARTICIPLES = {"embed", "feed", "seed", "speed"}
# Variables that do not name what they hold, and functions named by a participle alone, that the dashboard
# still has. Lower a number when fewer are left.
UNNAMED = {"found": 195, "each": 90, "place": 45, "participles": 135}


def words_of(file: Path) -> list[str]:
    return file.stem.removeprefix("test_").split("_")


def is_participle(words: list[str]) -> bool:
    """Whether a name is a past participle alone, so that a reader must guess its noun."""
    word = words[0]
    return len(words) == 1 and (word in IRREGULAR or (word.endswith("ed") and word not in NO_PARTICIPLES))


def test_no_module_has_a_vague_name():
    assert [name_of(file) for file in CODE if file.stem in VAGUE] == []


def test_no_module_is_named_by_a_participle():
    assert [name_of(file) for file in OURS if is_participle(words_of(file))] == []


def test_no_module_name_has_a_retired_word():
    assert [name_of(file) for file in OURS if RETIRED & set(words_of(file))] == []


def test_a_participle_and_a_retired_word_are_found():
    assert is_participle(["ended"])
    assert not is_participle(["ended", "loops"])
    assert RETIRED & set(words_of(Path("test_told.py")))


def test_no_class_is_named_by_its_form_alone():
    """`CostRow` says what the row is of; a bare `Row` has to be looked up wherever it is used."""
    classes = [
        (name_of(file), node.name)
        for file in CODE
        for node in ast.parse(file.read_bytes()).body
        if isinstance(node, ast.ClassDef)
    ]
    assert [found for found in classes if found[1] in BARE_FORMS] == []


def test_variables_and_functions_without_a_noun_become_fewer():
    names = Counter(
        name
        for file in CODE
        if name_of(file).startswith("dashboard/")
        for node in nodes(file)
        if (name := unnamed(node))
    )
    assert {name: n for name, n in names.items() if n > UNNAMED[name]} == {}


def unnamed(node):
    """Return the word of UNNAMED that a node of a syntax tree binds; None for all others."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) if name in UNNAMED:
            return name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return "participles" if is_participle(name.strip("_").split("_")) else None
