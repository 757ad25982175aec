"""A session each of whose calls changes one thing in its request, with the losses computed by hand.

Sonnet's prices in nano-dollars a token: cache read 300, cache write 3,750. Every prompt has 5,000 tokens: the
definition of one tool, a system prompt, and one message; nothing is read where the request changed, so a call
writes all 5,000 again and loses each at 3,750 - 300.
"""

from __future__ import annotations

from tests.support import build

LOOP = "s.a.1"
CONFIG = {"model": "claude-sonnet-4-6", "provider": "anthropic", "api": "anthropic_messages"}
PROMPT = 5_000
LOST = PROMPT * (3_750 - 300)
RULES = "Work on the repository. " * 100
START = {"time": "14:02:11", "run": "3f2a9c1b77", "left": 40, "rules": RULES, "tools": ("read",), "wait": 10}
CHANGES = (  # of the call after the first, the verdict, and what changed
    ({"time": "14:03:05"}, "system_changed", "time"),
    ({"run": "0f2a9c1b78"}, "system_changed", "id"),
    ({"left": 39}, "system_changed", "number"),
    ({"rules": RULES + "Be brief."}, "system_changed", "text"),
    ({"tools": ("read", "grep")}, "tools_changed", "added"),
    ({"tools": ("grep", "read")}, "tools_changed", "moved"),
    ({"time": "14:20:00"}, "system_changed", "time"),
    ({"time": "14:30:00", "wait": 360}, "undecided", "time"),
)
LOSSES: dict[tuple[str, str], tuple[int, int, int]] = {}
for _, *_key in CHANGES:
    _calls = LOSSES.get((_key[0], _key[1]), (0, 0, 0))[0] + 1
    LOSSES[_key[0], _key[1]] = _calls, _calls * PROMPT, _calls * LOST
MARKED = [("system", f"changed: {change}") for _, _, change in CHANGES if change in ("time", "id", "number")]


def events():
    """Return the events of the session."""
    found = [build.agent_start(LOOP, config_snapshot=CONFIG)]
    state, at = dict(START), 0
    for index, (change, _, _) in enumerate([({}, "", ""), *CHANGES]):
        state |= {"wait": 10} | change
        at += state["wait"]
        usage = {"input": 0, "output": 0, "cache_read": 0, "cache_write": PROMPT}
        answer = {**build.assistant(), "model": CONFIG["model"], "provider": "anthropic", "usage": usage}
        found += [
            build.turn_start(LOOP, index=index, at=at),
            _request(index, at, state),
            build.turn_end(LOOP, at=at + 1, message=answer, usage=usage, turn_index=index),
        ]
    return [*found, build.agent_end(LOOP, at=at + 2)]


def _request(index, at, state):
    request = build.turn_request(LOOP, index=index, at=at)
    prompt = f"Time: {state['time']}. Run: {state['run']}. Turns left: {state['left']}. {state['rules']}"
    tools = [{"name": name, "description": "Does it. " * 99, "parameters": {}} for name in state["tools"]]
    messages = [build.user("Read the file.")]
    payload = {**request["payload"], "system_prompt": prompt, "tools": tools, "messages": messages}
    return {**request, "payload": payload}
