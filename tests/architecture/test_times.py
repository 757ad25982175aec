"""No test asserts how long something takes, and every sleep has its reason beside it.

A duration is what a clock returned, or is computed from it in the same function; a function that returns one
measures one. Two durations may be compared with one another: the work at two sizes. Counts are no durations.
"""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.architecture.tree import OURS, chain, name_of

CLOCKS = {"monotonic", "perf_counter", "process_time", "thread_time"}
CLOCKS |= {f"{clock}_ns" for clock in CLOCKS}
CLOCK = re.compile(rf"{'|'.join(CLOCKS)}|\.time\b")  # in every file that calls one
KEEP_UNIT = {"abs", "float", "int", "max", "mean", "median", "min", "quantiles", "round", "sorted", "sum"}
WAIT = "tests/support/wait.py"
ORDER = ast.Lt | ast.LtE | ast.Gt | ast.GtE
Function = ast.FunctionDef | ast.AsyncFunctionDef
MEASURING = """
def seconds(work):
    began = perf_counter()
    work()
    return perf_counter() - began


"""


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a module or function without those of the functions in it."""
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, Function):
            yield from own_nodes(child)


def is_clock(call: ast.Call) -> bool:
    names = chain(call.func)
    return bool(names) and (names[-1] in CLOCKS or names[-2:] in (["time", "time"], ["loop", "time"]))


class Durations:
    """The expressions of one scope that are durations. `measuring` are the functions that return one."""

    def __init__(self, scope: ast.AST, measuring: set[str]) -> None:
        self._scope, self._measuring = scope, measuring
        self.names: set[str] = set()
        known = -1
        while known != len(self.names):
            known = len(self.names)
            for node in own_nodes(scope):
                self._follow(node)

    def _follow(self, node: ast.AST) -> None:
        """Add the names that a statement gives a duration to."""
        match node:
            case ast.Assign(targets=targets, value=value) if self.has(value):
                pairs = [(target, value) for target in targets]
            case ast.AugAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
                pairs = [(target, value)]
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                pairs = [(target, value)]
            case ast.Call(func=ast.Attribute(value=target, attr="append"), args=[value]):
                pairs = [(target, value)]
            case _:
                return
        for target, value in pairs:
            self._name(target, value)

    def _name(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple):
            values = value.elts if isinstance(value, ast.Tuple) else [value] * len(target.elts)
            for part, its in zip(target.elts, values, strict=False):
                self._name(part, its)
        elif self.has(value) and (names := chain(target)):
            self.names.add(names[-1])

    def has(self, node: ast.expr) -> bool:
        """Whether an expression is a duration, a time of a clock, or a list of them."""
        match node:
            case ast.Call(func=func, args=args):
                name = (chain(func) or [""])[-1]
                if is_clock(node) or name in self._measuring:
                    return True
                parts = args if name in KEEP_UNIT else []
            case ast.Name(id=name) | ast.Attribute(attr=name):
                return name in self.names
            case ast.BinOp(left=left, right=right) | ast.IfExp(body=left, orelse=right):
                parts = [left, right]
            case ast.GeneratorExp(elt=part) | ast.ListComp(elt=part) | ast.Subscript(value=part):
                parts = [part]
            case ast.UnaryOp(operand=part) | ast.Starred(value=part):
                parts = [part]
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                pass
            case _:
                parts = []
        return any(self.has(part) for part in parts)

    def asserted(self) -> Iterator[int]:
        """Yield the line of each assertion about a clock, or about a duration and something else."""
        for node in own_nodes(self._scope):
            match node:
                case ast.Assert(test=test):
                    pass
                case ast.If(test=test, body=[*_, last]) if _fails(last):
                    pass
                case _:
                    continue
            clocks = any(isinstance(part, ast.Call) and is_clock(part) for part in ast.walk(test))
            if clocks or any(self._is_limited(part) for part in ast.walk(test)):
                yield node.lineno

    def _is_limited(self, node: ast.AST) -> bool:
        if not isinstance(node, ast.Compare) or not any(isinstance(sign, ORDER) for sign in node.ops):
            return False
        return len({self.has(side) for side in (node.left, *node.comparators)}) == 2


def _fails(statement: ast.stmt) -> bool:
    is_call = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
    return isinstance(statement, ast.Raise) or (is_call and chain(statement.value)[-1:] == ["fail"])


def asserted_times(tree: ast.Module) -> list[int]:
    """Return the lines of the assertions about durations in a module."""
    functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
    measuring: set[str] = set()
    known = -1
    while known != len(measuring):
        known = len(measuring)
        for function in functions:
            found = Durations(function, measuring)
            values = [node.value for node in own_nodes(function) if isinstance(node, ast.Return)]
            if any(value is not None and found.has(value) for value in values):
                measuring.add(function.name)
    lines = [line for scope in (tree, *functions) for line in Durations(scope, measuring).asserted()]
    return sorted(lines)


def test_no_test_asserts_how_long_something_takes():
    tests = [file for file in OURS if name_of(file).startswith("tests/") and name_of(file) != WAIT]
    found = [
        f"{name_of(file)}:{line}"
        for file in tests
        if CLOCK.search(text := file.read_text())  # else nothing in it can be a duration
        for line in asserted_times(ast.parse(text))
    ]
    assert found == []


@pytest.mark.parametrize(
    "body",
    [
        "assert time.monotonic() - began < 5",
        "took = time.perf_counter() - began\nassert took < LIMIT_S",
        "took = 1000 * (perf_counter_ns() - began)\nassert 250 >= round(took)",
        "waits = []\nwaits.append(monotonic() - began)\nassert max(waits) < LIMIT_S",
        "before, after = 1, time.time()\nassert after - before > 0.2",
        "assert seconds(work) < 2",
        "end = monotonic() + 5\nassert monotonic() < end",
        "if seconds(work) > 5:\n    pytest.fail('slow')",
        "if seconds(work) > 5:\n    raise AssertionError",
    ],
)
def test_an_asserted_time_is_found(body):
    assert len(asserted_times(ast.parse(MEASURING + body))) == 1


@pytest.mark.parametrize(
    "body",
    [
        "assert seconds(much) < 3 * seconds(little)",
        "short, long = [seconds(work) for work in works]\nassert long < 10 * short",
        "took = seconds(work)\nprint(took)\nassert count < 5",
        "assert len([seconds(work)]) < 5",
        "while monotonic() < end:\n    pass\nassert stored == 5",
    ],
)
def test_two_sizes_may_be_compared_and_counts_asserted(body):
    assert asserted_times(ast.parse(MEASURING + body)) == []


def sleeps_without_reason(text: str) -> list[int]:
    """Return the lines of `time.sleep` with no comment on them or above them."""
    tree, lines = ast.parse(text), text.splitlines()
    plain = any(
        isinstance(node, ast.ImportFrom) and node.module == "time" and "sleep" in {a.name for a in node.names}
        for node in ast.walk(tree)
    )
    calls = [["time", "sleep"], *([["sleep"]] if plain else [])]
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and chain(node.func) in calls
        and not any(
            re.search(r"(^|\s)# \w", line) for line in lines[max(0, node.lineno - 2) : node.end_lineno]
        )
    ]


def test_every_sleep_has_a_reason_beside_it():
    texts = {file: text for file in OURS if "sleep" in (text := file.read_text())}
    found = [
        f"{name_of(file)}:{line}" for file, text in texts.items() for line in sleeps_without_reason(text)
    ]
    assert found == []


def test_a_sleep_without_a_reason_is_found():
    text = "from time import sleep\nimport time\nsleep(1)\ntime.sleep(1)  # the pace\n\n# paced\nsleep(2)\n"
    assert sleeps_without_reason(text) == [3]
