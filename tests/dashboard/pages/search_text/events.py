"""Events of sessions that are searched for."""

from tests.support.small_loop import Loop


def conversation(session, answer, *, prompt="Fix it", result="exit code 0", **start):
    """Return the events of a loop with a prompt, a tool call and an answer."""
    loop = Loop(session)
    return [
        loop.start() | start,
        loop.turn(),
        *loop.prompt(prompt),
        loop.tool("c1", "bash", command="make test"),
        loop.tool_end("c1", result),
        loop.answering(),
        loop.answer(answer),
        loop.turn_end(answer),
        loop.end(),
    ]
