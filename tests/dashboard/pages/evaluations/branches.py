"""Branches that do what a test says: `branch(1, "read a", "bash ls", "Done.")`."""

from itertools import chain

from tests.support import build

SAME = ("read a", "bash ls")  # what branches begin with alike


def loop_id(number):
    return f"s.config-{number}.{number}"


def config(number, **more):
    return {"model": f"model-{number}", "provider": "anthropic", "api": "anthropic_messages", **more}


def start(*numbers, at=0):
    return build.parallel_start(*map(loop_id, numbers), at=at)


def end(winner, tokens=0, at=99):
    return build.parallel_end(loop_id(winner), index=winner - 1, tokens=tokens, at=at)


def branch(number, *turns, tokens=10, **snapshot):
    """Return a whole branch: a turn of two words calls a tool with an argument, any other answers."""
    name = loop_id(number)
    begun = build.agent_start(name, at=1, config_snapshot=config(number, **snapshot))
    done = chain.from_iterable(turn(name, index, text, tokens) for index, text in enumerate(turns))
    return [begun, *done, build.agent_end(name, tokens=tokens * len(turns), at=1 + 2 * len(turns))]


def turn(name, index, text, tokens=10):
    """Return one turn; a tool whose argument ends in "!" fails."""
    at = 1 + 2 * index
    tool, _, argument = text.partition(" ")
    is_tool = bool(argument) and " " not in argument
    call = f"call-{index}"
    ran = [
        build.tool_start(name, call, tool, {"path": argument}),
        build.tool_end(name, call, tool, is_error=argument.endswith("!")),
    ]
    answer = build.assistant("" if is_tool else text, tokens=tokens)
    return [
        build.turn_start(name, index, at=at),
        *(ran if is_tool else []),
        build.turn_end(name, tokens=tokens, at=at + 2, message=answer),
    ]


def judge(reply, loop="judge", tokens=5):
    return build.small_loop(loop, session="s", text=reply, tokens=tokens, at=90)
