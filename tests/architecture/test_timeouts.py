"""Every safety net of the tests is `LONGEST_S`: no other number of seconds is given as a limit of a wait.

How long something takes depends on the machine, and a limit that suits one is too small for another. A short
time that is itself the point of a test has a name with its reason. `receive_nothing` waits for what must not
come, so its time is short.
"""

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.tree import OURS, chain, name_of

# Methods of Channels' communicators, which wait one second by default, with the position of their timeout.
RECEIVE = {"receive_output": 0, "receive_from": 0, "receive_json_from": 0}
COMMUNICATOR = RECEIVE | {"connect": 0, "wait": 0, "disconnect": 1}
FIRST = {*RECEIVE, "wait", "join", "timeout"}  # methods whose first argument is a number of seconds, if any
OTHERS = {"asyncio", "Event", "stop", "page"}  # waited for without a communicator


def is_literal(node: ast.expr) -> bool:
    """Return whether an expression is a number other than 0, which says "do not wait"."""
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and bool(node.value)


def limits(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the limits that a call gives, or a function has by default."""
    match node:
        case ast.Call(func=ast.Attribute(attr="receive_nothing")):
            return
        case ast.Call(args=args, keywords=keywords):
            yield from (each.value for each in keywords if (each.arg or "").endswith("timeout"))
            name = (chain(node.func) or [""])[-1]
            if name in FIRST:
                yield from args[:1]
            if name == "wait_for":
                yield from args[1:]
        case ast.arguments(args=named, kwonlyargs=only):
            values = [*[None] * (len(named) - len(node.defaults)), *node.defaults, *node.kw_defaults]
            for argument, value in zip([*named, *only], values, strict=False):
                if value is not None and argument.arg.endswith("timeout"):
                    yield value


def literal_limits(tree: ast.Module) -> list[int]:
    """Return the lines of limits that are numbers."""
    return sorted(value.lineno for node in ast.walk(tree) for value in limits(node) if is_literal(value))


def unlimited(tree: ast.Module) -> list[int]:
    """Return the lines of waits for a communicator that leave the limit to Channels."""
    awaited = [node.value for node in ast.walk(tree) if isinstance(node, ast.Await)]
    calls = [node for node in awaited if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    return sorted(
        call.lineno
        for call in calls
        if call.func.attr in COMMUNICATOR
        and len(call.args) <= COMMUNICATOR[call.func.attr]
        and not any(keyword.arg == "timeout" for keyword in call.keywords)
        and not OTHERS & set(chain(call.func)[:-1])
    )


@pytest.mark.parametrize("rule", [literal_limits, unlimited])
def test_every_wait_has_the_one_limit(rule):
    tests = [file for file in OURS if name_of(file).startswith("tests/")]
    found = [f"{name_of(file)}:{line}" for file in tests for line in rule(ast.parse(file.read_text()))]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "expect(page).to_be_visible(timeout=30_000)",
        "process.wait(20)",
        "process.communicate(timeout=30)",
        "connect(url, open_timeout=1.5)",
        "client.receive_output(5)",
        "asyncio.wait_for(work, 10)",
        "asyncio.timeout(10)",
        "def raw(server, timeout=20): pass",
        "def raw(server, *, timeout=20): pass",
    ],
)
def test_a_number_as_a_limit_is_found(text):
    assert literal_limits(ast.parse(text)) == [1]


@pytest.mark.parametrize(
    "text",
    [
        "process.wait(LONGEST_S)",
        "expect(page).to_be_visible(timeout=1000 * LONGEST_S)",
        "client.receive_nothing(0.1)",
        "client.close(timeout=0)",
        "client.disconnect(1001, timeout=LONGEST_S)",
    ],
)
def test_a_named_limit_is_none(text):
    assert literal_limits(ast.parse(text)) == []


@pytest.mark.parametrize("call", ["connect()", "disconnect(1001)", "receive_output()", "wait()"])
def test_a_communicator_without_a_limit_is_found(call):
    assert unlimited(ast.parse(f"async def test():\n    await self.socket.{call}")) == [2]
    limited = call.replace(")", ", timeout=LONGEST_S)").replace("(, ", "(")
    assert unlimited(ast.parse(f"async def test():\n    await self.socket.{limited}")) == []
