"""Every public name of the client has a docstring with an example that runs and records valid events."""

import ast
import inspect
from textwrap import dedent

import pytest

import loopscope_client
from loopscope_client import AsyncClient, Client
from loopscope_client.scopes.compaction import Compaction
from loopscope_client.scopes.groups import Group
from loopscope_client.scopes.loops import Loop, SubAgent
from loopscope_client.scopes.tools import Tool
from loopscope_client.scopes.turns import Turn
from loopscope_client.testing import MemoryClient
from recorder.core.formats.native import parse
from tests.support.wait import LONGEST_S

EXPORTED = [getattr(loopscope_client, name) for name in loopscope_client.__all__]
BLOCKS = [Loop, SubAgent, Turn, Tool, Compaction, Group]  # what the methods of a client return
# The blocks of a loop call these on one another; an agent has no use for them.
INTERNAL = {"message_ended", "turn_began", "turn_ended", "called", "returned"}


def public_docstrings():
    """Return the docstring of each public class, method and property, by its name."""
    found = {}
    for owner in [*EXPORTED, *BLOCKS, MemoryClient]:
        found[owner.__name__] = owner.__doc__
        for name, member in inspect.getmembers(owner):
            is_known = owner is MemoryClient and hasattr(Client, name)
            if name.startswith("_") or name in INTERNAL or is_known:
                continue
            if inspect.isfunction(member):
                found[member.__qualname__] = member.__doc__
            elif isinstance(member, property):
                found[member.fget.__qualname__] = member.__doc__
    return found


def example_of(docstring):
    """Return the program after `Example::`, empty when there is none."""
    return dedent(inspect.cleandoc(docstring or "").partition("Example::\n")[2])


DOCSTRINGS = public_docstrings()


def test_all_public_names_are_collected():
    assert {"Client", "Client.send", "ScopeFactory.loop", "Loop.answered", "Turn.answer", "Status.ok"} <= set(
        DOCSTRINGS
    )
    assert len(DOCSTRINGS) > 40


@pytest.mark.parametrize("name", DOCSTRINGS)
async def test_the_example_of_a_docstring_runs_and_records_valid_events(
    name, server, connect, tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    program = example_of(DOCSTRINGS[name])
    assert program, f"{name} has no example"
    client = connect()
    names = {"Client": Client, "AsyncClient": AsyncClient, "client": client, "url": server.url, "token": "t"}

    code = compile(program, name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if (coroutine := eval(code, names)) is not None:
        await coroutine

    assert client.close(LONGEST_S)
    assert client.status.dropped == {}
    for lines in server.kept.values():
        for line in lines:
            parse(line)
