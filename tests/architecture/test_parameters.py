"""Parameters of tests are the same in every process: no clock and no random number is read for them.

All workers of a run must collect the same names of tests, else the run ends without one; and a time that is
read when a file is collected can be an hour old when its test runs.
"""

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.tree import OURS, chain, name_of

CLOCKS = {"now", "today", "time", "localdate", "utcnow", "monotonic", "perf_counter"}
CHANCE = {"random", "token_hex", "token_urlsafe", "uuid4", "getpid", "mkdtemp", "free_port"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def computed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of an expression that are computed at once: not what is in a lambda."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.Lambda):
            yield from computed(child)


def varies(node: ast.AST, varying: set[str]) -> bool:
    """Return whether an expression uses a clock, chance, or a name that does."""
    for part in computed(node):
        if isinstance(part, ast.Call) and (chain(part.func) or [""])[-1] in CLOCKS | CHANCE:
            return True
        if isinstance(part, ast.Name) and part.id in varying:
            return True
    return False


def varying_names(tree: ast.Module) -> set[str]:
    """Return the names of a module's constants and functions that differ between two processes."""
    varying: set[str] = set()
    known = -1
    while known != len(varying):
        known = len(varying)
        for node in tree.body:
            match node:
                case ast.Assign(targets=targets, value=value) if varies(value, varying):
                    parts = [part for target in targets for part in ast.walk(target)]
                    varying |= {part.id for part in parts if isinstance(part, ast.Name)}
                case ast.FunctionDef(name=name, body=body) if any(varies(line, varying) for line in body):
                    varying.add(name)
    return varying


def varying_parameters(tree: ast.Module) -> list[int]:
    """Return the lines of the decorators whose parameters differ between two processes."""
    varying = varying_names(tree)
    functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
    decorators = [decorator for function in functions for decorator in function.decorator_list]
    return [
        call.lineno
        for call in decorators
        if isinstance(call, ast.Call) and chain(call.func)[-1:] in (["parametrize"], ["fixture"])
        for part in [*call.args, *(keyword.value for keyword in call.keywords)]
        if varies(part, varying)
    ]


def test_no_parameter_is_computed_from_a_clock_or_chance():
    texts = {name_of(file): file.read_text() for file in OURS if name_of(file).startswith("tests/")}
    found = [
        f"{name}:{line}"
        for name, text in texts.items()
        if "parametrize" in text or "params=" in text
        for line in varying_parameters(ast.parse(text))
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "@pytest.mark.parametrize('at', [int(time.time()) + 3600])\ndef test(at): ...",
        "NOW = timezone.now()\nPAST = [NOW - DAY]\n@pytest.mark.parametrize('at', PAST)\ndef test(at): ...",
        "def at():\n    return datetime.now(UTC)\n@pytest.mark.parametrize('at', [at()])\ndef test(at): ...",
        "@pytest.fixture(params=[uuid4().hex])\ndef name(request): ...",
    ],
)
def test_a_parameter_that_varies_is_found(text):
    assert len(varying_parameters(ast.parse(text))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "@pytest.mark.parametrize('make', [lambda: timezone.now()])\ndef test(make): ...",
        "NOW = datetime(2026, 1, 1)\n@pytest.mark.parametrize('at', [NOW])\ndef test(at): ...",
        "@pytest.mark.parametrize('days', [1, 2])\ndef test(days):\n    timezone.now()",
    ],
)
def test_a_parameter_that_is_fixed_or_computed_in_the_test_is_not(text):
    assert varying_parameters(ast.parse(text)) == []
