"""Transcripts of three agents that grow: each further line holds its number."""

import json

AT = "2026-01-01T00:00:00.000Z"


def claude_code(number):
    return {
        "type": "user",
        "uuid": f"u{number}",
        "sessionId": "of-claude",
        "timestamp": AT,
        "message": {"role": "user", "content": f"line {number}"},
    }


def codex(number):
    if number == 0:
        return {"type": "session_meta", "timestamp": AT, "payload": {"id": "of-codex", "cwd": "/work"}}
    if number == 1:
        return {"type": "event_msg", "timestamp": AT, "payload": {"type": "task_started", "turn_id": "t"}}
    content = [{"type": "input_text", "text": f"line {number}"}]
    message = {"type": "message", "role": "user", "content": content}
    return {"type": "response_item", "timestamp": AT, "payload": message}


def pi(number):
    if number == 0:
        return {"type": "session", "id": "of-pi", "timestamp": AT, "cwd": "/work", "version": 3}
    message = {"role": "user", "content": [{"type": "text", "text": f"line {number}"}]}
    return {"type": "message", "id": f"m{number}", "timestamp": AT, "message": message}


# By agent: the maker of its lines, and a file below its home.
AGENTS = {
    "claude-code": (claude_code, "projects/-work/of-claude.jsonl"),
    "codex": (codex, "sessions/2026/01/01/rollout-of-codex.jsonl"),
    "pi": (pi, "sessions/--work--/of-pi.jsonl"),
}
VARIABLES = {"claude-code": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME", "pi": "PI_CODING_AGENT_DIR"}


def line(agent, number):
    """Return a line of an agent's transcript with its end."""
    return json.dumps(AGENTS[agent][0](number)).encode() + b"\n"


def write(agent, home, numbers):
    """Add lines to the transcript below an agent's home; return its path."""
    path = home / AGENTS[agent][1]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.writelines(line(agent, number) for number in numbers)
    return path
